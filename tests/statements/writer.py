"""Random statements about arrays, as text."""

from tests.statements.expressions import Expressions
from tests.statements.index_arrays import IndexArrays
from tests.statements.sharing import Sharing
from tests.statements.views import Views
from tests.statements.writes import Writes


class Writer(Expressions, Views, Writes, IndexArrays, Sharing):
    """Writes random statements that make sense for what NumPy's side holds."""

    def __init__(self, rng, names):
        super().__init__(rng, names)
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
