"""Statements in which other code meets our arrays: NumPy's arrays and functions, copy and pickle,
flags, parts of complex numbers, random numbers."""

import re

import numpy as np

from tests.statements.choices import REAL, SHAPES, Choices

# What makes arrays: NumPy's makes NumPy's
OURS = "asarray|array|ascontiguousarray|zeros|full|arange"


class Protocols(Choices):
    def by_numpy(self, lines):
        """Statements whose functions are NumPy's, which call ours for our arrays."""
        return [re.sub(rf"\bxp\.(?!{OURS})", "np.", line) for line in lines]

    def numpy_operand(self):
        """An operator of NumPy's arrays or scalars and ours. NumPy's array is then written."""
        x, name, h, rng = self.pick(), self.new(), self.new("h"), self.rng
        if x is None or self.names[x].dtype.kind == "b":
            return self.creation()
        y = self.names[x]
        shape = rng.choice([y.shape, y.shape, y.shape[1:], ()])
        dtype = rng.choice([d for d in REAL if d != "bool"])
        op = rng.choice(["+", "-", "*", "==", "!="])
        host = f"host({shape}, {dtype!r}, {rng.choice('CF')!r}, {rng.randrange(99)})"
        if rng.random() < 0.3:
            scalar = f"np.{dtype}({self.number()})"
            text = rng.choice([f"{scalar} {op} {x}", f"{x} {op} {scalar}"])
            return [f"{name} = {self.bounded(text)}"]
        lines = [f"{h} = {host}"]
        text = rng.choice([f"{h} {op} {x}", f"{x} {op} {h}", f"np.add({h}, {x})"])
        result = self.value(text.replace(h, host))
        if result is None or not self.is_small(result):
            return self.creation()
        lines.append(f"{name} = {text}")
        # a 0-d array of NumPy's meets a scalar
        lines.append(f"{h}[...] = 0")
        return lines

    def numpy_target(self):
        """NumPy's array is written with ours."""
        x, h, rng = self.pick(), self.new("h"), self.rng
        if x is None or self.names[x].dtype.kind in "bc":
            return self.creation()
        shape = self.names[x].shape
        line = rng.choice([f"{h}[...] = {x}", f"{h} += {x}", f"np.add({x}, 1, out={h})",
                           f"np.copyto({h}, snapshot({x}))",
                           f"xp.subtract({x}, {x}, out={h})"])  # fmt: skip
        return [f"{h} = host({shape}, 'float64', 'C', {rng.randrange(99)})", line]

    def copies(self):
        x, name, rng = self.pick(), self.new(), self.rng
        if x is None:
            return self.creation()
        order = rng.choice("CFAK")
        y = self.names[x]
        choices = [
            f"copy.copy({x})", f"copy.deepcopy({x})", f"{x}.copy({order!r})", f"xp.copy({x})",
            f"xp.array({x})", f"xp.asarray({x})", f"{x}.flatten({order!r})",
            f"{x}.ravel({order!r})", f"{x}.astype({y.dtype.name!r}, copy=False)",
            f"{x}.astype({y.dtype.name!r})", f"xp.ascontiguousarray({x})",
        ]  # fmt: skip
        return [f"{name} = {rng.choice(choices)}"]

    def read_only(self):
        """A flag is cleared; then all writes through this name are errors."""
        x, name, rng = self.pick_array(), self.new(), self.rng
        if x is None:
            return self.creation()
        lines = [f"{x}.flags.writeable = False"]
        if rng.random() < 0.5:
            lines.insert(0, f"{name} = {x}[...]")  # it can still be written
        return lines

    def write_to_read_only(self):
        found = [n for n in self.arrays() if self.is_array(n) and self.names[n].size
                 and not self.names[n].flags.writeable]  # fmt: skip
        if not found:
            return self.creation()
        x = self.rng.choice(found)
        return [self.rng.choice([
            f"{x}[...] = 1", f"{x} += 1", f"xp.add({x}, 1, out={x})", f"{x}.fill(1)",
            f"xp.put({x}, [0], 1)", f"{x}.sort()",  # NumPy's add.at writes
            f"xp.copyto({x}, 1)", f"{x}.flat = 1", f"{x}.flat[0] = 1", f"{x}[{x} == {x}] = 1",
        ])]  # fmt: skip

    def parts(self):
        """Real and imaginary parts are views of complex arrays."""
        found = [n for n in self.arrays() if self.is_array(n) and self.names[n].dtype.kind == "c"
                 and self.names[n].flags.writeable]  # fmt: skip
        name, rng = self.new(), self.rng
        if not found:
            return [f"{name} = make({rng.choice(SHAPES)}, 'complex128', 'C', {rng.randrange(99)})"]
        x, part = rng.choice(found), rng.choice(["real", "imag"])
        key = self.key(self.names[x].shape)
        number = self.number()
        return rng.choice([
            [f"{name} = {x}.{part}"], [f"{name} = xp.{part}({x})"],
            [f"{x}.{part}[{key}] = {number}"], [f"{x}.{part} = {number}"],
            [f"{x}.{part} = {x}.real % 5"], [f"{x}.{part} %= 7"],
            [f"{x}.real = {x}.imag % 5"], [f"xp.copyto({x}.{part}, {number})"],
            [f"xp.add({x}.real % 9, 1, out={x}.{part})"],
            [f"{name} = xp.nan_to_num({x}, copy=False)"],
        ])  # fmt: skip

    def drawn(self):
        """Random numbers are used twice, and are the same."""
        name, rng = self.new(), self.rng
        shape = rng.choice(SHAPES)
        kind = rng.choice(["integers", "coins", "floors", "order", "choice"])
        lines = [f"{name} = draw({rng.randrange(99)}, {shape}, {kind!r})"]
        if rng.random() < 0.2:  # two of one generator, which may be read in any order
            return [f"{name}, {self.new()} = draw_two({rng.randrange(99)}, {shape})"]
        if rng.random() < 0.6:
            twice = rng.choice([f"{name} + {name}", f"{name}.sum() + {name}", f"{name} == {name}"])
            lines.append(f"{self.new()} = {twice}")
        return lines

    def shuffled(self):
        x = self.pick_array()
        if x is None or not self.names[x].ndim:
            return self.creation()
        return [f"shuffle({x}, {self.rng.randrange(99)})"]

    def bytes_again(self):
        """A view of the bytes as another dtype, and a write through it."""
        x, name = self.pick_array(), self.new()
        if x is None:
            return self.creation()
        y = self.names[x]
        if y.dtype.kind == "c" and y.ndim and y.flags.c_contiguous:
            return [f"{name} = {x}.view('float64')", f"{name}[..., ::2] = {self.number()}"]
        if y.dtype == "int32":
            return [f"{name} = {x}.view('uint32')", f"{name} &= 15"]
        if y.dtype == "bool":
            bits = self.new("u")  # nothing else writes there: a byte of a bool is 0 or 1
            return [f"{bits} = {x}.view('uint8')", f"{bits} ^= 1"]
        return self.creation()


def two_draws(library, seed, shape):
    """Two draws of one generator of ours."""
    generator = library.random.default_rng(seed)
    return generator.integers(-9, 10, shape), generator.integers(-9, 10, shape)


def same_draw(library, seed, shape, kind):
    """Small whole numbers, or bools, drawn with our generator."""
    generator = library.random.default_rng(seed)
    if kind == "integers":
        return generator.integers(-9, 10, shape)
    if kind == "coins":
        return generator.random(shape) < 0.5
    if kind == "floors":
        return library.floor(generator.random(shape) * 16)
    n = int(np.prod(shape))
    if kind == "order":
        return generator.permutation(n).reshape(shape)
    return generator.choice(library.arange(5.0), shape)
