"""The programs in examples/ run, and their results are right."""

import importlib.util
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name):
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_numpy(rows, centres, steps):
    """k-means as it stands in books."""
    for _ in range(steps):
        distances = ((rows[:, None] - centres) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        centres = np.stack(
            [
                rows[nearest == k].mean(axis=0) if (nearest == k).any() else centres[k]
                for k in range(len(centres))
            ]
        )
    return centres


def test_kmeans(device, capsys):
    kmeans = example("kmeans")
    rows, centres = kmeans.data(500, 8, 5)
    want = in_numpy(rows.astype(np.float64), centres.astype(np.float64), 3)
    for devices in ([device], ["cpu", "cpu", "cpu"]):
        got, seconds = kmeans.kmeans(rows, centres, devices, 3)
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        assert seconds > 0
    kmeans.main(["--rows", "300", "--steps", "1", "--clusters", "3", "--devices", device])
    assert "1 device:" in capsys.readouterr().out
