"""Statements about memory that others share, and about when things run."""

from tests.statements.choices import DTYPES, SHAPES, Choices


class Sharing(Choices):
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
                 self.overlap, self.item, self.recurrence, self.fancy_read, self.fancy_write,
                 self.indices_that_change, self.out, self.at, self.parts,
                 self.put_somewhere]  # fmt: skip
        # no NumPy arrays that are written later: a unit need not see that
        yield "begin()"
        for _ in range(self.rng.randrange(1, 6)):
            yield from self.rng.choice(kinds)()
        yield "end()"

    def pickled(self):
        x = self.pick()
        return [f"{self.new()} = pickled({x})"] if x else self.creation()

    def flushed(self):
        x = self.pick()
        return [f"flush({x})" if x and self.rng.random() < 0.7 else "flush()"]

    def broken(self):
        x = self.pick()
        return [f"{self.new('b')} = broken({x})"] if x else self.creation()

    def drop(self):
        name = self.pick("vtas")
        return [f"del {name}"] if name else self.creation()

    def mistake(self):
        x, y, name, number = self.pick(), self.pick(), self.new(), self.new("p")
        if x is None:
            return self.creation()
        whole = "len" if self.names[x].dtype.kind == "c" else "int"
        if self.names[x].shape == (3, 3) and self.names[x].dtype == "float64":
            return [f"{name} = xp.linalg.inv({x} * 0)"]  # fails on values, when it is called
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
