import ctypes
import os
import subprocess
import sys

import pytest

from cucudnn.errors import CompileError
from cucudnn.lowering import compile as cache
from cucudnn.lowering import toolchain
from cucudnn.lowering.toolchain import host_toolchain, load

pytestmark = pytest.mark.skipif(host_toolchain() is None, reason="no C++ compiler")

TEXT = """
extern "C" __attribute__((visibility("default"))) int answer(int x) { return x + ADDED; }
extern "C" __attribute__((visibility("default"))) int twice(int x) { return 2 * x; }
"""


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """An empty cache, and nothing known about compilers."""
    monkeypatch.setenv("CUCUDNN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("CXX", raising=False)
    host_toolchain.cache_clear()
    yield monkeypatch
    host_toolchain.cache_clear()


def call(address, argument):
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(address)(argument)


def python(script, **environment):
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_texts_are_built_side_by_side_and_loaded(tmp_path):
    texts = [TEXT.replace("ADDED", str(number)) for number in range(4)]
    results = host_toolchain().build(texts, tmp_path)
    for number, content in enumerate(results):
        path = tmp_path / f"lib{number}.so"
        path.write_bytes(content)
        assert call(load(path, "answer"), 100) == 100 + number
        assert call(load(path, "twice"), 4) == 8
        assert load(path, "answer") == load(path, "answer")


def test_a_wrong_text_gives_an_error_in_its_place(tmp_path):
    good = TEXT.replace("ADDED", "1")
    results = host_toolchain().build([good, TEXT, good], tmp_path)
    assert isinstance(results[0], bytes)
    assert isinstance(results[2], bytes)
    assert isinstance(results[1], CompileError)
    assert results[1].source == TEXT
    assert "'ADDED'" in str(results[1])


def test_an_unknown_function_is_found_at_compile_time(tmp_path):
    if "-Wl,-z,defs" not in host_toolchain().command:
        pytest.skip("this linker does not look")
    text = 'extern "C" int nowhere(); extern "C" int here() { return nowhere(); }'
    [result] = host_toolchain().build([text], tmp_path)
    assert "nowhere" in result.log


def test_library_functions_and_wide_integers_are_linked():
    text = """
    extern "C" __attribute__((visibility("default"))) int answer(int x) {
        __int128 wide = (__int128)x << 70;
        return (int)(wide / ((__int128)1 << 69)) + (int)__builtin_fmod(x, 3.0);
    }"""
    [path] = cache.artefact([text], host_toolchain())
    assert call(load(path, "answer"), 5) == 12


def test_a_product_and_a_sum_are_not_contracted():
    text = """
    extern "C" __attribute__((visibility("default"))) int answer(int x) {
        volatile double a = 1 + 1.0 / (1 << 27), b = a;
        double product = a * b - 1;
        volatile double rounded = a * b;
        return product == rounded - 1;
    }"""
    [path] = cache.artefact([text], host_toolchain())
    assert call(load(path, "answer"), 0) == 1


def test_identity_says_what_the_code_depends_on():
    identity = host_toolchain().identity
    assert "-ffp-contract=off" in identity
    assert toolchain.processor() in identity


def test_what_was_found_is_remembered(fresh):
    found = host_toolchain()
    assert "-march=native" in found.command
    compiles = cache.info().compiles
    host_toolchain.cache_clear()
    fresh.setattr(subprocess, "run", None)  # nothing is started the second time
    assert host_toolchain() == found
    assert cache.info().compiles == compiles


def test_options_that_a_compiler_refuses_are_left_out(fresh, tmp_path):
    picky = tmp_path / "picky"
    picky.write_text(
        '#!/bin/sh\ncase "$*" in *native*|*nostdlib*) echo error: no; exit 1;; esac\n'
        'exec c++ "$@"\n'
    )
    picky.chmod(0o755)
    fresh.setenv("CXX", str(picky))
    found = host_toolchain()
    assert found.command[0] == str(picky)
    assert not [option for option in found.command if "native" in option or "nostdlib" in option]


def test_a_compiler_may_have_options_of_its_own(fresh):
    fresh.setenv("CXX", "c++ -DADDED=7")
    [path] = cache.artefact([TEXT], host_toolchain())
    assert call(load(path, "answer"), 1) == 8


@pytest.mark.parametrize("compiler", ["/nonexistent", "false", "true", "c++ 'unbalanced"])
def test_a_named_compiler_that_does_not_work(fresh, compiler):
    fresh.setenv("CXX", compiler)
    with pytest.warns(RuntimeWarning, match="does not work"):
        assert host_toolchain() is None
    assert host_toolchain() is None  # and no second warning


def test_no_compiler_at_all(fresh, tmp_path):
    fresh.setenv("PATH", str(tmp_path))
    assert host_toolchain() is None


def test_importing_starts_nothing(tmp_path):
    run = python(
        "import subprocess; subprocess.Popen = None\n"
        "import cucudnn.lowering.toolchain, cucudnn.lowering.threads",
        CUCUDNN_CACHE_DIR=str(tmp_path / "cache"),
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert not (tmp_path / "cache").exists()
