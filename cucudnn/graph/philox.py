"""Random bits by counter, for NumPy: exact in 64-bit integers, so the bits are the kernels'.

Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Words = tuple[Any, Any, Any, Any]

ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_PIECE = 16384  # counters whose words stay in the second cache


def block(counter: Words, key: tuple[Any, Any]) -> Words:
    """Four random words of 32 bits for a counter of four words and a key of two.

    Words are kept in uint64, so a product is exact.
    """
    a, b, c, d = counter
    key0, key1 = key
    for _ in range(ROUNDS):
        p, q = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, c = (q >> _HALF) ^ b ^ key0, (p >> _HALF) ^ d ^ key1
        b, d = q & _LOW, p & _LOW
        key0, key1 = (key0 + _STEPS[0]) & _LOW, (key1 + _STEPS[1]) & _LOW
    return a, b, c, d


def bits(counter: Any, key: Any, out: Array | None = None) -> Any:
    """64 random bits for each counter: the first two words of its block.

    Parameters
    ----------
    counter, key : array_like of uint64
    out : array of uint64, optional
    """
    counter, key = np.asarray(counter, np.uint64), np.asarray(key, np.uint64)
    if key.ndim:
        counter, key = np.broadcast_arrays(counter, key)
    if out is None:
        out = np.empty(counter.shape, np.uint64)
    if not (counter.flags.c_contiguous and out.flags.c_contiguous):
        out[...] = bits(np.ascontiguousarray(counter), np.ascontiguousarray(key))
        return out
    flat, keys, target = counter.reshape(-1), key.reshape(-1), out.reshape(-1)
    zero = np.zeros((), np.uint64)
    for start in range(0, flat.size, _PIECE):
        part = slice(start, start + _PIECE)
        index, k = flat[part], keys[part] if key.ndim else keys
        words = (index & _LOW, index >> _HALF, zero, zero)
        low, high, _, _ = block(words, (k & _LOW, k >> _HALF))
        np.left_shift(high, _HALF, out=target[part])
        target[part] |= low
    return out


def multiply_high(x: Any, y: Any, out: Array | None = None) -> Any:
    """Upper 64 bits of the 128-bit products of uint64 numbers, from products of halves."""
    x, y = np.asarray(x, np.uint64), np.asarray(y, np.uint64)
    x0, x1, y0, y1 = x & _LOW, x >> _HALF, y & _LOW, y >> _HALF
    middle = x1 * y0 + (x0 * y0 >> _HALF)
    other = x0 * y1 + (middle & _LOW)
    return np.add(x1 * y1 + (middle >> _HALF), other >> _HALF, out=out)
