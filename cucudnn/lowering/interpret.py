"""A Kernel run by NumPy, block by block: where there is no compiler, or where compiling would not
pay. The bits are those of the compiled kernel: NumPy runs the ops that are exact in it, the
rest comes from `elementary`, which where there is a compiler is a compiled kernel of one op.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..graph import dtypes, ops
from ..graph.dtypes import DType
from ..graph.ops import Op
from . import prefixes
from .kernel import Kernel, Reduction, Value
from .stages import stages

Array = np.ndarray[Any, Any]
Elementary = Callable[[Op, DType, Sequence[Any]], Array]

BLOCK = 1 << 18  # elements; the arrays of a block stay in the cache
CHUNK, LANES = 1024, 128  # the tree: see `fold`


def run(
    kernel: Kernel,
    extents: tuple[int, ...],
    arguments: Sequence[Array],
    outputs: Sequence[Array],
    scalars: Sequence[Any],
    elementary: Elementary,
) -> None:
    """Run a kernel. Arrays are strided views that have the space as their shape; an output that
    is written once for each kept index has the kept axes alone."""
    with np.errstate(all="ignore"):
        if kernel.resident or kernel.scan:
            _resident(kernel, extents, arguments, outputs, scalars, elementary)
            return
        if kernel.reductions:
            _reduce(kernel, extents, arguments, outputs, scalars, elementary)
            return
        scratch = _Scratch(kernel)
        for block in _blocks(extents, BLOCK):
            lines = _Lines(kernel, block, arguments, scalars, elementary, scratch)
            for output, array in zip(kernel.outputs, outputs, strict=True):
                lines.targets.setdefault(output.value, _at(array, block))
            lines.run(kernel.body)
            for output, array in zip(kernel.outputs, outputs, strict=True):
                value, target = lines.values[output.value], _at(array, block)
                if value is not target:
                    np.copyto(target, value, casting="unsafe")


def _at(array: Array, block: tuple[slice, ...]) -> Array:
    """A part of an array; an array also where it has no axes."""
    return array[(*block, ...)]  # type: ignore[arg-type]


def _blocks(extents: tuple[int, ...], limit: int) -> Iterator[tuple[slice, ...]]:
    """Slices that cover the space in pieces of about `limit` elements."""
    inner, steps = 1, []
    for n in reversed(extents):
        steps.append(min(n, max(1, limit // inner)))
        inner *= steps[-1]
    ranges = [
        [slice(i, min(i + step, n)) for i in range(0, n, step)]
        for n, step in zip(extents, reversed(steps), strict=True)
    ]
    return product(*ranges)


class _Scratch:
    """Arrays of a block that nobody needs any more, for the next lines to write to: fresh memory
    costs more than the arithmetic."""

    def __init__(self, kernel: Kernel) -> None:
        self.free: dict[tuple[DType, tuple[int, ...]], list[Array]] = {}
        last: dict[int, int] = {}
        for i in kernel.body:
            last.update(dict.fromkeys(kernel.values[i].operands, i))
        kept = {o.value for o in kernel.outputs}
        self.dead: dict[int, list[int]] = {}  # after a line: whose values have had their last use
        for value, line_ in last.items():
            if value not in kept:
                self.dead.setdefault(line_, []).append(value)

    def take(self, dtype: DType, shape: tuple[int, ...]) -> Array | None:
        found = self.free.get((dtype, shape))
        return found.pop() if found else None

    def give(self, array: Array) -> None:
        self.free.setdefault((array.dtype, array.shape), []).append(array)


class _Lines:
    """The values of one block."""

    def __init__(
        self,
        kernel: Kernel,
        block: tuple[slice, ...],
        arguments: Sequence[Array],
        scalars: Sequence[Any],
        elementary: Elementary,
        scratch: _Scratch | None = None,
    ) -> None:
        self.scratch = scratch
        self.own: set[int] = set()  # values whose arrays nothing else can be a view of
        self.kernel = kernel
        self.block = block
        self.arguments = arguments
        self.scalars = scalars
        self.elementary = elementary
        self.values: dict[int, Any] = {}
        self.targets: dict[int, Array] = {}

    def run(self, numbers: Sequence[int]) -> None:
        for i in numbers:
            if i not in self.values:
                self.values[i] = self._value(i, self.kernel.values[i])

    def _value(self, i: int, value: Value) -> Any:
        if value.kind == "argument":
            return _at(self.arguments[value.number], self.block)
        if value.kind == "table":
            return self.arguments[value.number]
        if value.kind == "scalar":
            return self.scalars[value.number]
        assert value.op is not None, "reductions are given"
        if value.op is ops.gather:
            table, positions, *inside = (self.values[k] for k in value.operands)
            if inside:
                return _read_part(table, positions, inside[0])
            target = self.targets.get(i)
            out = target if target is not None and target.shape == positions.shape else None
            return table.take(positions, out=out, mode="clip")
        operands = [self.values[k] for k in value.operands]
        target = self.targets.get(i)
        if self.scratch is not None and target is None and isinstance(value.op.reference, np.ufunc):
            target = self._target(i, value, operands)
        result = line(value.op, value.dtype, operands, self.elementary, target)
        if self.scratch is not None:
            self._recycle(i, result, target, operands, value.operands)
        return result

    def _target(self, i: int, value: Value, operands: Sequence[Any]) -> Array | None:
        """Where a line may write its result: over an operand in its last use, or to scratch."""
        assert self.scratch is not None
        shape = _shape(operands)
        for dead in self.scratch.dead.get(i, ()):
            array = self.values[dead]
            if not (dead in self.own and isinstance(array, np.ndarray)):
                continue
            if array.dtype == value.dtype and array.shape == shape:
                self.own.discard(dead)
                return array
        return self.scratch.take(value.dtype, shape)

    def _recycle(
        self, i: int, result: Any, target: Any, operands: Sequence[Any], numbers: Sequence[int]
    ) -> None:
        """Let later lines have the arrays that have had their last use."""
        assert self.scratch is not None
        if result is target or (result.base is None and not any(result is x for x in operands)):
            self.own.add(i)
        else:
            self.own.difference_update(numbers)  # the result may be a view of an operand
        for dead in self.scratch.dead.get(i, ()):
            if dead in self.own and self.values[dead].ndim:
                self.scratch.give(self.values[dead])


def _read_part(table: Array, positions: Array, inside: Array) -> Array:
    """The elements of a part, mostly a box; any others elsewhere. Positions are an affine map."""
    shape = np.broadcast_shapes(positions.shape, inside.shape)
    result = np.zeros(shape, table.dtype)
    positions, inside = np.broadcast_to(positions, shape), np.broadcast_to(inside, shape)
    box, steps = [], []
    for a in range(len(shape)):
        others = tuple(b for b in range(len(shape)) if b != a)
        along = np.asarray(inside.any(axis=others))
        first = int(along.argmax())
        if not along[first]:
            return result
        box.append(slice(first, len(along) - int(along[::-1].argmax())))
    if not _at(inside, tuple(box)).all():  # a coordinate grows along several axes: windows
        return table.take(positions, mode="clip")
    corner = _at(positions, tuple(slice(s.start, s.start + 2) for s in box))
    origin = int(corner[(0,) * len(shape)])
    for a, n in enumerate(corner.shape):
        one = tuple(int(b == a and n > 1) for b in range(len(shape)))
        steps.append((int(corner[one]) - origin) * table.itemsize)
    target = _at(result, tuple(box))
    target[...] = as_strided(table[origin:], target.shape, steps)
    return result


def line(
    op: Op,
    dtype: DType,
    operands: Sequence[Any],
    elementary: Elementary,
    target: Array | None = None,
) -> Any:
    """One op on arrays, with the bits of the compiled one."""
    if op is ops.copy:
        return operands[0]
    source = operands[-1].dtype
    if op is ops.astype:
        if source == dtypes.float64 and dtype == dtypes.bfloat16:
            return elementary(op, dtype, operands)  # ml_dtypes rounds twice
        return _cast(operands[0], dtype)
    if not dtypes.is_kind(source, op.exact) or op.exact == "boolean":
        return elementary(op, dtype, operands)
    if op is ops.where:
        return np.where(*operands)
    if op is ops.real or op is ops.imag:
        return operands[0].real if op is ops.real else np.imag(operands[0])
    assert op.reference is not None
    if dtypes.is_half(source) and op is not ops.nextafter:  # the next among the halves
        wide = [x.astype(np.float32) for x in operands]
        return np.asarray(op.reference(*wide)).astype(dtype)
    if op in (ops.floor, ops.ceil, ops.trunc, ops.round_) and source.kind in "biu":
        return operands[0]
    if target is not None and target.dtype == dtype and target.shape == _shape(operands):
        return op.reference(*operands, out=target)
    return op.reference(*operands)


def _shape(operands: Sequence[Any]) -> tuple[int, ...]:
    """The shape that the operands broadcast to. Mostly they have one."""
    found = {x.shape for x in operands if x.ndim}
    if len(found) > 1:
        return np.broadcast_shapes(*found)
    return found.pop() if found else ()


def _cast(x: Any, dtype: DType) -> Any:
    if x.dtype.kind == "c" and dtype.kind == "b":
        return x.astype(np.bool_)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if dtype in _THROUGH_INT64 and x.dtype.kind not in "biu":
        return _unsigned(x.astype(dtypes.computed(x.dtype)), dtype)
    return x.astype(dtype)


# What NumPy makes of floats beyond these depends on the processor; scalar.h says why int64.
_THROUGH_INT64 = (dtypes.uint32, dtypes.uint64)


def _unsigned(x: Array, dtype: DType) -> Array:
    if dtype == dtypes.uint32:
        return x.astype(np.int64).astype(np.uint32)
    half = x.dtype.type(2.0**63)
    low, high = x.astype(np.int64), (x - half).astype(np.int64)
    return np.where(x < half, low, high ^ np.int64(-(2**63))).view(np.uint64)


# --- reductions -----------------------------------------------------------------------------------


def _reduce(
    kernel: Kernel,
    extents: tuple[int, ...],
    arguments: Sequence[Array],
    outputs: Sequence[Array],
    scalars: Sequence[Any],
    elementary: Elementary,
) -> None:
    kept, reduced = extents[: kernel.kept], extents[kernel.kept :]
    n = int(np.prod(reduced, dtype=np.int64))
    for rows in _blocks(kept, max(1, BLOCK // n)):
        parts: list[list[Array]] = [[] for _ in kernel.reductions]
        for piece in _pieces(kernel, reduced, n):
            lines = _Lines(kernel, rows + piece, arguments, scalars, elementary)
            lines.run(kernel.head + kernel.body)
            for output, array in zip(kernel.outputs, outputs, strict=True):
                if output.inner:
                    np.copyto(
                        _at(array, rows + piece),
                        lines.values[output.value],
                        casting="unsafe",
                    )
            shape = tuple(s.stop - s.start for s in rows + piece)
            count = int(np.prod(shape[kernel.kept :], dtype=np.int64))
            for part, reduction in zip(parts, kernel.reductions, strict=True):
                value = np.broadcast_to(lines.values[reduction.operand], shape)
                flat = value.reshape(*shape[: kernel.kept], count)
                part.append(_chunks(reduction, flat, n, elementary))
        tail = _Lines(kernel, rows + (slice(0, 1),) * len(reduced), arguments, scalars, elementary)
        for i, result_ in enumerate(kernel.values):
            if result_.kind == "reduction":
                whole = np.concatenate(parts[result_.number], axis=-1)
                r = kernel.reductions[result_.number]
                tail.values[i] = _total(r, whole, elementary, len(reduced))
        tail.run(kernel.head + kernel.tail)
        _write_once(kernel, rows, tail, outputs)


def _resident(
    kernel: Kernel,
    extents: tuple[int, ...],
    arguments: Sequence[Array],
    outputs: Sequence[Array],
    scalars: Sequence[Any],
    elementary: Elementary,
) -> None:
    """Whole rows, stage by stage."""
    kept, reduced = extents[: kernel.kept], extents[kernel.kept :]
    n = int(np.prod(reduced, dtype=np.int64))
    whole = tuple(slice(0, m) for m in reduced)
    found = stages(kernel)
    for rows in _blocks(kept, max(1, BLOCK // n)):
        lines = _Lines(kernel, rows + whole, arguments, scalars, elementary)
        shape = tuple(s.stop - s.start for s in rows + whole)
        once = _Lines(kernel, rows + (slice(0, 1),) * len(reduced), arguments, scalars, elementary)
        once.run(kernel.head)
        for stage in found:
            lines.values.update(once.values)
            lines.run(stage.lines)
            for k in stage.outputs:
                output = kernel.outputs[k]
                target = _at(outputs[k], rows + whole)
                np.copyto(target, lines.values[output.value], casting="unsafe")
            for i, value in enumerate(kernel.values):
                if value.kind in ("reduction", "scan") and value.number in stage.reductions:
                    r = kernel.reductions[value.number]
                    given = np.broadcast_to(lines.values[r.operand], shape)
                    flat = given.reshape(*shape[: kernel.kept], n)
                    if kernel.scan:
                        combine = partial(_step, r.op, r.dtype, elementary)
                        found_ = prefixes.along_last(r.op, r.dtype, flat, combine)
                        lines.values[i] = found_.reshape(shape)
                        continue
                    part = _chunks(r, flat, n, elementary)
                    once.values[i] = _total(r, part, elementary, len(reduced))
            once.run(stage.after)
        _write_once(kernel, rows, once, outputs)


def _total(reduction: Reduction, parts: Array, elementary: Elementary, reduced: int) -> Array:
    """A reduction's result, with its axes as of extent 1."""
    result: Array = _cast(_pairwise(reduction, parts, elementary), reduction.result)
    return result.reshape(result.shape + (1,) * reduced)


def _write_once(
    kernel: Kernel, rows: tuple[slice, ...], lines: _Lines, outputs: Sequence[Array]
) -> None:
    """The outputs that have one element for a row."""
    for output, array in zip(kernel.outputs, outputs, strict=True):
        if not output.inner:
            target = _at(array, rows)
            value = np.asarray(lines.values[output.value])
            if value.ndim:
                value = value.reshape(target.shape)
            np.copyto(target, value, casting="unsafe")


def _pieces(kernel: Kernel, reduced: tuple[int, ...], n: int) -> Iterator[tuple[slice, ...]]:
    """Whole chunks of a long single axis; else everything at once."""
    positions = any(r.op in (ops.argmax, ops.argmin) for r in kernel.reductions)
    if len(reduced) == 1 and n > BLOCK and not positions:
        for start in range(0, n, BLOCK):
            yield (slice(start, min(start + BLOCK, n)),)
    else:
        yield tuple(slice(0, m) for m in reduced)


def _step(op: Op, dtype: DType, elementary: Elementary, a: Array, b: Array) -> Array:
    return np.asarray(line(op, dtype, [a, b], elementary))


_COMBINE = {
    ops.sum_: ops.add,
    ops.prod: ops.multiply,
    ops.max_: ops.maximum,
    ops.min_: ops.minimum,
    ops.any_: ops.logical_or,
    ops.all_: ops.logical_and,
}


def _combine(reduction: Reduction, a: Array, b: Array, elementary: Elementary) -> Array:
    op = _COMBINE.get(reduction.op)
    if op is None:
        return elementary(reduction.op, reduction.dtype, [a, b])
    return np.asarray(line(op, reduction.dtype, [a, b], elementary))


def _chunks(reduction: Reduction, values: Array, n: int, elementary: Elementary) -> Array:
    """The tree's lower part: one result for each chunk of the last axis.

    Up to 32 elements: in order. Above, a chunk has 1,024 elements in 128 lanes; a lane combines
    its rounds in order, then the lanes are folded in halves.
    """
    if reduction.op in (ops.argmax, ops.argmin):
        assert reduction.op.reference is not None
        return np.asarray(reduction.op.reference(values, axis=-1))[..., np.newaxis]
    if values.dtype != reduction.dtype:
        values = values.astype(reduction.dtype)
    if n <= 32:
        acc = values[..., 0]
        for i in range(1, n):
            acc = _combine(reduction, acc, values[..., i], elementary)
        return acc[..., np.newaxis]
    count = values.shape[-1]
    whole = count // CHUNK * CHUNK
    parts = []
    if whole:
        rounds = values[..., :whole].reshape(*values.shape[:-1], whole // CHUNK, CHUNK)
        parts.append(_fold(reduction, rounds, elementary))
    if whole != count:
        parts.append(_fold(reduction, values[..., np.newaxis, whole:], elementary))
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def _fold(reduction: Reduction, chunk: Array, elementary: Elementary) -> Array:
    """Combine the last axis, of at most 1,024 elements; what is missing is left out."""
    count = chunk.shape[-1]
    acc = chunk[..., :LANES].copy()
    for start in range(LANES, count, LANES):
        n = min(LANES, count - start)
        acc[..., :n] = _combine(reduction, acc[..., :n], chunk[..., start : start + n], elementary)
    present, width = min(count, LANES), LANES // 2
    while width:
        n = present - width
        if n > 0:
            acc[..., :n] = _combine(reduction, acc[..., :n], acc[..., width:present], elementary)
            present = width
        width //= 2
    return acc[..., 0]


def _pairwise(reduction: Reduction, parts: Array, elementary: Elementary) -> Array:
    """The tree's upper part: chunks combine pairwise in order, 0 with 1, 2 with 3, ..."""
    while parts.shape[-1] > 1:
        count = parts.shape[-1]
        even = count // 2 * 2
        combined = _combine(reduction, parts[..., 0:even:2], parts[..., 1:even:2], elementary)
        if even != count:
            combined = np.concatenate([combined, parts[..., even:]], axis=-1)
        parts = combined
    return parts[..., 0]
