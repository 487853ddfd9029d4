"""Base of all masking methods: records in, changed records out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from shoal.table.joint_moments import JointMoments
from shoal.table.prelude import Floats, Generator, Longs, MissingCells, Progress, Records, StepResult, Variable
from shoal.vocabulary.prelude import DataError, Scales


class Mask(ABC):
    """Masks columns of the records, one by one or together."""

    method_kind: ClassVar[str] = "mask"
    method_name: ClassVar[str]
    scales: ClassVar[Scales] = "memory"
    default_roles: ClassVar[tuple[str, ...]] = ("quasi-identifier",)
    """Roles of the columns that a plan's step works on where it names none."""
    own_cells: ClassVar[bool] = False
    """The method's guarantee is for cells that still are their record's own: nothing before may have mixed records."""

    leaves_gaps: ClassVar[bool] = False
    """True if missing cells stay where they are, each its own record's, so that their reasons may be released."""

    makes_records: ClassVar[bool] = False
    """True if new records are made for the table as a whole, as many as the method says: they are nobody's."""

    whole_records: ClassVar[bool] = False
    """The method's guarantee is for whole records: it must work on all columns that are released."""

    public_size: ClassVar[bool] = False
    """Its guarantee for whole records is for what they hold, in a table of which is known how many they are."""

    sees_categories: ClassVar[bool] = False
    """True if the new cells depend on which categories their column has: a part must know them all."""

    wants_moments: ClassVar[bool] = False
    """True if it works row by row once it knows means and covariances of its columns in the whole of each stratum."""

    draws_units: ClassVar[bool] = False
    """True if it keeps some records or households, which it draws once from the whole table."""

    blanks_cells: ClassVar[bool] = False
    """True if records of one combination of cells may lose different ones of them."""

    takes_identifiers_out: ClassVar[bool] = False
    """True if no identifier is left afterwards."""

    reads_others: ClassVar[bool] = True
    """False if new cells depend on no columns but those masked, those that a parameter names, strata and sampling
    weights."""

    default_reading: ClassVar[MissingCells | None] = None
    """What a missing cell matches by default for a method that counts matching records; None for any other."""

    @property
    def reading(self) -> MissingCells | None:
        """The reading of missing cells by which the method counts matching records; None where it counts none."""
        return self.default_reading

    @property
    def whole_needed(self) -> str:
        """Why these parameters need the whole table at once although the method works row by row; empty if not."""
        return ""

    @property
    def labels_in_order(self) -> tuple[str, ...]:
        """All labels that the method may give to numbers, ascending, as far as its parameters say them."""
        return ()

    @abstractmethod
    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        """Mask some columns; all others stay as they are."""

    def apply_to_part(
        self, records: Records, columns: Sequence[str], rng: Generator, stratum: Longs, moments: Sequence[JointMoments]
    ) -> StepResult:
        """Mask a part of a table in parts.

        Parameters
        ----------
        stratum
            Shape (n,); of each record, numbered in the whole table.
        moments
            Of the columns in the whole of each stratum, for a method that wants them.
        """
        return self.apply(records, columns, rng)

    def coded(self, identifier: Variable) -> bool:
        """True if an identifier column of a released table can be the outcome of this method."""
        return False

    def continuous(self, records: Records, columns: Sequence[str]) -> tuple[Variable, ...]:
        """The columns, refused unless all of them are continuous."""
        return tuple(self._of_level(records[name], True) for name in columns)

    def categorical(self, records: Records, columns: Sequence[str]) -> tuple[Variable, ...]:
        """The columns, refused unless all of them are ordinal or nominal."""
        return tuple(self._of_level(records[name], False) for name in columns)

    def _of_level(self, variable: Variable, continuous: bool) -> Variable:
        if variable.continuous is not continuous:
            wanted = "continuous" if continuous else "ordinal or nominal"
            raise DataError(
                f"Column '{variable.name}' is {variable.level}; {self.method_name} needs columns that are {wanted}. "
                f"Leave it out of the step's columns, or give it another level."
            )
        return variable

    def weights(self, records: Records, wanted: bool) -> Floats | None:
        """Sampling weights where the method was told to use them; refused where there are none."""
        if not wanted:
            return None
        if records.weights is None:
            raise DataError(f"{self.method_name}: weighted needs a column with the role weight; the table has none.")
        return records.weights
