import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field

import pytest

from cucudnn.errors import CompileError
from cucudnn.lowering import compile as cache
from cucudnn.lowering.compile import Cache


@dataclass
class Upper:
    """A toolchain that turns text into capitals and refuses what has a question mark."""

    identity: str = "upper 1.0"
    suffix: str = ".up"
    built: list = field(default_factory=list)

    def build(self, texts, directory):
        assert not list(directory.iterdir())
        self.built += texts
        return [
            CompileError(text, "error: no questions") if "?" in text else text.upper().encode()
            for text in texts
        ]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def upper():
    return Upper()


def entries(folder):
    return sorted(path for path in folder.iterdir() if path.suffix == ".up")


def test_compiles_once_and_keeps_it_for_the_next_process(folder, upper):
    first = Cache(folder)
    [path] = first.obtain(["a"], upper)
    assert path.read_bytes() == b"A"
    assert path.parent == folder
    assert first.obtain(["a"], upper) == [path]
    assert Cache(folder).obtain(["a"], upper) == [path]
    assert upper.built == ["a"]


def test_texts_come_back_in_order_and_each_is_built_once(folder, upper):
    paths = Cache(folder).obtain(["b", "a", "b"], upper)
    assert [path.read_bytes() for path in paths] == [b"B", b"A", b"B"]
    assert upper.built == ["b", "a"]
    assert Cache(folder).obtain([], upper) == []


def test_find_compiles_nothing(folder, upper):
    kept = Cache(folder)
    assert kept.find("a", upper) is None
    [path] = kept.obtain(["a"], upper)
    assert kept.find("a", upper) == Cache(folder).find("a", upper) == path
    assert upper.built == ["a"]


def test_the_toolchain_is_part_of_the_key(folder, upper):
    kept = Cache(folder)
    kept.obtain(["a"], upper)
    assert kept.find("a", Upper(identity="upper 2.0")) is None


def test_a_refused_text_raises_and_the_others_are_kept(folder, upper):
    kept = Cache(folder)
    with pytest.raises(CompileError, match="no questions") as caught:
        kept.obtain(["a", "?", "b"], upper)
    assert caught.value.source == "?"
    assert kept.find("a", upper)
    assert kept.find("b", upper)


@pytest.mark.parametrize("damage", [b"", b"a", b"A and more", None])
def test_a_damaged_entry_is_compiled_again(folder, upper, damage):
    [path] = Cache(folder).obtain(["a"], upper)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    assert Cache(folder).find("a", upper) is None
    assert Cache(folder).obtain(["a"], upper)[0].read_bytes() == b"A"
    assert upper.built == ["a", "a"]


@pytest.mark.parametrize("damage", [b"", b"not a digest", b"../../etc/passwd", b"\xff" * 64])
def test_a_damaged_digest_is_compiled_again(folder, upper, damage):
    [path] = Cache(folder).obtain(["a"], upper)
    path.with_name(path.name[:64] + ".sum").write_bytes(damage)
    assert Cache(folder).obtain(["a"], upper)[0].read_bytes() == b"A"
    assert upper.built == ["a", "a"]


def test_an_entry_that_disappears_is_compiled_again(folder, upper):
    kept = Cache(folder)
    [path] = kept.obtain(["a"], upper)
    path.unlink()
    assert kept.obtain(["a"], upper) == [path]
    assert path.read_bytes() == b"A"


def test_clear_removes_ours_and_nothing_else(folder, upper):
    kept = Cache(folder)
    kept.obtain(["a", "b"], upper)
    (folder / "mine.txt").write_text("precious")
    kept.clear()
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert kept.find("a", upper) is None


def test_info(folder, upper):
    kept = Cache(folder)
    kept.obtain(["a", "bc"], upper)
    kept.obtain(["a"], upper)
    kept.find("d", upper)
    assert kept.info() == (folder, 2, 3 + 2 * 64, 1, 3, 2)


def test_the_least_recently_used_go_first(folder, upper):
    kept = Cache(folder)
    for number in range(40):
        [path] = kept.obtain([f"{number:02}" * 1000], upper)
        for file in folder.glob(path.name[:64] + "*"):
            os.utime(file, (number, number))
    assert Cache(folder).find("00" * 1000, upper)  # used: it is now the newest
    Cache(folder, limit=40_000).trim()
    assert kept.info().bytes <= 40_000
    fresh = Cache(folder)
    assert fresh.find("00" * 1000, upper)
    assert fresh.find("39" * 1000, upper)
    assert fresh.find("01" * 1000, upper) is None


def test_the_size_is_bounded_while_writing(folder, upper):
    kept = Cache(folder, limit=20_000)
    for number in range(200):
        kept.obtain([f"{number:03}" * 1000], upper)
    assert kept.info().bytes < 400_000


def test_the_folder_is_private(folder, upper):
    Cache(folder).obtain(["a"], upper)
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_can_write_to_is_refused(folder, upper, mode):
    folder.mkdir()
    folder.chmod(mode)
    with pytest.warns(RuntimeWarning, match="other users may write"):
        kept = Cache(folder)
    [path] = kept.obtain(["a"], upper)
    assert path.parent != folder
    assert path.read_bytes() == b"A"
    assert not list(folder.iterdir())


def test_a_folder_of_somebody_else_is_refused(folder, monkeypatch):
    folder.mkdir(mode=0o700)
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.warns(RuntimeWarning, match="another user"):
        assert Cache(folder).folder != folder


def test_a_folder_that_cannot_be_made(tmp_path, upper):
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning, match="cannot be used"):
        kept = Cache(tmp_path / "file" / "cache")
    assert kept.obtain(["a"], upper)[0].read_bytes() == b"A"


def test_a_full_disk_moves_new_entries_and_keeps_the_old(folder, upper, monkeypatch):
    kept = Cache(folder)
    [old] = kept.obtain(["a"], upper)
    real = os.replace

    def full(source, target):
        if os.path.dirname(target) == str(folder):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        [new] = kept.obtain(["b"], upper)
    assert new.parent != folder
    assert new.read_bytes() == b"B"
    assert kept.obtain(["a", "b", "c"], upper)[:2] == [old, new]  # and no second warning
    assert len(list(folder.iterdir())) == 2  # nothing half-written stays


def test_threads_that_race(folder, upper):
    kept = Cache(folder)
    results = []
    texts = [f"text {number}" for number in range(30)]
    threads = [
        threading.Thread(target=lambda: results.append(kept.obtain(texts, upper))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for paths in results:
        assert [path.read_bytes() for path in paths] == [text.upper().encode() for text in texts]


RACE = """
import os, time
from pathlib import Path
from cucudnn.lowering.compile import artefact

class Unsteady:  # as compilers are that write a time into what they make
    identity, suffix = "unsteady", ".bin"
    def build(self, texts, directory):
        return [f"{text} {os.getpid()} {time.time_ns()}".encode() * 100 for text in texts]

for repeat in range(20):
    texts = [f"{repeat} {number}" for number in range(10)]
    for text, path in zip(texts, artefact(texts, Unsteady())):
        content = path.read_bytes()
        assert content.startswith(text.encode()) and content == content[:len(content) // 100] * 100
"""


def test_processes_that_race(folder):
    environment = {**os.environ, "CUCUDNN_CACHE_DIR": str(folder)}
    runs = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", RACE],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for run in runs:
        _, errors = run.communicate(timeout=60)
        assert (run.returncode, errors) == (0, "")
    assert not [path for path in folder.iterdir() if path.suffix not in (".sum", ".bin")]


def test_the_environment_names_the_folder(tmp_path, upper, monkeypatch):
    monkeypatch.setenv("CUCUDNN_CACHE_DIR", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    [path] = cache.artefact(["a"], upper)
    assert path.parent == tmp_path / "named"
    assert cache.cached("a", upper) == path
    assert cache.info().entries == 1
    cache.clear()
    assert cache.cached("a", upper) is None

    monkeypatch.delenv("CUCUDNN_CACHE_DIR")
    assert cache.artefact(["a"], upper)[0].parent == tmp_path / "xdg" / "cucudnn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    cache._cache.cache_clear()
    assert cache.info().folder == tmp_path / "home" / ".cache" / "cucudnn"


def test_the_private_folder_goes_with_its_process(tmp_path):
    (tmp_path / "file").write_text("")
    script = (
        "import warnings; warnings.simplefilter('ignore')\n"
        "from cucudnn.lowering import compile\nprint(compile.info().folder)"
    )
    environment = {**os.environ, "CUCUDNN_CACHE_DIR": str(tmp_path / "file")}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    assert "cucudnn-" in run.stdout
    assert not os.path.exists(run.stdout.strip())
