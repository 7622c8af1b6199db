"""Random statements about arrays, as text."""

from tests.statements.expressions import Expressions
from tests.statements.index_arrays import IndexArrays
from tests.statements.protocols import Protocols
from tests.statements.sharing import Sharing
from tests.statements.ufuncs import Ufuncs
from tests.statements.views import Views
from tests.statements.writes import Writes


class Writer(Expressions, Views, Writes, IndexArrays, Ufuncs, Protocols, Sharing):
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
            (self.unit, 2), (self.own_kernel, 2),
            *((self.by_either(kind), weight) for kind, weight in [
                (self.fancy_read, 4), (self.fancy_write, 4), (self.fancy_augmented, 2),
                (self.indices_that_change, 2), (self.taken, 3), (self.selected, 3),
                (self.put_somewhere, 3), (self.flat, 2), (self.ordered, 2), (self.out, 6),
                (self.out_of_a_reduction, 3), (self.cumulative, 2), (self.at, 3),
                (self.method, 2), (self.several_outs, 1), (self.difference, 1),
                (self.numpy_operand, 3), (self.numpy_target, 1), (self.copies, 2),
                (self.read_only, 1), (self.write_to_read_only, 1), (self.parts, 3),
                (self.drawn, 2), (self.shuffled, 1), (self.bytes_again, 1),
            ]),
        ]  # fmt: skip

        # a program that does fewer things does more with them
        self.steps = [
            (k, w * (k == self.creation or rng.choice([0, 1, 1, 4]))) for k, w in self.steps
        ]

    def statement(self):
        """One statement, or several."""
        kinds, weights = zip(*self.steps, strict=True)
        return self.rng.choices(kinds, weights)[0]()

    def by_either(self, kind):
        """A kind of step whose functions are ours or NumPy's."""

        def step():
            lines = kind()
            return self.by_numpy(lines) if self.rng.random() < 0.3 else lines

        return step
