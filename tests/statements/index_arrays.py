"""Statements with index arrays and masks, and the functions that take them."""

import numpy as np

from tests.statements.choices import Choices

FEW = 64  # elements that an index may give


class IndexArrays(Choices):
    # --- keys -------------------------------------------------------------------------------------

    def _indices(self, n):
        if self.rng.random() < 0.4:
            return str([self.rng.random() < 0.5 for _ in range(n)])
        return str([self.rng.randrange(-n, n) for _ in range(self.rng.randrange(4))])

    def integers(self, n, shape=None):
        """An array of integers, as text, that index an axis of extent n; rarely one that is out of
        bounds. A list, NumPy's or ours, whose elements may be computed late."""
        rng = self.rng
        found = [v for v in self.arrays() if self.names[v].dtype.kind == "i"]
        found = [v for v in found if np.size(self.names[v]) <= 8 and np.ndim(self.names[v]) < 3]
        if found and n and shape is None and rng.random() < 0.3:
            x = rng.choice(found)
            return rng.choice([f"({x} % {n})", f"({x} % {n} - {n})"])
        if n and shape is None and rng.random() < 0.1:  # a list with a number of ours in it
            return f"[{self.pick()}.argmax() % {n}, 0]"
        if shape is None:
            shape = rng.choice([(), (1,), (2,), (3,), (3,), (3, 1), (2, 2), (0,)])
        numbers = [rng.randrange(-n, n) if n else 0 for _ in range(int(np.prod(shape)))]
        if numbers and rng.random() < 0.04:
            numbers[-1] = n  # out of bounds
        text = str(np.reshape(numbers, shape).tolist())
        if 0 in shape:
            return f"xp.zeros({shape}, dtype='int64')"
        kind = rng.choice(["{}", "np.array({})", "xp.asarray({})", "(xp.asarray({}) + 0)"])
        if rng.random() < 0.2:
            kind = rng.choice(["np.array({}, dtype='int32')", "xp.asarray({}, dtype='int8')"])
        return kind.format(text)

    def mask(self, shape):
        """A mask of a shape, as text: a list, NumPy's or ours."""
        rng = self.rng
        found = [v for v in self.arrays() if self.names[v].shape == shape]
        if found and rng.random() < 0.6:
            x = rng.choice(found)
            if self.names[x].dtype.kind == "b" and rng.random() < 0.7:
                return x
            return f"({x} {rng.choice(['== 1', '!= 0', '== 0'])})"
        bits = np.array([rng.random() < 0.5 for _ in range(int(np.prod(shape)))], bool)
        bits = bits.reshape(shape).tolist()
        if 0 in shape:
            return f"xp.zeros({shape}, dtype=bool)"
        return rng.choice(["{}", "np.array({})", "xp.asarray({})"]).format(bits)

    def advanced(self, shape):
        """A key of index arrays, masks, slices and integers in any order."""
        rng = self.rng
        if rng.random() < 0.15:
            return self.mask(shape)
        parts, axis = [], 0
        width = rng.choice([(), (2,), (3,), (1,), (2, 1)])  # of the arrays, so that they broadcast
        arrays = 0
        while axis < len(shape):
            n, kind = shape[axis], rng.random()
            if kind < 0.4:
                parts.append(self.integers(n, width if arrays or rng.random() < 0.7 else None))
                arrays += 1
            elif kind < 0.5:
                count = rng.choice([1, 1, 2])
                parts.append(self.mask(shape[axis : axis + count]))
                axis += len(shape[axis : axis + count]) - 1
                arrays += 1
            elif kind < 0.6 and n:
                parts.append(str(rng.randrange(-n, n)))
            elif kind < 0.9:
                parts.append(rng.choice([":", "::-1", "1:", ":-1", "::2"]))
            else:
                break
            axis += 1
        if not arrays:
            parts = [self.integers(shape[0])] if shape else [rng.choice(["True", "False"])]
        if rng.random() < 0.15:
            parts.insert(rng.randrange(len(parts) + 1), "None")
        if rng.random() < 0.2:
            parts.insert(rng.randrange(len(parts) + 1), "...")
        if rng.random() < 0.05:  # of no dimensions
            masks = ["True", "np.False_", "xp.asarray(True)", f"{self.pick()}.any()"]
            parts.insert(rng.randrange(len(parts) + 1), rng.choice(masks))
        if rng.random() < 0.02:
            parts.append(rng.choice(["0, 0, 0, 0", "[0.5]", "[[True] * 9]"]))  # errors
        return ", ".join(parts)

    def few(self, x, key):
        """True if x[key] has few elements, or is an error."""
        region = self.value(f"{x}[{key}]")
        return region is None or np.size(region) <= FEW

    # --- reading and writing ----------------------------------------------------------------------

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

    def fancy_read(self):
        x, name = self.pick(), self.new()
        if x is None:
            return self.creation()
        key = self.advanced(self.names[x].shape)
        return [f"{name} = {x}[{key}]"] if self.few(x, key) else self.creation()

    def fancy_write(self):
        x = self.pick_array()
        if x is None:
            return self.creation()
        key = self.advanced(self.names[x].shape)
        value = self.source(x, f"{x}[{key}]")
        mask, given = self.value(f"np.asarray({key})"), self.value(value)
        arrays = isinstance(mask, np.ndarray) and isinstance(given, np.ndarray)
        if arrays and mask.dtype.kind == "b":
            # through a mask of all axes NumPy reads elements that it has written
            value = f"{value}.copy()" if np.shares_memory(given, self.names[x]) else value
        return [f"{x}[{key}] = {value}"]

    def fancy_augmented(self):
        x = self.pick_array()
        if x is None:
            return self.creation()
        key = self.advanced(self.names[x].shape)
        value, op = self.source(x, f"{x}[{key}]"), self.rng.choice("+-*")
        result = self.value(f"{x}[{key}] {op} {value}")
        if result is not None and not self.is_small(result):
            value, op = "1", "*"
        return [f"{x}[{key}] {op}= {value}"]

    def indices_that_change(self):
        """An index array or a mask is overwritten after its use."""
        x, i, y = self.pick_array(), self.new(), self.new()
        if x is None or not self.names[x].ndim:
            return self.creation()
        shape = self.names[x].shape
        rng = self.rng
        if rng.random() < 0.4:
            first = f"{i} = {x} {rng.choice(['== 1', '!= 0'])}"
            uses = [f"{y} = {x}[{i}]", f"{x}[{i}] = {self.number()}",
                    f"{y} = xp.where({i}, {x}, 7)"]  # fmt: skip
            after = f"{i}[{rng.choice(['...', ':1'])}] = {rng.choice(['True', 'False'])}"
        elif shape[0]:
            first = f"{i} = xp.asarray({[rng.randrange(-shape[0], shape[0]) for _ in 'abc']}) + 0"
            uses = [f"{y} = {x}[{i}]", f"{y} = xp.take({x}, {i}, axis=0)",
                    f"{x}[{i}] = {self.number(0, 2)}", f"{y} = {i} * 2",
                    f"{y} = xp.take_along_axis({x}.reshape(-1), {i}, 0)"]  # fmt: skip
            after = f"{i}[{rng.choice(['...', ':2'])}] = 0"
        else:
            return self.creation()
        return [first, rng.choice(uses), after, f"{self.new()} = {x}[{i}]"]

    # --- functions --------------------------------------------------------------------------------

    def taken(self):
        x, name, rng = self.pick(), self.new(), self.rng
        # of an axis without elements NumPy takes any, if the result has none either
        if x is None or not self.names[x].ndim or not self.names[x].size:
            return self.creation()
        shape = self.names[x].shape
        axis = rng.randrange(-len(shape), len(shape))
        n = shape[axis]
        lists = ", ".join(str([rng.randrange(m) for _ in "ab"] if m else []) for m in shape)
        choices = [
            f"xp.take({x}, {self.integers(n)}, axis={axis})",
            f"{x}.take({self.integers(n)}, {axis})",
            f"xp.take({x}, {self.integers(self.names[x].size)})",
            f"xp.compress({[rng.random() < 0.5 for _ in range(n)]}, {x}, axis={axis}).copy()",
            f"{x}[xp.ix_({lists})]",
            # NumPy's are columns of one array, ours lie by themselves
            f"xp.nonzero({x})[{rng.randrange(len(shape))}] + 0", f"{x}.nonzero()[-1] + 0",
            f"xp.argwhere({x})", f"xp.flatnonzero({x})", f"xp.where({x})[0] + 0",
            f"xp.extract({self.mask(shape)}, {x})",
        ]  # fmt: skip
        if n:
            along = f"xp.argsort({x}, axis={axis})"
            if self.names[x].dtype.kind != "c" and self.distinct(x, axis):
                choices += [f"xp.take_along_axis({x}, {along}, axis={axis})"]
            few = f"({along} * 0 + {rng.randrange(-n, n)})"
            choices += [f"xp.take_along_axis({x}, {few}, axis={axis})"]
        text = rng.choice(choices)
        result = self.value(text)
        return [f"{name} = {text}"] if np.size(result) <= FEW else self.creation()

    def distinct(self, x, axis):
        """Whether no element is twice in its row."""
        rows = np.sort(self.names[x], axis=axis)
        return not np.any(np.diff(rows.astype(float), axis=axis) == 0)

    def selected(self):
        """where, choose, select: of several arrays."""
        x, y, name, rng = self.pick(), self.pick(), self.new(), self.rng
        if x is None:
            return self.creation()
        if "u" in self.names[x].dtype.kind + self.names[y].dtype.kind:
            return self.creation()  # NumPy casts negative numbers, ours is an error
        mask = self.mask(self.names[x].shape)
        choices = [
            f"xp.where({mask}, {x}, {y})", f"xp.where({mask}, {x}, {self.number()})",
            f"xp.where({x} == 0, {self.number()}, {y})", f"xp.where({x} == 0, 2, 3)",
        ]  # fmt: skip
        # CuPy lays out results as it likes, and takes arrays only
        if self.names[x].ndim and self.names[y].ndim:
            default = self.number()
            choices += [f"xp.select([{x} == 0, {x} == 1], [{y}, {x}], {default}).copy()"]
            if self.names[x].dtype.kind == "i":
                choices += [f"xp.choose({x} % 2, [{x}, {y}]).copy()",
                            f"({x} % 2).choose([{y}, {x}]).copy()"]  # fmt: skip
        return [f"{name} = " + self.bounded(rng.choice(choices))]

    def put_somewhere(self):
        """Functions that write at indices or where a mask is true."""
        x, rng = self.pick_array(), self.rng
        if x is None or not self.names[x].size:
            return self.creation()
        y, shape = self.names[x], self.names[x].shape
        mask, number = self.mask(shape), self.number(0, 2)
        values = rng.choice([str(number), "[1, 0]", "np.array([0, 1, 0])", "xp.asarray([1, 1, 0])"])
        if y.dtype.kind == "b":
            values = rng.choice(["True", "[True, False]", "xp.asarray([False, True])"])
        # NumPy's put writes what comes before an index that is out of bounds; ours nothing
        places = str([rng.randrange(-y.size, y.size) for _ in range(rng.randrange(1, 4))])
        mode = rng.choice(["", "", ", mode='wrap'", ", mode='clip'"])
        if mode:
            places = str([rng.randrange(-20, 20) for _ in range(3)])
        places = rng.choice(["{}", "np.array({})", "xp.asarray({})"]).format(places)
        listed = values if values[0] not in "nx" else str(number)  # of arrays NumPy casts few
        choices = [
            f"xp.put({x}, {places}, {values}{mode})", f"{x}.put({places}, {values}{mode})",
            f"xp.putmask({x}, {mask}, {listed})", f"xp.place({x}, {mask}, {listed})",
            f"xp.copyto({x}, {values if values[0] != '[' else number}, where={mask})",
            f"xp.copyto({x}, {self.fitting(x)}, where={mask})",
            f"xp.copyto({x}, {self.fitting(x)}, casting='unsafe')",
            f"{x}.fill({number})",
        ]  # fmt: skip
        if y.ndim == 2 or (y.ndim > 2 and len(set(shape)) == 1):
            choices += [f"xp.fill_diagonal({x}, {values})",
                        f"xp.fill_diagonal({x}, {number}, wrap=True)"]  # fmt: skip
        if y.ndim:
            axis = rng.randrange(y.ndim)
            ones = tuple(1 if a == axis else n for a, n in enumerate(shape))
            at = f"xp.zeros({ones}, dtype='int64') + {rng.randrange(-shape[axis], shape[axis])}"
            choices += [f"xp.put_along_axis({x}, {at}, {number}, axis={axis})"]
        return [rng.choice(choices)]

    def flat(self):
        x, name, rng = self.pick_array(), self.new(), self.rng
        if x is None or not self.names[x].size:
            return self.creation()
        n = self.names[x].size
        key = rng.choice([
            str(rng.randrange(-n, n)), "1:", "::2", ":2", "...",
            str([rng.randrange(-n, n) for _ in "ab"]),
            f"np.array({[rng.random() < 0.5 for _ in range(n)]})",  # a list is an error in NumPy
        ])  # fmt: skip
        values = rng.choice([str(self.number(0, 2)), "[1]", "[0, 1]"])
        if "[" in values and not key.startswith("["):
            values = "1"
        if self.names[x].dtype.kind == "b":
            values = "True"
        if rng.random() < 0.4:
            return [f"{name} = {x}.flat[{key}]"]
        return [rng.choice([f"{x}.flat[{key}] = {values}", f"{x}.flat = {values}"])]

    def ordered(self):
        """Sorted in place, or partly."""
        x, name, rng = self.pick_array(), self.new(), self.rng
        if x is None or not self.names[x].ndim or not self.names[x].size:
            return self.creation()
        axis = rng.randrange(-self.names[x].ndim, self.names[x].ndim)
        n = self.names[x].shape[axis]
        kth = rng.randrange(-n, n)
        # what stands on either side of the element is in any order
        part = [f"{x}.partition({kth}, {axis})", f"{name} = {x}.take({kth}, {axis})",
                f"{x}.sort({axis})"]  # fmt: skip
        if self.names[x].dtype.kind not in "if":
            part = [f"{x}.sort({axis})"]
        return rng.choice([
            [f"{x}.sort({axis})"], [f"{x}[::-1].sort({axis})"], part,
            [f"{name} = xp.sort({x}, axis={axis})"],
            [f"{name} = xp.resize({x}, {rng.choice([(2, 3), (5,), (7,), (1, 4)])}).copy()"],
            [f"{name} = xp.repeat({x}, 2, axis={axis})", f"{x}[...] = {x} * 0"],
        ])  # fmt: skip
