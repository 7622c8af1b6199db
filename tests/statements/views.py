"""Statements that make views and read elements."""

from tests.statements.choices import Choices


class Views(Choices):
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

    def iterated(self):
        x, name = self.pick_array(), self.new()
        if x is None or not self.names[x].ndim or not len(self.names[x]):
            return self.creation()
        lines = [f"i = iter({x})", f"{name} = next(i)"]
        if self.rng.random() < 0.7 and len(self.names[x]) > 1:
            lines += [f"{x}[1:] = {self.number(0, 2)}", f"{self.new()} = next(i)"]
        return [*lines, "del i"]

    def alias(self):
        x = self.pick()
        return [f"{self.new()} = {x}"] if x else self.creation()
