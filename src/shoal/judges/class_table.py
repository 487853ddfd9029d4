"""A table class by class: the records of each class, and how often each confidential value occurs in it.

Judges of single classes need no more. The classes of a table in memory are counted from its records, those of a larger
table in SQL, some at a time. So the same code judges tables of every size.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shoal.judges.class_figures import MATCHING, ClassFigures
from shoal.judges.table_pair import TablePair
from shoal.judges.units import units_of_classes
from shoal.judges.variants import variants
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import first_rows
from shoal.table.confidential_bins import Bins
from shoal.table.records import Classes, MissingCells, Records
from shoal.table.variable import Variable

Binning = Callable[[Variable], Bins]
"""Division of a confidential column into bins."""

Entries = tuple[Variable, Bins, Classes]
"""A confidential column with its entries, which are records or stand for several equal ones, in bins and classes."""


class ClassTable(ABC):
    """Some classes of a table, all of whose records are counted."""

    @property
    @abstractmethod
    def sizes(self) -> Longs:
        """Shape (C,); records of each class."""

    @property
    @abstractmethod
    def keys(self) -> Records:
        """One record of each class, in the order of the classes."""

    @abstractmethod
    def confidential(self, binning: Binning) -> Iterable[Entries]:
        """The entries of each confidential column."""

    @abstractmethod
    def units(self, unit: str) -> Longs | None:
        """Shape (C,); households, or values of an identifier, in each class; None if these are not known."""

    def figures(self, binning: Binning, figure: Callable[[Bins, Classes], Floats]) -> ClassFigures:
        """A figure of each class for each confidential column."""
        columns = list(self.confidential(binning))
        return self.seen(columns, [figure(bins, classes) for _, bins, classes in columns])

    def seen(self, columns: Iterable[Entries], figures: Iterable[Floats]) -> ClassFigures:
        """Figures of confidential columns, each of shape (C,), with what a reader must be warned of."""
        by_column = {variable: figure for (variable, _, _), figure in zip(columns, figures)}
        return ClassFigures(
            sizes=self.sizes,
            figures={variable.name: figure for variable, figure in by_column.items()},
            variants={variable.name: count for variable in by_column if (count := variants(variable))},
        )

    def matching(self, missing: MissingCells) -> ClassFigures:
        """The classes, with the number of records that a record of each matches if that is not the class size."""
        if missing == "equal":
            return ClassFigures(sizes=self.sizes)
        return ClassFigures(sizes=self.sizes, figures={MATCHING: self._matching(missing)})

    def _matching(self, missing: MissingCells) -> Longs:
        """Shape (C,); records that a record of each class matches."""
        return self.keys.matching(self.keys.names(), missing, self.sizes)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassesInMemory(ClassTable):
    """All classes of a released table on some columns."""

    pair: TablePair
    names: tuple[str, ...]

    @property
    def sizes(self) -> Longs:
        return self.pair.released.class_sizes(self.names)

    @property
    def keys(self) -> Records:
        classes = self._classes
        return self.pair.released.select(self.names).take(first_rows(classes.ids, len(classes.sizes)))

    def _matching(self, missing: MissingCells) -> Longs:
        return self.pair.released.matching_classes(self.names, missing)

    def confidential(self, binning: Binning) -> Iterable[Entries]:
        released, classes = self.pair.released, self._classes
        return ((released[name], binning(released[name]), classes) for name in released.confidential)

    def units(self, unit: str) -> Longs | None:
        units = self.pair.units_by(unit)
        return None if units is None else units_of_classes(self._classes, units)

    @property
    def _classes(self) -> Classes:
        return self.pair.released.classes(self.names)
