"""Names and values to choose from."""

import warnings

import numpy as np

LIMIT = 4096  # values stay below, so that every sum is exact
DTYPES = ["float64"] * 5 + ["float32", "int64", "int64", "int32", "bool", "complex128"]
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

    @staticmethod
    def fits(value, region):
        try:
            if region is None:
                return False
            return np.broadcast_shapes(value.shape, region.shape) == region.shape
        except ValueError:
            return False
