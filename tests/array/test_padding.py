"""`pad`, as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cucudnn as xp
from tests.support import check, pending

MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]
WIDTHS = [2, 0, (1, 3), [[1, 2]], [[0, 1], [2, 0]], [(7, 9), (11, 0)], np.int64(1), ((1,), (2,))]
HOST = np.arange(12, dtype=np.float32).reshape(3, 4) + 1


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("mode", MODES)
def test_modes(device: str, mode: str, widths: Any) -> None:
    for host in (HOST, HOST.T, HOST[::-1, ::2], np.asfortranarray(HOST)):
        x = xp.asarray(HOST, device=device)
        x = {id(HOST): x}.get(id(host), x.T if host.shape == (4, 3) else x)
        x = xp.asarray(host, device=device) if x.shape != host.shape else x
        result = xp.pad(x, widths, mode)
        wanted = np.pad(xp.asnumpy(x), widths, mode=mode)
        assert pending(result)
        assert result.shape == wanted.shape
        assert result.base is None
        check(result, wanted)
    column = xp.asarray(HOST, order="F", device=device)
    assert xp.pad(column, 1).strides == np.pad(np.asfortranarray(HOST), 1).strides


@pytest.mark.parametrize("values", [5, (1, 2), [(1, 2), (3, 4)], 2.75, [[-1]]], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int16", "bool", "complex64", "float16", "uint8"])
def test_constants(device: str, dtype: str, values: Any) -> None:
    host = (HOST % 3).astype(dtype)
    x = xp.asarray(host, device=device)
    result = xp.pad(x, [(2, 1), (0, 3)], constant_values=values)
    assert result.dtype == host.dtype
    with np.errstate(all="ignore"):
        check(result, np.pad(host, [(2, 1), (0, 3)], constant_values=values))


def test_of_more_and_of_fewer_axes(device: str) -> None:
    for shape in ((5,), (2, 3, 4), (0, 3), (1, 1), ()):
        host = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
        x = xp.asarray(host, device=device)
        check(xp.pad(x, 2), np.pad(host, 2))
        if 0 not in shape and shape:
            for mode in MODES:
                check(xp.pad(x, (3, 1), mode), np.pad(host, (3, 1), mode=mode))
    x = xp.asarray([[1.0, 2.0]], dtype=xp.bfloat16, device=device)
    check(xp.pad(x, 1, constant_values=0.1).astype(xp.float32)[0],
          np.full(4, 0.1, xp.bfloat16).astype(np.float32))  # fmt: skip


@given(st.sampled_from(MODES), st.integers(1, 5), st.integers(0, 12), st.integers(0, 12))
def test_any_widths(mode: str, n: int, before: int, behind: int) -> None:
    host = np.arange(n)
    check(xp.pad(xp.asarray(host, device="cpu"), (before, behind), mode),
          np.pad(host, (before, behind), mode=mode))  # fmt: skip


def test_the_rest_is_numpys(device: str) -> None:
    x = xp.asarray(HOST, device=device)
    check(xp.pad(x, 1, "linear_ramp", end_values=9), np.pad(HOST, 1, "linear_ramp", end_values=9))
    check(xp.pad(x, 1, "maximum"), np.pad(HOST, 1, "maximum"))
    check(xp.pad(x, 1, "reflect", reflect_type="odd"),
          np.pad(HOST, 1, "reflect", reflect_type="odd"))  # fmt: skip


def test_errors() -> None:
    x = xp.asarray(HOST, device="cpu")
    with pytest.raises(ValueError, match="negative"):
        xp.pad(x, -1)
    with pytest.raises(ValueError, match="broadcast"):
        xp.pad(x, (1, 2, 3))
    with pytest.raises(ValueError, match="axis 0 in mode 'edge'"):
        xp.pad(x[:0], 1, "edge")
    with pytest.raises(TypeError, match="integral"):
        xp.pad(x, 1.5)


def test_what_reads_it_is_one_kernel(device: str) -> None:
    x = xp.asarray(np.ones((64, 96), np.float32), device=device) + 0
    xp.flush(x)
    p = xp.pad(x, 1)
    y = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]
    del p
    assert [k.template for k in xp.explain(y).kernels] == ["map"]
    host = np.pad(np.ones((64, 96), np.float32), 1)
    want = host[:-2, 1:-1] + host[2:, 1:-1] + host[1:-1, :-2] + host[1:-1, 2:]
    check(y, want - 4 * host[1:-1, 1:-1])
