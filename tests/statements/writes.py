"""Statements that write through basic indices."""

import numpy as np

from tests.statements.choices import LIMIT, Choices


class Writes(Choices):
    def write(self):
        x, y, rng = self.pick_array(), self.pick(), self.rng
        if x is None:
            return self.creation()
        key = self.key(self.names[x].shape)
        if rng.random() < 0.4:
            return [f"{x}[{key}] = {self.number(0, 2)}"]
        region = self.value(f"{x}[{key}]")
        fitting = [n for n in self.arrays() if self.fits(self.names[n], region)]
        value = rng.choice(fitting) if fitting else y
        source = f"{value} + 1" if rng.random() < 0.3 else value
        bounded = self.bounded(source)
        kind = self.names[x].dtype.kind
        if self.names[value].dtype.kind == "c" and kind not in "cb":
            bounded = "1"
        if kind == "b" and not self.is_array(value):
            bounded = "1"  # NumPy's error for scalars depends on the value
        return [f"{x}[{key}] = {bounded}"]

    def augmented(self):
        x, rng = self.pick_array() if self.rng.random() < 0.9 else self.pick(), self.rng
        if x is None:
            return self.creation()
        target = x
        if rng.random() < 0.5 and self.is_array(x):
            target = f"{x}[{self.key(self.names[x].shape)}]"
        region = self.value(target)
        fitting = [n for n in self.arrays() if self.fits(self.names[n], region)]
        value = rng.choice(fitting) if fitting and rng.random() < 0.7 else str(self.number(0, 3))
        if region is not None and region.dtype.kind == "b" and not self.is_array(x):
            return self.creation()
        if value in self.names and region.dtype.kind == "b" and not self.is_array(value):
            value = "1"
        op = rng.choice("+++-*")
        result = self.value(f"{target} {op} {value}")
        if result is not None and np.size(result) and not np.all(np.abs(result) < LIMIT):
            if region.dtype.kind in "cb":
                return [f"{x}[...] = 1"] if self.is_array(x) else self.creation()
            return [f"{target} %= 5"]
        return [f"{target} {op}= {value}"]

    def overlap(self):
        x = self.pick_array()
        if x is None or not np.ndim(self.names[x]):
            return self.creation()
        square = self.names[x].ndim > 1 and len(set(self.names[x].shape)) == 1
        choices = [
            "{0}[1:] = {0}[:-1]",
            "{0}[:-1] = {0}[1:]",
            "{0}[::-1] = {0}",
            "{0}[...] = {0}[::-1]",
            "{0}[1:] += {0}[:-1]",
            "{0}[:] = {0}",
            "{0}[...] = {0} + {0}[::-1]",
            "{0}[::2] -= {0}[::2]",
            "{0}[1:] = {0}[:-1] + {0}[1:]",
            "{0}[0] = {0}[-1]",
        ]
        if square:
            choices += ["{0}[...] = {0}.T", "{0} -= {0}.T"]
        text = self.rng.choice(choices).format(x)
        left, _, right = text.replace("+=", "= {0} +").replace("-=", "= {0} -").partition(" = ")
        result = self.value(right.format(left))
        if result is not None and np.size(result) and not np.all(np.abs(result) < LIMIT):
            return [f"{x} *= 0"]
        return [text]

    def recurrence(self):
        x = self.pick_array()
        if x is None or not self.names[x].ndim or self.names[x].dtype.kind == "b":
            return self.creation()
        lines = []
        for i in range(1, min(4, len(self.names[x]))):
            total = self.new()
            lines += [f"{total} = {x}[{i - 1}].sum()", f"{x}[{i}] = {x}[{i - 1}] * 0 + {i}"]
        return lines or self.creation()

    def versions(self):
        """An expression of an old and a new version, whose old part has no name any more."""
        x, old, name = self.pick_array(), self.new(), self.new()
        if x is None or self.names[x].dtype.kind == "b":
            return self.creation()
        f = self.rng.choice(["{} * 2", "{} + 1", "{}.sum()", "{}[::-1] - 1", "{}.T + 1"])
        if not self.names[x].ndim:
            f = "{} * 2"
        key = self.key(self.names[x].shape)
        together = self.rng.choice([f"{old} + {x}", f"{x} + {old} * 2", f"{old} - {x}.sum()"])
        return [f"{old} = {f.format(x)}", f"{x}[{key}] = {self.number()}",
                f"{name} = {together}", f"del {old}"]  # fmt: skip

    def own_kernel(self):
        """A user's kernel that writes in place."""
        x, rng = self.pick_array(), self.rng
        if x is None or self.names[x].dtype.kind == "b":
            return self.creation()
        target = rng.choice([x, f"{x}.T", f"{x}[{self.key(self.names[x].shape)}]"])
        return [f"negate({target})"]

    def nothing(self):
        x, name = self.pick_array(), self.new()
        if x is None:
            return self.creation()
        return [f"{name} = {x}.copy()", f"{x}[...] = {name}"]
