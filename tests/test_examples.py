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


def test_functions(device, capsys):
    functions = example("functions")
    found = np.asarray(functions.mandelbrot(24, 30, device))
    re = np.linspace(-2.0, 0.5, 24, dtype=np.float32)
    im = np.linspace(-1.25, 1.25, 24, dtype=np.float32)
    want = [[functions.escape(a, b, 30) for a in re] for b in im]
    np.testing.assert_array_equal(found, want)
    e = np.asarray(functions.anomalies(100, 0.6, device))
    np.testing.assert_allclose(e - 0.6 * np.sin(e), np.arange(100) * 2 * np.pi / 100, atol=1e-11)
    lengths, light = map(np.asarray, functions.sphere(9, device))
    assert lengths[4, 4] == 2
    assert light[4, 4] == 1
    assert np.isinf(lengths[0, 0])
    want = [functions.walk(n * 2_654_435_761 % 2**32, 50) for n in range(1, 21)]
    np.testing.assert_array_equal(functions.walks(20, 50, device), want)
