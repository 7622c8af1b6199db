"""Parameters that NumPy's functions have beyond the standard: each example gives what NumPy gives.

The names in the examples are those of `numpy_examples.toml`.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest

import cucudnn as xp

ROOT = Path(__file__).resolve().parents[2]
coverage = runpy.run_path(str(ROOT / "docs/make_coverage.py"))

LAYOUT = "(lambda x: (x.shape, x.dtype, x.strides))"
EXAMPLES = [
    # order in memory, shapes
    f"{LAYOUT}(xp.zeros((2, 3), 'int16', 'F'))",
    f"{LAYOUT}(xp.ones((2, 3), order='F'))",
    f"{LAYOUT}(xp.empty((2, 3), order='F'))",
    "xp.full((2, 3), 7, order='F')",
    "x = xp.full((2, 3), [1, 2, 3], 'float32', 'F'); (x, x.strides)",
    f"{LAYOUT}(xp.eye(2, 3, 1, 'int8', 'F'))",
    f"{LAYOUT}(xp.zeros_like(a.T))",
    f"{LAYOUT}(xp.zeros_like(a.T, order='C'))",
    f"{LAYOUT}(xp.zeros_like(a, 'int8', 'F'))",
    f"{LAYOUT}(xp.ones_like(a.T, order='A'))",
    f"{LAYOUT}(xp.empty_like(a, shape=(2, 5)))",
    f"{LAYOUT}(xp.empty_like(a.T, shape=(2, 5)))",
    f"{LAYOUT}(xp.zeros_like(a.T, shape=7))",
    "xp.full_like(a, [1, 2], shape=(3, 2))",
    "xp.zeros_like(v, subok=False)",
    f"{LAYOUT}(xp.asarray(a, 'float32', 'F'))",
    # linspace
    "xp.linspace(0, 1, 5, False)",
    "xp.linspace(0, 1, 5, True, True)",
    "xp.linspace(2, 3, 1, retstep=True)[0]",
    "str(xp.linspace(2, 3, 1, retstep=True)[1])",
    "xp.linspace(2, 3, 5, endpoint=False, retstep=True)",
    "xp.linspace([0, 1], [4, 9], 5)",
    "xp.linspace([0, 1], [4, 9], 5, axis=-1)",
    "xp.linspace(0, [4, 9], 4, False)",
    "xp.linspace([0.0, 2], [2, 2], 3)",
    "xp.linspace([0, 1], [4, 9], 4, dtype='int32')",
    "xp.linspace(v, v + 1, 3, retstep=True)",
    "xp.linspace(v.astype('float32'), 2, 4)",
    "xp.linspace([1j, 2], 3, 3)",
    "xp.linspace([0, 1], 2, 1)",
    "xp.linspace([0, 1], 2, 0)",
    # meshgrid
    "xp.meshgrid(v, s, sparse=True)",
    "xp.meshgrid(v, s, indexing='ij', sparse=True)",
    "xp.meshgrid(v, s, copy=False)",
    "xp.meshgrid(v, s, i, indexing='ij')",
    # joining
    "x = xp.zeros(8); (xp.concatenate([v, v], 0, x), x)",
    "xp.concatenate([v, i], dtype='float32')",
    "xp.concatenate([v, v], dtype='int16', casting='unsafe')",
    "x = xp.zeros((2, 4)); (xp.stack([v, v], 0, x), x)",
    "xp.stack([v, v], axis=1, dtype='float32')",
    "xp.vstack([v, v], dtype='int8', casting='unsafe')",
    "xp.hstack([v, v], dtype='complex64', casting='same_kind')",
    # statistics
    "xp.average(a, 1, v, True)",
    "xp.average(a, axis=0, returned=True)",
    "xp.average(a, returned=True, keepdims=True)",
    "xp.average(a, 0, [1.0, 2, 3], returned=True)",
    "x = xp.zeros(3); (xp.median(a, 1, x), x)",
    "xp.median(a, 0, None, False, True)",
    "x = xp.zeros((3, 4)); (xp.cumulative_sum(a, axis=1, out=x), x)",
    "x = xp.zeros(4); (xp.cumulative_prod(v, out=x), x)",
    "xp.clip(a, a_min=1, a_max=3)",
    "xp.clip(a, 1, a_max=3)",
    "xp.clip(a, None, 3)",
    "xp.clip(a, min=1)",
    "xp.var(a, axis=1, mean=xp.mean(a, axis=1, keepdims=True))",
    "xp.std(a, 0, ddof=1, keepdims=True, mean=xp.mean(a, 0, keepdims=True))",
    "a.var(0, mean=a.mean(0))",
    "a.std(1, mean=a.mean(1, keepdims=True), where=a > 0)",
    "xp.var(z, mean=xp.mean(z))",
    "xp.var(v.astype('float32'), mean=xp.mean(v.astype('float32')))",
    "xp.var(a, axis=1, mean=xp.asarray([[1.0], [2], [3]]), where=a > 1)",
    # sorting, sets
    "xp.sort(a, 0, 'stable', None)",
    "xp.argsort(a, 1, None, None)",
    "x = a.copy(); x.sort(0, None, None); x",
    "a.argsort(1, None, None)",
    "xp.isin(v, [1, 5], True, True)",
    "xp.isin(v, [1, 5], kind='sort')",
    "xp.unique(i, sorted=True)",
    # products
    "x = xp.zeros(3); (xp.dot(a, v, x), x)",
    "x = xp.zeros(3); (a.dot(v, x), x)",
    "x = xp.zeros((4, 3)); (xp.outer(v, s, x), x)",
    "x = xp.zeros(()); (xp.trace(a, out=x), x)",
    "x = xp.zeros(()); (a.trace(0, 0, 1, None, x), x)",
    # dtypes
    f"{LAYOUT}(a.T.astype('float32'))",
    f"{LAYOUT}(a.T.astype('float32', 'C'))",
    f"{LAYOUT}(a.astype('float64', 'F', copy=False))",
    "a.astype('float32', casting='same_kind')",
    "v.astype('int8', 'K', 'unsafe', True, True)",
    # linear algebra
    "xp.linalg.svd(a, compute_uv=False)",
    "xp.linalg.svd(m, compute_uv=False, hermitian=True)",
    "u, w, h = xp.linalg.svd(m, hermitian=True); (w, (u * w) @ h)",
    "xp.linalg.eigvalsh(m + xp.triu(m, 1), 'U')",
    "xp.linalg.eigvalsh(m + xp.tril(m, -1), 'L')",
    "xp.linalg.eigvalsh(m + 1j * xp.triu(m, 1), 'U')",
    "xp.linalg.eigh(m + xp.triu(m, 1), 'U')[0]",
    "xp.linalg.pinv(a, 0.5)",
    "xp.linalg.pinv(m, hermitian=True)",
    "xp.linalg.matrix_rank(m, None, True)",
    # transforms
    "x = xp.zeros(4, 'complex128'); (xp.fft.fft(v, out=x), x)",
    "x = xp.zeros(4, 'complex128'); (xp.fft.ifft(v, None, -1, None, x), x)",
    "x = xp.zeros((3, 4), 'complex128'); (xp.fft.fft2(a, out=x), x)",
    "x = xp.zeros((3, 3), 'complex128'); (xp.fft.rfftn(a, out=x), x)",
    # text
    "xp.array2string(v / 3, floatmode='fixed', precision=3, sign='+')",
    "xp.array2string(v, suffix=')', prefix='array(', max_line_width=20)",
]
# What both refuse.
ERRORS = [
    "xp.zeros(2, order='Z')",
    "xp.linspace(0, 1, -1)",
    "xp.concatenate([v, v], dtype='int16')",
    "xp.concatenate([v, v], out=xp.zeros(8), dtype='float64')",
    "xp.concatenate([v, v], out=xp.zeros(7))",
    "xp.stack([v, v], dtype='int8')",
    "xp.sort(v, order='f')",
    "xp.clip(v, a_min=1, a_max=3, min=1)",
    "xp.argsort(v, order='f')",
    "v.astype('int8', casting='safe')",
    "xp.linalg.pinv(a, 0.5, rtol=0.5)",
    "xp.linalg.eigvalsh(m, 'X')",
    "xp.fft.fft(v, out=xp.zeros(3, 'complex128'))",
    "xp.dot(a, v, xp.zeros(4))",
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_parameters(device, code, tmp_path):
    run = coverage["run"]
    got, expected = run(code, xp, f"{tmp_path}/ours"), run(code, np, f"{tmp_path}/numpys")
    assert coverage["difference"](got, expected) == ""


@pytest.mark.parametrize("code", ERRORS)
def test_errors(device, code, tmp_path):
    for library in (np, xp):
        with pytest.raises((TypeError, ValueError)):
            coverage["run"](code, library, f"{tmp_path}/x")


def test_what_is_returned_is_out(device):
    x, out = xp.arange(4.0), xp.zeros(4, dtype=complex)
    assert xp.fft.fft(x, out=out) is out
    rows = xp.zeros((2, 4))
    assert xp.stack([x, x], out=rows) is rows
    assert xp.concat([x, x], out=rows.reshape(-1)).shape == (8,)


def test_sparse_grids_are_views_if_asked_for(device):
    x = xp.arange(3.0)
    first, _ = xp.meshgrid(x, x, copy=False)
    assert not first.flags.writeable
    x[0] = 9
    assert float(first[1, 0]) == 9
