"""Statements that make new arrays."""

import numpy as np

from tests.statements.choices import DTYPES, SHAPES, Choices


class Expressions(Choices):
    def creation(self):
        rng, name = self.rng, self.new()
        shape, dtype = rng.choice(SHAPES), rng.choice(DTYPES)
        kind = rng.randrange(8)
        if kind == 0:
            return [f"{name} = xp.zeros({shape})"]
        if kind == 1:
            return (
                [f"{name} = xp.arange({rng.randrange(1, 9)}, dtype={dtype!r})"]
                if (dtype != "bool")
                else [f"{name} = xp.arange(5)"]
            )
        if kind == 2:
            return [f"{name} = xp.full({shape}, {self.number()}, dtype={dtype!r})"]
        if kind == 3 and (other := self.pick()):
            return [f"{name} = xp.{rng.choice(['zeros_like', 'ones_like'])}({other})"]
        return [f"{name} = make({shape}, {dtype!r}, {rng.choice('CCF')!r}, {rng.randrange(99)})"]

    def unary(self):
        x, name = self.pick(), self.new()
        if x is None:
            return self.creation()
        f = self.rng.choice(
            [
                "-{}",
                "+{}",
                "abs({})",
                "xp.square({})",
                "xp.sign({})",
                "{} == 2",
                "xp.where({0} == 0, {0}, 3)",
                "xp.minimum({}, 2)",
                "xp.conj({})",
                "{}.conj()",
                "xp.isnan({})",
                "xp.real({})",
                "xp.imag({})",
                "{} ** 2",
            ]
        )
        if ("sign" in f or "**" in f or "abs" in f) and self.names[x].dtype.kind in "cb":
            f = "xp.conj({})"
        if "conj(" in f and self.names[x].dtype.kind == "b":
            f = "{} == 1"  # not int8, which overflows soon
        return [f"{name} = " + self.bounded(f.format(x))]

    def binary(self):
        x, y, name = self.pick(), self.pick(), self.new()
        if x is None:
            return self.creation()
        if self.rng.random() < 0.3:
            y = str(self.number())
        f = self.rng.choice(
            [
                "{} + {}",
                "{} - {}",
                "{} * {}",
                "{} + {} * 2",
                "({0} + 1) - {1}",
                "xp.maximum({}, {})",
                "xp.where({0} == {1}, {0}, {1})",
                "{} < {}",
                "{} + {}",
                "{} != {}",
                "({0} * 2 + {1}) - {0}",
            ]
        )
        kinds = [getattr(self.names.get(n), "dtype", np.dtype(int)).kind for n in (x, y)]
        if "u" in kinds and "where" in f:
            f = "{} + {}"  # NumPy casts negative numbers, ours is an error
        if "c" in kinds and ("<" in f or "max" in f):
            f = "{} + {}"
        return [f"{name} = " + self.bounded(f.format(x, y))]

    def cast(self):
        x, name = self.pick(), self.new()
        if x is None:
            return self.creation()
        to = self.rng.choice(["float64", "float32", "int64", "complex128", "bool"])
        copy = ", copy=False" if self.rng.random() < 0.3 and self.is_array(x) else ""
        return [f"{name} = {x}.astype({to!r}{copy})"]

    def reduction(self):
        x, name = self.pick(), self.new()
        if x is None:
            return self.creation()
        axes = [None, *range(np.ndim(self.names[x]))]
        f = self.rng.choice(["sum", "sum", "max", "min", "any", "all", "argmax", "mean"])
        kind, size = self.names[x].dtype.kind, np.size(self.names[x])
        inexact = f == "mean" and size not in (1, 2, 4, 8)
        if inexact or (kind == "c" and f not in ("sum", "any", "all")):
            f = "sum"
        axis = self.rng.choice(axes)
        keep = ", keepdims=True" if self.rng.random() < 0.25 else ""
        return [f"{name} = " + self.bounded(f"xp.{f}({x}, axis={axis}{keep})")]

    def joined(self):
        x, name = self.pick(), self.new()
        if x is None or not self.names[x].ndim:
            return self.creation()
        same = [n for n in self.arrays() if self.names[n].shape == self.names[x].shape]
        y = self.rng.choice(same)
        return [f"{name} = xp.{self.rng.choice(['concatenate', 'stack'])}([{x}, {y}, {x}])"]

    def product(self):
        x, name = self.pick(), self.new()
        # with several leading axes NumPy lays results out in another order than ours, C
        if x is None or self.names[x].ndim not in (1, 2, 3) or self.names[x].dtype.kind == "b":
            return self.creation()
        return [f"{name} = " + self.bounded(f"{x} @ {x}.T")]
