"""Names and values to choose from."""

import warnings

import numpy as np

LIMIT = 4096  # values stay below, so that every sum is exact
DTYPES = ["float64"] * 5 + ["float32", "int64", "int64", "int32", "bool", "complex128"]
REAL = ["float64", "float64", "float32", "int64", "bool"]
SHAPES = [(), (1,), (3,), (5,), (8,), (2, 3), (3, 3), (4, 1), (1, 4), (2, 3, 4), (2, 1, 3), (0, 3)]


class Choices:
    """Chooses among what NumPy's side holds."""

    def __init__(self, rng, names):
        self.rng, self.names = rng, names
        self.count = 0

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

    @staticmethod
    def is_small(value):
        """Whether every number of a value is below the limit. NaN is not."""
        values = value if isinstance(value, tuple) else (value,)
        return all(np.all(np.abs(np.asarray(v)) < LIMIT) for v in values)

    def bounded(self, expression):
        """The expression if its values are small, else one whose are."""
        value = self.value(expression)
        if value is None:
            return expression if self.rng.random() < 0.1 else "xp.abs(make((2,), 'int64', 'C', 1))"
        if not self.is_small(value):
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

    @staticmethod
    def fits(value, region):
        try:
            if region is None:
                return False
            return np.broadcast_shapes(value.shape, region.shape) == region.shape
        except ValueError:
            return False

    def fitting(self, x, region=None):
        """What can be written over the whole of an array, or to a region of it: a number, a fresh
        array or one that is there."""
        region = self.names[x] if region is None else region
        found = [n for n in self.arrays() if self.fits(self.names[n], region)]
        kind = self.names[x].dtype.kind
        found = [n for n in found if self.names[n].dtype.kind != "c" or kind in "cb"]
        if kind == "b":  # NumPy's error for scalars depends on the value
            found = [n for n in found if self.is_array(n)]
        choice = self.rng.random()
        if choice < 0.5 and found:
            return self.rng.choice(found)
        if choice < 0.8:
            made = self.rng.choice(["make", "make", "host"])
            return f"{made}({np.shape(region)}, {self.rng.choice(REAL)!r}, 'C', {self.new('')})"
        return str(self.number(0, 2))

    def source(self, x, region):
        """What can be written to a region of an array, which is text."""
        shown = self.value(region)
        return "1" if shown is None else self.fitting(x, shown)
