"""Settings: environment variables and `config` set the same ones."""

import os
import subprocess
import sys
import threading
from dataclasses import fields

import numpy as np
import pytest

import cucudnn as xp
from cucudnn import settings
from cucudnn.settings import Settings, from_environment


def test_config_changes_a_setting_for_a_block():
    before = settings.current()
    with xp.config(compile="never", fuse=False) as now:
        assert settings.current() is now
        assert (now.compile, now.fuse) == ("never", False)
        with xp.config(compile="always"):
            assert settings.current().compile == "always"
            assert not settings.current().fuse
        assert settings.current() is now
    assert settings.current() is before


def test_config_ends_with_an_error_too():
    before = settings.current()
    with pytest.raises(ZeroDivisionError), xp.config(pending_nodes=3):
        _ = 1 / 0
    assert settings.current() is before


def test_config_is_of_this_thread():
    seen = []
    with xp.config(compile="never"):
        thread = threading.Thread(target=lambda: seen.append(settings.current().compile))
        thread.start()
        thread.join()
    assert seen == [from_environment().compile]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"no_such": 1}, TypeError), ({"compile": "sometimes"}, ValueError),
        ({"pending_nodes": 0}, ValueError), ({"pending_bytes": -1}, ValueError),
    ],
)  # fmt: skip
def test_nonsense_is_refused(changes, error):
    before = settings.current()
    with pytest.raises(error), xp.config(**changes):
        pass
    assert settings.current() is before


def test_unknown_settings_name_the_known_ones():
    with pytest.raises(TypeError, match="pending_nodes"), xp.config(no_such=1):
        pass


def test_every_setting_is_documented():
    for field in fields(Settings):
        assert f"    {field.name} : " in Settings.__doc__


@pytest.mark.parametrize(
    ("variable", "value", "name", "meant"),
    [
        ("CUCUDNN_COMPILE", "never", "compile", "never"),
        ("CUCUDNN_COMPILE", "", "compile", "auto"),
        ("CUCUDNN_PENDING_NODES", "7", "pending_nodes", 7),
        ("CUCUDNN_PENDING_BYTES", "1024", "pending_bytes", 1024),
        ("CUCUDNN_FUSE", "0", "fuse", False),
        ("CUCUDNN_FUSE", "1", "fuse", True),
        ("CUCUDNN_DEVICE", "cpu", "device", "cpu"),
    ],
)
def test_environment(variable, value, name, meant, monkeypatch):
    monkeypatch.setenv(variable, value)
    assert getattr(from_environment(), name) == meant


def test_nonsense_in_the_environment(monkeypatch):
    monkeypatch.setenv("CUCUDNN_COMPILE", "sometimes")
    with pytest.raises(ValueError, match="sometimes"):
        from_environment()


def test_a_budget_of_one_operation(device):
    with xp.config(pending_nodes=1):
        x = xp.arange(5.0)
        for _ in range(10):
            x = x + 1
        assert x.tolist() == [10.0, 11.0, 12.0, 13.0, 14.0]


PROGRAM = """
import numpy as np
import cucudnn as xp

a = np.random.default_rng(0).standard_normal((40, 60)).astype(np.float32)
x = xp.asarray(a)
y = (x * 2 - 1) / (abs(x) + 1)
y[1:] += y[:-1]
parts = [
    y, y.sum(axis=0), y.sum(), y.max(axis=1), y.argmin(axis=0), xp.where(y > 0, x, y),
    x.T[::2] * 3, xp.sqrt(abs(x)), (x > 0).any(axis=1), x.astype("int64") % 7, x.mean(axis=1),
    xp.concat([x, y])[::-1], xp.floor(y * 10), x[x > 1], xp.arange(100.0).reshape(4, 25).sum(0),
]
for part in parts:
    print(xp.asnumpy(part).tobytes().hex())
inexact = [xp.exp(x), xp.sin(x) + xp.tanh(y), xp.var(x, axis=1), xp.log1p(abs(x)) ** 1.5]
for part in inexact:
    print(" ".join(map(repr, xp.asnumpy(part).ravel().astype(float).tolist())))
"""


def run(**environment):
    """The lines that a program prints in another process."""
    full = {**os.environ, "CUCUDNN_DEVICE": "cpu", **environment}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, env=full, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 19
    return lines[:15], [np.array(line.split(), float) for line in lines[15:]]


def test_results_without_a_compiler_and_in_every_mode():
    exact, inexact = run(CUCUDNN_COMPILE="auto")
    for environment in (
        {"CXX": "/no/such/compiler"},
        {"CUCUDNN_COMPILE": "never"},
        {"CUCUDNN_COMPILE": "always"},
        {"CUCUDNN_FUSE": "0"},
    ):
        same, close = run(**environment)
        assert same == exact, environment
        for one, other in zip(close, inexact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
            if "CXX" not in environment and environment != {"CUCUDNN_COMPILE": "never"}:
                assert (one == other).all(), environment
