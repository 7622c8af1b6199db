"""The configuration and the command line."""

from __future__ import annotations

import os
import subprocess
import sys

import cucudnn as xp
from cucudnn import __main__ as command
from cucudnn.array import report


def test_configuration_names_what_matters() -> None:
    entries = report.configuration()
    assert entries["NumPy"]
    assert entries["devices"].endswith("cpu")
    assert "setting compile" in entries
    assert "kernel cache" in entries


def test_show_config_prints_a_line_each(capsys) -> None:
    xp.show_config()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(report.configuration())


def test_command_line(capsys) -> None:
    assert command.main([]) == 0
    assert "compiler" in capsys.readouterr().out
    assert command.main(["nonsense"]) == 2
    assert "usage" in capsys.readouterr().err


def test_demo_runs_and_agrees_with_numpy() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cucudnn", "demo"], capture_output=True, text=True, env=os.environ
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "results agree" in done.stdout
    assert "times as long" in done.stdout
