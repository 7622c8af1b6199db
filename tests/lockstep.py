"""Statements that run on our arrays and on NumPy's, in lockstep.

Both sides must raise the same class of exception or none, and what is checked must agree in value,
shape, dtype, strides and in being a scalar or an array.
"""

import copy
import pickle
import warnings

import numpy as np

import cucudnn as xp
from cucudnn.array import bounds, unit
from cucudnn.lowering import device as devices
from cucudnn.lowering.toolchain import host_toolchain
from cucudnn.settings import current
from tests.statements.protocols import same_draw, two_draws
from tests.support import FAILURES, broken, foreign


def make(library, shape, dtype, order, seed):
    """Small whole numbers."""
    values = np.random.default_rng(seed).integers(-9, 10, shape)
    values = values % 2 == 0 if dtype == "bool" else values.astype(dtype)
    if dtype == "complex128":
        values = values + 1j * values[..., ::-1] if shape else values + 2j
    return library.array(np.asarray(values, order=order))


def draw(*arguments):
    return same_draw(xp, *arguments)


def draw_two(*arguments):
    return two_draws(xp, *arguments)


def shuffle(x, seed):
    xp.random.default_rng(seed).shuffle(x)


NEGATE = xp.ElementwiseKernel("", "T x", "x = -x", "negate", no_return=True)


def negate_by_numpy(x):
    x[...] = -x  # `out=x` of a strided view is wrong in NumPy 2.5.2 on some processors


# What is the same on both sides. NumPy's functions call ours for our arrays.
COMMON = {"np": np, "copy": copy, "host": lambda *a: make(np, *a)}


class Ours:
    """What the statements call, on our arrays."""

    def __init__(self, device):
        self.device = devices.get(device)
        self.was_shared = False
        self.unit = None
        self.names = {
            "xp": xp, "make": lambda *a: make(xp, *a), "snapshot": self.snapshot,
            "export": self.export, "foreign": self.foreign, "share": self.share,
            "broken": self.broken, "flush": xp.flush, "pickled": self.pickled,
            "begin": self.begin, "end": self.end, "draw": draw, "shuffle": shuffle,
            "draw_two": draw_two, "negate": self.negate, **COMMON,
        }  # fmt: skip

    def snapshot(self, x):
        self.was_shared = self.device.kind == "cpu" and x._storage.node.shared
        return np.asarray(x)

    def export(self, x):
        return foreign(self.device).from_dlpack(x)

    def foreign(self, *arguments):
        return foreign(self.device).asarray(make(np, *arguments))

    def share(self, a):
        return xp.asarray(a, copy=False)

    def negate(self, x):
        compiles = host_toolchain() is not None and current().compile != "never"
        (NEGATE if compiles or self.device.kind != "cpu" else negate_by_numpy)(x)

    def begin(self):
        """Open a unit, as `jit` does."""
        self.unit = unit.opened()
        self.unit.__enter__()

    def end(self):
        if self.unit is not None:
            self.unit, opened = None, self.unit
            opened.__exit__(None, None, None)

    def pickled(self, x):
        return pickle.loads(pickle.dumps(x))

    def broken(self, x):
        try:
            return broken(x)
        except FAILURES:  # it reads shared memory, or nothing is fused
            return None


class Theirs:
    """What the statements call, on NumPy's arrays."""

    def __init__(self, ours):
        self.names = {
            "xp": np, "make": lambda *a: make(np, *a), "export": lambda x: x[...],
            "foreign": lambda *a: make(np, *a), "share": lambda a: a[...], "flush": lambda *a: None,
            "snapshot": lambda x: x[...] if ours.was_shared else np.array(x, order="K"),
            "broken": lambda x: None, "begin": lambda: None, "end": lambda: None,
            "pickled": lambda x: pickle.loads(pickle.dumps(x)), "shuffle": self.shuffle,
            "draw": self.draw, "draw_two": self.draw_two, "negate": negate_by_numpy, **COMMON,
        }  # fmt: skip

    def draw(self, *arguments):
        """A fresh draw of ours, which has the same numbers."""
        return self._values(draw(*arguments))

    def draw_two(self, *arguments):
        return tuple(self._values(x) for x in draw_two(*arguments))

    @staticmethod
    def _values(mine):
        values = xp.asnumpy(mine)
        return values[()] if mine._scalar else values

    def shuffle(self, x, seed):
        """In the order that ours has."""
        mine = xp.asarray(x)
        shuffle(mine, seed)
        x[...] = xp.asnumpy(mine)


class DifferenceError(AssertionError):
    """The two sides do not agree."""


class Faults:
    """Makes allocations of a device fail now and then."""

    def __init__(self, device, rng, chance):
        self.device, self.rng, self.chance = devices.get(device), rng, chance
        self.on = False
        self.allocate = self.device.allocate

    def __enter__(self):
        def allocate(nbytes):
            if self.on and self.rng.random() < self.chance:
                raise MemoryError("injected")
            return self.allocate(nbytes)

        self.device.allocate = allocate
        return self

    def __exit__(self, *exc):
        del self.device.allocate


class Machine:
    """Runs statements on both sides."""

    def __init__(self, device, faults):
        self.ours = Ours(device)
        self.theirs = Theirs(self.ours)
        self.a, self.b = self.ours.names, self.theirs.names
        self.faults = faults

    def run(self, statement):
        """Run a statement on both sides, and compare the exceptions and the values named."""
        if statement.startswith("check "):
            self.check(statement[6:])
            return
        code = compile(statement, statement, "exec")
        mine = self._try_mine(code, statement)
        other = None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                exec(code, self.b)
            except Exception as error:
                other = type(error)
        kinds = [k for k in (mine, other) if k]
        same = len(kinds) == 2 and (
            issubclass(mine, other) or issubclass(other, mine)
            or all(issubclass(k, (ValueError, TypeError)) for k in kinds)
        )  # fmt: skip
        if kinds and not same:
            raise DifferenceError(f"{statement}: we raise {mine}, NumPy {other}")
        target = statement.partition(" = ")[0]
        if target[1:].isdigit() and target in self.a and mine is None:
            self.check_form(target)

    def _try_mine(self, code, statement):
        """The class of our exception. Injected faults leave no trace: the statement runs again."""
        for attempt in range(50):
            self.faults.on = attempt < 3 and statement != "end()"
            try:
                exec(code, self.a)
                self.faults.on = False
                bounds.look(self.ours.device)  # what a GPU raises at the next read
            except MemoryError:
                if attempt > 5:
                    raise
                continue
            except FAILURES:
                raise DifferenceError(f"{statement}: failed for another's failure") from None
            except Exception as error:
                if isinstance(error, AssertionError):
                    raise
                late = self._late_error()
                return late or type(error)
            finally:
                self.faults.on = False
            return None
        return None

    def _late_error(self):
        """The error of an index array that came before another one, which a GPU raises later."""
        try:
            bounds.look(self.ours.device)
        except IndexError as error:
            self._late_error()  # no other waits for the next statement
            return type(error)
        return None

    def check_form(self, name):
        """Compare everything that needs no value."""
        x, y = self.a[name], self.b[name]
        if y is None:
            return
        if isinstance(x, xp.ndarray):
            if x._scalar != isinstance(y, np.generic):
                raise DifferenceError(f"{name}: scalar {x._scalar}, NumPy has {type(y)}")
        elif not isinstance(x, (np.ndarray, np.generic)) and not hasattr(x, "get"):
            if type(x) is not type(y) or x != y:
                raise DifferenceError(f"{name}: {x!r} is not NumPy's {y!r}")
            return
        mine, other = (x.shape, x.dtype), (y.shape, y.dtype)
        if mine != other:
            raise DifferenceError(f"{name}: {mine} is not NumPy's {other}")
        strides = [s for s, n in zip(x.strides, x.shape, strict=True) if n > 1]
        wanted = [s for s, n in zip(y.strides, y.shape, strict=True) if n > 1]
        if strides != wanted and y.size and name[0] == "v":
            raise DifferenceError(f"{name}: strides {x.strides} are not NumPy's {y.strides}")

    def check(self, name):
        """Compare the values; our side is read."""
        if name not in self.a or self.b.get(name) is None:
            return
        self.check_form(name)
        x, y = self.a[name], self.b[name]
        for attempt in range(50):
            self.faults.on = attempt < 3
            try:
                value = x._host() if isinstance(x, xp.ndarray) else x
                break
            except MemoryError:
                if attempt > 5:
                    raise
            finally:
                self.faults.on = False
        value = value.get() if hasattr(value, "get") else value
        if not np.array_equal(value, y):
            raise DifferenceError(f"{name}: {value!r} is not NumPy's {y!r}")
