"""Random statements about arrays, as text."""

import warnings

import numpy as np

LIMIT = 4096  # values stay below, so that every sum is exact
DTYPES = ["float64"] * 5 + ["float32", "int64", "int64", "int32", "bool", "complex128"]
SHAPES = [(), (1,), (3,), (5,), (8,), (2, 3), (3, 3), (4, 1), (1, 4), (2, 3, 4), (2, 1, 3), (0, 3)]


class Writer:
    """Writes random statements that make sense for what NumPy's side holds."""

    def __init__(self, rng, names):
        self.rng, self.names = rng, names
        self.count = 0
        self.steps = [
            (self.creation, 5), (self.unary, 4), (self.binary, 9), (self.cast, 2),
            (self.reduction, 5), (self.view, 10), (self.item, 3), (self.write, 9),
            (self.augmented, 9), (self.overlap, 5), (self.recurrence, 2), (self.versions, 3),
            (self.drop, 8),
            (self.alias, 2), (self.snapshot, 3), (self.exported, 2), (self.foreign_write, 4),
            (self.shared, 2), (self.gather, 2), (self.scatter, 3), (self.pickled, 1),
            (self.flushed, 2), (self.broken, 1), (self.joined, 2), (self.iterated, 2),
            (self.product, 1), (self.mistake, 2), (self.converted, 2), (self.nothing, 1),
            (self.unit, 2),
        ]  # fmt: skip

    def statement(self):
        """One statement, or several."""
        kinds, weights = zip(*self.steps, strict=True)
        return self.rng.choices(kinds, weights)[0]()

    # --- choices ------------------------------------------------------------------------------

    def new(self, prefix="v"):
        self.count += 1
        return f"{prefix}{self.count}"

    def arrays(self, prefix="v"):
        return [n for n, v in self.names.items() if n[0] in prefix and n[1:].isdigit()]

    def pick(self, prefix="v"):
        found = self.arrays(prefix)
        return self.rng.choice(found[-8:] if self.rng.random() < 0.5 else found) if found else None

    def pick_array(self):
        """A name of an array that is no scalar, writable."""
        found = [n for n in self.arrays() if self.is_array(n) and self.names[n].flags.writeable]
        return self.rng.choice(found) if found else None

    def is_array(self, name):
        return isinstance(self.names[name], np.ndarray)

    def number(self, low=-5, high=6):
        return self.rng.randrange(low, high)

    def value(self, expression):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return eval(expression, dict(self.names))
            except Exception:
                return None

    def bounded(self, expression):
        """The expression if its values are small, else one whose are."""
        value = self.value(expression)
        if value is None:
            return expression if self.rng.random() < 0.1 else "xp.abs(make((2,), 'int64', 'C', 1))"
        if np.size(value) and not np.all(np.abs(np.asarray(value)) < LIMIT):
            name = self.pick() or "1"
            kind = getattr(self.names.get(name), "dtype", np.dtype(float)).kind
            return f"{name} * 0" if kind in "cb" else f"{name} % 7"
        return expression

    def key(self, shape, *, writes=False):
        """The text of a basic index."""
        rng, parts = self.rng, []
        for n in shape[: rng.randrange(len(shape) + 1) if rng.random() < 0.3 else len(shape)]:
            kind = rng.random()
            if kind < 0.25 and n:
                parts.append(str(rng.randrange(-n, n)))
            elif kind < 0.5:
                parts.append(":")
            elif kind < 0.65:
                parts.append("::-1")
            elif kind < 0.75:
                parts.append("::2")
            else:
                start, stop = sorted((rng.randrange(n + 1), rng.randrange(n + 1)))
                parts.append(f"{start}:{stop}")
        if rng.random() < 0.15:
            parts.insert(rng.randrange(len(parts) + 1), "None")
        if rng.random() < 0.2 or not parts:
            parts.insert(rng.randrange(len(parts) + 1), "...")
        return ", ".join(parts)

    # --- the kinds of step ----------------------------------------------------------------------

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
                "xp.isnan({})",
                "xp.real({})",
                "xp.imag({})",
                "{} ** 2",
            ]
        )
        if ("sign" in f or "**" in f or "abs" in f) and self.names[x].dtype.kind in "cb":
            f = "xp.conj({})"
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

    def view(self):
        x, name, rng = self.pick(), self.new(), self.rng
        if x is None:
            return self.creation()
        y = self.names[x]
        if rng.random() < 0.5 and y.ndim:
            return [f"{name} = {x}[{self.key(y.shape)}]"]
        shape = y.shape
        shapes = [(-1,), shape[::-1], (1, *shape), (*shape, 1)]
        if y.size % 2 == 0 and y.size:
            shapes += [(2, y.size // 2), (y.size // 2, 2)]
        choices = [
            f"{x}.T",
            f"{x}.reshape({rng.choice(shapes)})",
            f"xp.ravel({x})",
            f"xp.flip({x})",
            f"xp.expand_dims({x}, 0)",
            f"xp.squeeze({x})",
            f"xp.broadcast_to({x}, {(2, *shape)})",
            f"{x}[...]",
            f"{x}.reshape({shapes[1]})",
            f"{x}.reshape(-1, order='F')",
        ]
        if y.ndim > 1:
            choices += [f"{x}.swapaxes(0, -1)", f"xp.moveaxis({x}, 0, -1)", f"{x}.diagonal()"]
        if y.dtype.kind == "c":
            choices += [f"{x}.real", f"{x}.imag"] * 3
        if y.dtype == "int64":
            choices += [f"{x}.view('int32')", f"{x}.view('uint64')"]
        return [f"{name} = {rng.choice(choices)}"]

    def item(self):
        x, name = self.pick(), self.new()
        if x is None or not self.names[x].size:
            return self.creation()
        index = ", ".join(str(self.rng.randrange(-n, n)) for n in self.names[x].shape)
        return [f"{name} = {x}[{index or '()'}]"]

    def write(self):
        x, y, rng = self.pick_array(), self.pick(), self.rng
        if x is None:
            return self.creation()
        key = self.key(self.names[x].shape)
        if rng.random() < 0.4:
            return [f"{x}[{key}] = {self.number(0, 2)}"]
        region = self.value(f"{x}[{key}]")
        fitting = [n for n in self.arrays() if self._fits(self.names[n], region)]
        value = rng.choice(fitting) if fitting else y
        source = f"{value} + 1" if rng.random() < 0.3 else value
        bounded = self.bounded(source)
        kind = self.names[x].dtype.kind
        if self.names[value].dtype.kind == "c" and kind not in "cb":
            bounded = "1"
        if kind == "b" and not self.is_array(value):
            bounded = "1"  # NumPy's error for scalars depends on the value
        return [f"{x}[{key}] = {bounded}"]

    @staticmethod
    def _fits(value, region):
        try:
            if region is None:
                return False
            return np.broadcast_shapes(value.shape, region.shape) == region.shape
        except ValueError:
            return False

    def augmented(self):
        x, rng = self.pick_array() if self.rng.random() < 0.9 else self.pick(), self.rng
        if x is None:
            return self.creation()
        target = x
        if rng.random() < 0.5 and self.is_array(x):
            target = f"{x}[{self.key(self.names[x].shape)}]"
        region = self.value(target)
        fitting = [n for n in self.arrays() if self._fits(self.names[n], region)]
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

    def drop(self):
        name = self.pick("vtas")
        return [f"del {name}"] if name else self.creation()

    def alias(self):
        x = self.pick()
        return [f"{self.new()} = {x}"] if x else self.creation()

    def snapshot(self):
        x = self.pick_array()
        return [f"{self.new('s')} = snapshot({x})"] if x else self.creation()

    def exported(self):
        x = self.pick_array()
        if x is None or not self.names[x].size or len(self.arrays("t")) > 1:
            return self.creation()
        return [f"{self.new('t')} = export({x})"]

    def foreign_write(self):
        t = self.pick("ta")
        if t is None or not self.names[t].flags.writeable:
            return self.creation()
        key = self.key(self.names[t].shape)
        other = self.rng.choice([str(self.number(0, 2)), f"{t}[{key}] * 0"])
        return [f"{t}[{key}] = {other}"]

    def shared(self):
        shape, dtype = self.rng.choice(SHAPES), self.rng.choice(DTYPES)
        if len(self.arrays("a")) > 1:
            return self.creation()
        a, name = self.new("a"), self.new()
        arguments = f"{shape}, {dtype!r}, {self.rng.choice('CF')!r}, {self.rng.randrange(99)}"
        return [f"{a} = foreign({arguments})", f"{name} = share({a})"]

    def unit(self):
        """Statements of which those that read shared memory wait for the end."""
        kinds = [self.unary, self.binary, self.reduction, self.view, self.write, self.augmented,
                 self.overlap, self.item, self.recurrence]  # fmt: skip
        yield "begin()"
        for _ in range(self.rng.randrange(1, 6)):
            yield from self.rng.choice(kinds)()
        yield "end()"

    def _indices(self, n):
        if self.rng.random() < 0.4:
            return str([self.rng.random() < 0.5 for _ in range(n)])
        return str([self.rng.randrange(-n, n) for _ in range(self.rng.randrange(4))])

    def gather(self):
        x, name = self.pick(), self.new()
        if x is None or not self.names[x].ndim or not len(self.names[x]):
            return self.creation()
        return [f"{name} = {x}[{self._indices(len(self.names[x]))}]"]

    def scatter(self):
        x = self.pick_array()
        if x is None or not self.names[x].ndim or not len(self.names[x]):
            return self.creation()
        op = self.rng.choice(["=", "=", "-="])
        if self.rng.random() < 0.3:
            return [f"{x}[{x} == 1] {op} {self.number(0, 2)}"]
        return [f"{x}[{self._indices(len(self.names[x]))}] {op} {self.number(0, 2)}"]

    def pickled(self):
        x = self.pick()
        return [f"{self.new()} = pickled({x})"] if x else self.creation()

    def flushed(self):
        x = self.pick()
        return [f"flush({x})" if x and self.rng.random() < 0.7 else "flush()"]

    def broken(self):
        x = self.pick()
        return [f"{self.new('b')} = broken({x})"] if x else self.creation()

    def joined(self):
        x, name = self.pick(), self.new()
        if x is None or not self.names[x].ndim:
            return self.creation()
        same = [n for n in self.arrays() if self.names[n].shape == self.names[x].shape]
        y = self.rng.choice(same)
        return [f"{name} = xp.{self.rng.choice(['concatenate', 'stack'])}([{x}, {y}, {x}])"]

    def iterated(self):
        x, name = self.pick_array(), self.new()
        if x is None or not self.names[x].ndim or not len(self.names[x]):
            return self.creation()
        lines = [f"i = iter({x})", f"{name} = next(i)"]
        if self.rng.random() < 0.7 and len(self.names[x]) > 1:
            lines += [f"{x}[1:] = {self.number(0, 2)}", f"{self.new()} = next(i)"]
        return [*lines, "del i"]

    def product(self):
        x, name = self.pick(), self.new()
        # with several leading axes NumPy lays results out in another order than ours, C
        if x is None or self.names[x].ndim not in (1, 2, 3) or self.names[x].dtype.kind == "b":
            return self.creation()
        return [f"{name} = " + self.bounded(f"{x} @ {x}.T")]

    def mistake(self):
        x, y, name, number = self.pick(), self.pick(), self.new(), self.new("p")
        if x is None:
            return self.creation()
        whole = "len" if self.names[x].dtype.kind == "c" else "int"
        return [self.rng.choice([
            f"{name} = {x}[9]", f"{name} = {x}.reshape(7, 11)", f"{name} = {x} + {y}[..., :2]",
            f"{name} = {x}[0, 0, 0, 0]", f"{name} = {x}[::0]", f"{name} = xp.sum({x}, axis=5)",
            f"{x}[...] = make((7, 11), 'int64', 'C', 3)", f"{number} = {whole}({x})",
            f"{name} = -{x}",
            f"{name} = xp.broadcast_to({x}, (3, 3))", f"{number} = hash({x})",
            f"{number} = len({x})",
            f"{x} += make((7, 11), 'int64', 'C', 3)", f"{name} = {x}.reshape(())", f"{x}[9] = 1",
        ])]  # fmt: skip

    def converted(self):
        x, name = self.pick(), self.new("p")
        if x is None:
            return self.creation()
        f = self.rng.choice(["{}.tolist()", "{}.sum().item()", "bool({}.any())", "list({}.shape)"])
        return [f"{name} = {f.format(x)}", f"del {name}"]

    def nothing(self):
        x, name = self.pick_array(), self.new()
        if x is None:
            return self.creation()
        return [f"{name} = {x}.copy()", f"{x}[...] = {name}"]
