"""Convolutions of any number of axes as matrix products with patches, for NumPy and CuPy alike.

x is (N, C, *extents), a weight (O, C / groups, *kernel), y (N, O, *places). A filter of one channel
needs no product: there are sums of shifted images. Halves are computed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

Array = Any
Extents = tuple[int, ...]
Rows = tuple[int, int]  # the first, and how many


@dataclass(frozen=True, slots=True)
class Convolution:
    """How a filter moves over images, and the library that computes."""

    xp: Any  # numpy or cupy
    limit: int  # bytes of patches that are made at a time
    stride: Extents
    padding: tuple[tuple[int, int], ...]
    dilation: Extents
    groups: int

    def forward(self, out: Array, x: Array, weight: Array) -> None:
        """out: y."""
        wide, kernel = self._wide(x), weight.shape[2:]
        weight = self.xp.ascontiguousarray(weight.astype(wide, copy=False))
        single = weight.shape[1] == 1
        for batch, pieces in self._batches(x.shape[:2], kernel, out.shape[2:], wide, single):
            for rows in pieces:
                patches = self._patches(x[batch], kernel, out.shape[2:], rows, wide)
                target = out[batch, :, rows[0] : rows[0] + rows[1]]
                (self._sums_of_shifts if single else self._products)(target, patches, weight)

    def input_gradient(self, out: Array, y: Array, weight: Array) -> None:
        """out: what x gets from y, through the transposed product."""
        xp, wide = self.xp, self._wide(y)
        extents, kernel, places = out.shape[2:], weight.shape[2:], y.shape[2:]
        each, taps = weight.shape[0] // self.groups, math.prod(kernel)
        weight = weight.astype(wide, copy=False)
        single = weight.shape[1] == 1
        flat = weight.reshape(self.groups, each, weight.shape[1] * taps).swapaxes(1, 2)
        padded = tuple(n + a + b for n, (a, b) in zip(extents, self.padding, strict=True))
        for batch, pieces in self._batches(out.shape[:2], kernel, places, wide, single):
            images = y[batch].astype(wide, copy=False)
            n = images.shape[0]
            whole = xp.zeros((n, out.shape[1], *padded), wide)
            for first, count in pieces:
                part = images[:, :, first : first + count]
                part = part.reshape(n, self.groups, each, *part.shape[2:])
                region = whole[:, :, first * self.stride[0] :]
                if single:
                    self._spread(region, part, weight)
                    continue
                columns = xp.matmul(flat, part.reshape(n, self.groups, each, -1))
                columns = columns.reshape(n, out.shape[1], taps, count, *places[1:])
                for i, tap in enumerate(product(*map(range, kernel))):
                    seen = region[self._seen(tap, (count, *places[1:]))]
                    seen += columns[:, :, i]
            inner = tuple(slice(a, a + n) for n, (a, _) in zip(extents, self.padding, strict=True))
            out[batch] = whole[(slice(None), slice(None), *inner)].astype(out.dtype, copy=False)

    def weight_gradient(self, out: Array, x: Array, y: Array) -> None:
        """out: what the weight gets from x and y, summed over images."""
        xp, wide = self.xp, self._wide(x)
        kernel, places = out.shape[2:], y.shape[2:]
        groups, each, taps = self.groups, out.shape[0] // self.groups, math.prod(kernel)
        single = out.shape[1] == 1
        total = xp.zeros((groups, each, out.shape[1] * taps), wide)
        for batch, pieces in self._batches(x.shape[:2], kernel, places, wide, single):
            for rows in pieces:
                part = y[batch, :, rows[0] : rows[0] + rows[1]].astype(wide, copy=False)
                n = part.shape[0]
                patches = self._patches(x[batch], kernel, places, rows, wide)
                if single:
                    part = part.reshape(n, groups, each, *part.shape[2:])
                    axes = (0, *range(3, part.ndim))
                    for i, tap in enumerate(product(*map(range, kernel))):
                        shifted = patches[(slice(None), slice(None), *tap)][:, :, xp.newaxis]
                        total[:, :, i] += (part * shifted).sum(axis=axes)
                    continue
                columns = patches.reshape(n, groups, out.shape[1] * taps, -1)
                products = xp.matmul(part.reshape(n, groups, each, -1), columns.swapaxes(2, 3))
                total += products.sum(axis=0)
        out[...] = total.reshape(out.shape).astype(out.dtype, copy=False)

    # --- parts ------------------------------------------------------------------------------------

    def _wide(self, x: Array) -> Any:
        return self.xp.dtype(self.xp.float32) if x.dtype.itemsize == 2 else x.dtype

    def _batches(
        self, images: Extents, kernel: Extents, places: Extents, dtype: Any, single: bool
    ) -> Iterator[tuple[slice, list[Rows]]]:
        """A few images at a time, and the rows of y's places that are done at a time."""
        taps = 1 if single else math.prod(kernel)
        row = max(1, math.prod(places[1:]) * images[1] * taps * dtype.itemsize)
        count = max(1, min(places[0], self.limit // row))
        batch = max(1, self.limit // (row * count)) if count == places[0] else 1
        for first in range(0, images[0], batch):
            tops = range(0, places[0], count)
            yield slice(first, first + batch), [(t, min(count, places[0] - t)) for t in tops]

    def _patches(self, x: Array, kernel: Extents, places: Extents, rows: Rows, dtype: Any) -> Array:
        """View of the patches: image, channel, where in the kernel, where in y."""
        top, count = rows
        span = self.dilation[0] * (kernel[0] - 1) + 1
        part = self._padded(x, top * self.stride[0], (count - 1) * self.stride[0] + span, dtype)
        s = part.strides
        return self.xp.lib.stride_tricks.as_strided(
            part,
            (*x.shape[:2], *kernel, count, *places[1:]),
            (
                *s[:2],
                *(a * d for a, d in zip(s[2:], self.dilation, strict=True)),
                *(a * d for a, d in zip(s[2:], self.stride, strict=True)),
            ),
        )

    def _padded(self, x: Array, top: int, rows: int, dtype: Any) -> Array:
        """Rows of the padded images: a view where no padding and no conversion is needed."""
        (above, _), *others = self.padding
        first, last = max(0, top - above), min(x.shape[2], top - above + rows)
        inside = x[:, :, first : max(first, last)]
        if inside.shape[2] == rows and not any(n for pair in others for n in pair):
            return inside.astype(dtype, copy=False)
        extents = (n + a + b for n, (a, b) in zip(x.shape[3:], others, strict=True))
        result = self.xp.zeros((*x.shape[:2], rows, *extents), dtype)
        start = max(0, above - top)
        inner = (slice(a, a + n) for n, (a, _) in zip(x.shape[3:], others, strict=True))
        key = (slice(None), slice(None), slice(start, start + inside.shape[2]), *inner)
        result[key] = inside.astype(dtype, copy=False)
        return result

    def _seen(self, tap: Extents, places: Extents) -> tuple[slice, ...]:
        """The elements of padded images that a tap of the filter sees."""
        return (
            slice(None),
            slice(None),
            *(
                slice(i * d, i * d + (n - 1) * s + 1, s)
                for i, n, s, d in zip(tap, places, self.stride, self.dilation, strict=True)
            ),
        )

    def _products(self, out: Array, patches: Array, weight: Array) -> None:
        xp, filters, taps = self.xp, weight.shape[0], math.prod(weight.shape[1:])
        n, groups = patches.shape[0], self.groups
        columns = patches.reshape(n, groups, taps, -1)
        flat = weight.reshape(groups, filters // groups, taps)
        if groups == 1:  # a matrix is not repeated for each image
            flat, columns = flat[0], columns[:, 0]
        if out.flags.c_contiguous and out.dtype == columns.dtype:
            xp.matmul(flat, columns, out=out.reshape(*columns.shape[:-2], flat.shape[-2], -1))
        else:
            out[...] = xp.matmul(flat, columns).reshape(out.shape).astype(out.dtype, copy=False)

    def _sums_of_shifts(self, out: Array, patches: Array, weight: Array) -> None:
        xp, kernel = self.xp, weight.shape[2:]
        taps = self._taps(weight)
        total = product_ = None
        for tap in product(*map(range, kernel)):
            shifted = patches[(slice(None), slice(None), *tap)][:, :, xp.newaxis]
            if total is None:
                total = shifted * taps[tap]
                product_ = xp.empty_like(total)
            else:
                xp.multiply(shifted, taps[tap], out=product_)
                total += product_
        assert total is not None
        out[...] = total.reshape(out.shape).astype(out.dtype, copy=False)

    def _spread(self, region: Array, y: Array, weight: Array) -> None:
        """Add to padded images what y gives through filters of one channel."""
        taps = self._taps(weight)
        for tap in product(*map(range, weight.shape[2:])):
            seen = region[self._seen(tap, y.shape[3:])]
            seen += (y * taps[tap]).sum(axis=2)

    def _taps(self, weight: Array) -> dict[Extents, Array]:
        """By place in the kernel, the numbers of all filters: (groups, filters of one, 1, …)."""
        kernel = weight.shape[2:]
        shape = (self.groups, weight.shape[0] // self.groups, *(1,) * len(kernel))
        return {
            tap: weight[(slice(None), 0, *tap)].reshape(shape)
            for tap in product(*map(range, kernel))
        }
