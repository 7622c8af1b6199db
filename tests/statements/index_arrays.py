"""Statements with index arrays and masks."""

from tests.statements.choices import Choices


class IndexArrays(Choices):
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
