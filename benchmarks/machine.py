"""What a result was measured on."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, version
from typing import Any

# names of distributions that provide a module under another name
_DISTRIBUTIONS = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy")}


def gpu() -> str:
    """Name and driver of the first GPU; empty if there is none."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ""
    query = [tool, "--query-gpu=name,driver_version", "--format=csv,noheader"]
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    return found.stdout.splitlines()[0].strip() if found.returncode == 0 and found.stdout else ""


def processor() -> str:
    """The processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def versions(modules: list[str]) -> dict[str, str]:
    """Versions of what is installed."""
    found = {"python": platform.python_version()}
    for module in modules:
        for name in _DISTRIBUTIONS.get(module, (module,)):
            try:
                found[module] = version(name)
                break
            except PackageNotFoundError:
                continue
    return found


def description(modules: list[str]) -> dict[str, Any]:
    """The lines that open a result."""
    return {
        "gpu": gpu(),
        "processor": processor(),
        "cores": cores(),
        "versions": versions(modules),
    }


def write(path: str | None, report: dict[str, Any]) -> None:
    """Write a result, if a path is given."""
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
            file.write("\n")
