"""Statements with ufuncs: `out=`, `where=`, `dtype=`, `initial=`, and their methods."""

import numpy as np

from tests.statements.choices import Choices

BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "equal", "less", "logical_and"]
UNARY = [
    "floor",
    "rint",
    "negative",
    "absolute",
    "square",
    "sign",
    "positive",
    "conjugate",
    "isnan",
    "logical_not",
]
METHODS = ["add", "add", "multiply", "maximum", "minimum", "subtract", "logical_or", "bitwise_xor"]


class Ufuncs(Choices):
    def target(self, shape):
        """An array, or a part of one, that a result of a shape may be written to."""
        rng, shape = self.rng, tuple(shape)
        found = [n for n in self.arrays() if self.is_array(n)]
        exact = [n for n in found if self.names[n].shape == shape]
        parts = [f"{n}{part}" for n in found for part in ("[1:]", "[:-1]", "[::-1]", ".T", "[0]")]
        parts = [p for p in rng.sample(parts, min(20, len(parts)))
                 if isinstance(v := self.value(p), np.ndarray) and v.shape == shape]  # fmt: skip
        choice = rng.random()
        if exact and choice < 0.5:
            return rng.choice(exact)
        if parts and choice < 0.85:
            return rng.choice(parts)
        if found and choice < 0.88:
            return rng.choice(found)  # of another shape, most often
        return None

    def allowed(self, function, *operands):
        """Whether NumPy's function of the operands has one meaning that ours has too."""
        kinds = [getattr(self.names.get(n), "dtype", np.dtype(int)).kind for n in operands]
        # absolute values of complex numbers are not NumPy's to the last bit
        orders = ("maximum", "minimum", "less", "sign", "isnan", "absolute", "floor",
                  "rint")  # fmt: skip
        if "c" in kinds and (function in orders or function == "bitwise_xor"):
            return False
        if function == "rint" and kinds[0] != "f":
            return False  # ours is `round`, which keeps integers
        return "b" not in kinds or function in ("equal", "logical_and", "logical_not", "logical_or")

    def operand_pair(self):
        """Two operands that are not both numbers; often they overlap."""
        x, rng = self.pick(), self.rng
        y = self.pick()
        if rng.random() < 0.25:
            y = str(self.number())
        elif x is not None and self.names[x].ndim and rng.random() < 0.3:
            x, y = rng.choice([(f"{x}[1:]", f"{x}[:-1]"), (f"{x}[::-1]", x), (x, f"{x}[:1]")])
        return x, y

    def out(self):
        """A function that writes its result where it is told."""
        (x, y), name, rng = self.operand_pair(), self.new(), self.rng
        if x is None:
            return self.creation()
        names = (x.partition("[")[0], y.partition("[")[0])
        if rng.random() < 0.3:
            function, arguments, names = rng.choice(UNARY), x, names[:1]
        else:
            function, arguments = rng.choice(BINARY), f"{x}, {y}"
        if not self.allowed(function, *names):
            return self.creation()
        result = self.value(f"xp.{function}({arguments})")
        if result is None or not self.is_small(result):
            return self.creation()
        target = self.target(np.shape(result))
        if target is None:
            return self.creation()
        options = ""
        same = getattr(self.value(target), "dtype", None) == result.dtype
        # of what overlaps, is cast and is left out NumPy gives what its buffer happens to hold
        if same and rng.random() < 0.4:
            options += f", where={self.where(np.shape(result))}"
        if rng.random() < 0.2:
            options += ", casting='unsafe'"
            if np.asarray(result).dtype.kind == "c":
                return self.creation()  # NumPy warns of what it leaves out
        elif rng.random() < 0.15:
            options += f", dtype={rng.choice(['float64', 'float32', 'complex128'])!r}"
            if function in ("equal", "less", "isnan") or function.startswith("logical"):
                return self.creation()
        out = rng.choice(["out={}", "out={}", "out=({},)", "{}"]).format(target)
        return [f"{name} = xp.{function}({arguments}, {out}{options})"]

    def where(self, shape):
        """A mask that broadcasts to a shape."""
        found = [n for n in self.arrays() if self.names[n].shape == shape and self.is_array(n)]
        if found and self.rng.random() < 0.7:
            x = self.rng.choice(found)
            return x if self.names[x].dtype.kind == "b" else f"({x} > 0)"
        last = shape[-1] if shape else 1
        bits = [self.rng.random() < 0.5 for _ in range(last)]
        return self.rng.choice(["np.array({})", "xp.asarray({})", "{}"]).format(
            bits if shape else bits[0]
        )

    def out_of_a_reduction(self):
        x, name, rng = self.pick(), self.new(), self.rng
        if x is None or not self.names[x].ndim:
            return self.creation()
        axis = rng.choice([None, *range(self.names[x].ndim)])
        kind = self.names[x].dtype.kind
        functions = ["sum", "any", "all"] if kind == "c" else ["sum", "max", "min", "any", "all"]
        function = rng.choice(functions)
        if function == "sum" and kind == "b":
            function = "any"
        text, options = f"xp.{function}({x}, axis={axis}", ""
        if rng.random() < 0.3:
            options += ", keepdims=True"
        if rng.random() < 0.4 and function in ("sum", "max", "min"):
            options += f", initial={self.number()}"
            if rng.random() < 0.5:
                options += f", where={self.where(self.names[x].shape)}"
        elif rng.random() < 0.3 and function in ("sum", "any", "all"):
            options += f", where={self.where(self.names[x].shape)}"
        if rng.random() < 0.2 and function == "sum":
            options += ", dtype='float64'" if kind != "c" else ", dtype='complex128'"
        result = self.value(f"{text}{options})")
        if result is not None and not self.is_small(result):
            return self.creation()
        target = self.target(np.shape(result)) if rng.random() < 0.6 else None
        if target is not None and self.value(target) is not None:
            to = self.value(target).dtype.kind
            if to not in "fc" or kind == "c":  # NumPy folds in out's dtype, or warns
                target = None
        if target is not None:
            options += f", out={target}"
        return [f"{name} = {text}{options})"]

    def cumulative(self):
        x, name, rng = self.pick(), self.new(), self.rng
        if x is None or not self.names[x].ndim or self.names[x].dtype.kind == "b":
            return self.creation()
        axis = rng.randrange(self.names[x].ndim)
        text = rng.choice([
            f"xp.cumsum({x}, axis={axis}", f"xp.cumprod({x} % 3, axis={axis}",
            f"{x}.cumsum(axis={axis}", f"xp.add.accumulate({x}, axis={axis}",
            f"xp.subtract.accumulate({x}, axis={axis}", f"xp.cumsum({x}, axis=None",
            f"xp.maximum.accumulate({x}, axis={axis}",
        ])  # fmt: skip
        if self.names[x].dtype.kind == "c" and ("%" in text or "max" in text):
            return self.creation()
        result = self.value(f"{text})")
        if result is None or not self.is_small(result):
            return self.creation()
        target = self.target(np.shape(result)) if rng.random() < 0.5 else None
        to = None if target is None else self.value(target)
        # NumPy takes an out of any shape
        if to is None or to.dtype != result.dtype or to.shape != result.shape:
            return [f"{name} = {text})"]
        return [f"{name} = {text}, out={target})"]

    def at(self):
        """Each of equal indices counts."""
        x, rng = self.pick_array(), self.rng
        # NumPy goes through floats to unsigned integers
        if x is None or not self.names[x].ndim or self.names[x].dtype.kind == "u":
            return self.creation()
        function = rng.choice(["add", "add", "subtract", "maximum", "minimum", "multiply"])
        if not self.allowed(function, x):
            return self.creation()
        key = rng.choice([self.integers(self.names[x].shape[0]),
                          f"np.s_[{self.advanced(self.names[x].shape)}]"])  # fmt: skip
        if rng.random() < 0.15:
            return [f"xp.negative.at({x}, {key})"]
        region = self.value(f"{x}[{key}]")
        value = rng.choice([str(self.number(0, 3)), "xp.asarray(1)", self.fitting(x, region)])
        if region is None or not self.is_small(region) or np.size(region) > 64:
            return self.creation()
        if function == "multiply":
            value = str(rng.choice([-1, 1]))
        found = self.value(value)
        if np.ndim(found) and found.shape != region.shape:
            return self.creation()  # NumPy reads beyond the end of what it should broadcast
        together = np.result_type(self.names[x], found)
        if not np.can_cast(together, self.names[x].dtype, "same_kind"):
            value = "1"  # an error with us, while NumPy casts what it may not
        if np.any(np.abs(self.names[x]) > 2000) or (np.any(np.abs(found) > 20)):
            return self.creation()
        return [f"xp.{function}.at({x}, {key}, {value})"]

    def method(self):
        """reduce, outer, reduceat."""
        x, y, name, rng = self.pick(), self.pick(), self.new(), self.rng
        if x is None or not self.names[x].ndim:
            return self.creation()
        f = rng.choice(METHODS)
        if not self.allowed(f, x) or (f == "bitwise_xor" and self.names[x].dtype.kind not in "iu"):
            f = "logical_or"
        shape = self.names[x].shape
        axis = rng.randrange(len(shape))
        choices = [f"xp.{f}.reduce({x}, axis={axis})", f"xp.{f}.reduce({x})",
                   f"xp.{f}.reduce({x}, axis={axis}, keepdims=True)"]  # fmt: skip
        if shape[axis]:
            starts = [rng.randrange(shape[axis]) for _ in range(rng.randrange(1, 4))]
            text = rng.choice(["{}", "np.array({})", "xp.asarray({})"]).format(starts)
            choices += [f"xp.{f}.reduceat({x}, {text}, axis={axis})"]
        if np.size(self.names[x]) * np.size(self.names[y]) < 64 and self.allowed(f, y):
            same = self.names[y].dtype.kind in "iu" or f != "bitwise_xor"
            choices += [f"xp.{f}.outer({x}, {y})"] if same else []
        return [f"{name} = " + self.bounded(rng.choice(choices))]

    def several_outs(self):
        """A function of two results."""
        x, rng = self.pick(), self.rng
        if x is None or self.names[x].dtype.kind in "cb":
            return self.creation()
        a, b = self.new(), self.new()
        text = rng.choice([f"divmod({x}, 3)", f"xp.divmod({x}, 2)", f"xp.modf({x})"])
        result = self.value(text)
        if result is None or not self.is_small(result):
            return self.creation()
        if text[0] == "d":
            return [f"{a}, {b} = {text}"]
        outs = [self.target(r.shape) for r in result]
        same = [o and np.shape(self.value(o)) == np.shape(result[0]) for o in outs]
        if not all(same) or rng.random() < 0.5:  # ours takes outs of the result's shape only
            return [f"{a}, {b} = (y.copy() for y in {text})"]  # CuPy lays them out as it likes
        # without a name in common: after an error in the second, the first has been written
        return [f"{a}, {b} = {text[:-1]}, out=({outs[0]}.copy(), {outs[1]}))"]

    def difference(self):
        x, name, rng = self.pick(), self.new(), self.rng
        if x is None or not self.names[x].ndim:
            return self.creation()
        axis = rng.randrange(self.names[x].ndim)
        return [f"{name} = " + self.bounded(rng.choice([
            f"xp.diff({x}, axis={axis})", f"xp.clip({x}, -2, 3)", f"xp.roll({x}, 1, axis={axis})",
            f"xp.flip({x}, axis={axis})", f"xp.tile({x}, 2)", f"xp.trace({x}.reshape(1, -1))",
        ]))]  # fmt: skip
