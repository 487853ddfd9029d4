"""What all masking methods share: records in, changed records out."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from shoal.data.joint_moments import JointMoments
from shoal.data.partition import Progress
from shoal.data.records import MissingCells, Records
from shoal.data.variable import Variable
from shoal.errors import DataError
from shoal.kernels.arrays import Floats, Longs
from shoal.step_result import StepResult


class Mask(ABC):
    """Masks columns of the records, one by one or together."""

    method_kind: ClassVar[str] = "mask"
    method_name: ClassVar[str]
    default_roles: ClassVar[tuple[str, ...]] = ("quasi-identifier",)
    """Roles of the columns that a plan's step works on where it names none."""
    own_cells: ClassVar[bool] = False
    """The method's guarantee is for cells that still are their record's own: nothing before may have mixed records."""

    leaves_gaps: ClassVar[bool] = False
    """Whether missing cells stay where they are, each its own record's, so that their reasons may be released."""

    whole_records: ClassVar[bool] = False
    """The method's guarantee is for whole records: it must work on all columns that are released."""

    sees_categories: ClassVar[bool] = False
    """Whether what becomes of a record depends on which categories its column has: a part must know them all."""

    wants_moments: ClassVar[bool] = False
    """Whether it works row by row once it knows means and covariances of its columns in the whole of each stratum."""

    draws_units: ClassVar[bool] = False
    """Whether it keeps some records or households, which it draws once from the whole table."""

    blanks_cells: ClassVar[bool] = False
    """Whether records of one combination of cells may lose different ones of them."""

    takes_identifiers_out: ClassVar[bool] = False
    """Whether no identifier is left afterwards."""

    reads_others: ClassVar[bool] = True
    """Whether what becomes of a record may depend on columns beside those masked, those that a parameter names, strata
    and sampling weights."""

    default_reading: ClassVar[MissingCells | None] = None
    """What a missing cell matches for a method that counts like records, where nothing says; None where it does not."""

    @property
    def reading(self) -> MissingCells | None:
        """What a missing cell matches for the method; None where it counts no like records."""
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
    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Mask some columns; all others stay as they are."""

    def apply_to_part(
        self,
        records: Records,
        columns: Sequence[str],
        rng: np.random.Generator,
        stratum: Longs,
        moments: Sequence[JointMoments],
    ) -> StepResult:
        """Mask a part of a table larger than memory.

        Parameters
        ----------
        stratum
            Shape (n,); of each record, numbered in the whole table.
        moments
            Of the columns in the whole of each stratum, for a method that wants them.
        """
        return self.apply(records, columns, rng)

    def coded(self, identifier: Variable) -> bool:
        """Whether an identifier of a released table can be what this method leaves of one."""
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


def strata(records: Records) -> Iterator[Longs]:
    """Row positions of each stratum in turn; all rows where the table has no stratum column."""
    yield from records.by_stratum
