"""Data for scikit-learn's functions, and how what they give for our arrays is compared."""

from typing import NamedTuple

import numpy as np

import cucudnn as xp

ROWS, COLUMNS = 60, 4


def data():
    """The arguments that tests name: features, labels of two and three classes, targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS)) + 2
    y = (X @ [1.0, -2.0, 0.5, 1.0] + rng.normal(size=ROWS) > 1).astype(np.int64)
    z = np.argmax(X[:, :3] + rng.normal(size=(ROWS, 3)), axis=1)
    probability = rng.dirichlet(np.ones(3), ROWS)
    return {
        "X": X,
        "X2": X + rng.normal(size=X.shape),
        "Y": X[:20] + 0.5,
        "K": X @ X.T,
        "y": y,
        "y2": np.where(rng.random(ROWS) < 0.8, y, 1 - y),
        "z": z,
        "z2": np.where(rng.random(ROWS) < 0.7, z, (z + 1) % 3),
        "score": y + rng.normal(size=ROWS),
        "binary": np.clip(y * 0.4 + rng.random(ROWS) * 0.6, 0.01, 0.99),
        "probability": probability,
        "labels": np.stack([y, 1 - y, z > 0], axis=1).astype(np.int64),
        "labels2": (rng.random((ROWS, 3)) < 0.5).astype(np.int64),
        "target": np.exp(X[:, 0]) + rng.random(ROWS),
        "target2": np.exp(X[:, 0]) + rng.random(ROWS) + 0.1,
        "counts": rng.poisson(np.exp(X[:, 0] / 2)).astype(np.float64),
        "counted": rng.random((ROWS, COLUMNS)),
        "counted2": rng.random((20, COLUMNS)),
        "weight": rng.random(ROWS) + 0.1,
    }


DATA = data()


def taken(names, device=None):
    """The arguments of some names: NumPy's arrays, or ours on a device."""
    found = [DATA[name] for name in names.split()]
    return [xp.asarray(a, device=device) for a in found] if device else found


class Tolerance(NamedTuple):
    """How near to NumPy's the values have to be, and whether signs are open."""

    rtol: float = 1e-6
    atol: float = 1e-8
    signs: bool = False


def check_like(ours, theirs, device, tolerance=Tolerance(), what=""):  # noqa: B008 - immutable
    """Where NumPy's result has an array ours has one of this library, on the same device."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs), what
        for i, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            check_like(mine, other, device, tolerance, f"{what}[{i}]")
    elif isinstance(theirs, np.ndarray):
        assert type(ours) is xp.ndarray, f"{what}: {type(ours)}"
        assert ours.device == device, what
        assert ours.shape == theirs.shape, what
        mine = xp.asnumpy(ours)
        if tolerance.signs:
            mine, theirs = np.abs(mine), np.abs(theirs)
        np.testing.assert_allclose(
            mine, theirs, rtol=tolerance.rtol, atol=tolerance.atol, err_msg=what
        )
    elif isinstance(theirs, (float, np.floating)):
        np.testing.assert_allclose(
            float(ours), theirs, rtol=tolerance.rtol, atol=tolerance.atol, err_msg=what
        )
