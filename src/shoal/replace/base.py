"""Base of all replacements: a partition and records in, changed records out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from shoal.table.prelude import Dealing, Generator, Partition, Progress, Records, StepResult
from shoal.vocabulary.registry import Scales


class Replacement(ABC):
    """Replaces columns of the records inside every group."""

    method_kind: ClassVar[str] = "replace"
    method_name: ClassVar[str]
    scales: ClassVar[Scales] = "blocks"

    @property
    def dealing(self) -> Dealing | None:
        """The redistribution of columns inside groups, for probabilistic k-anonymity; None if they are not."""
        return None

    @property
    def exchangeable(self) -> bool:
        """True if columns are dealt out anew inside groups (see `Grouping`)."""
        return self.dealing is not None

    @property
    def anew(self) -> bool:
        """True if new cells depend on a record's own only through its group and through columns that stay."""
        return self.exchangeable

    @property
    def predictors(self) -> tuple[str, ...] | None:
        """Columns that stay and that what a record gets depends on; None for all that the step does not replace."""
        return ()

    @property
    def whole_needed(self) -> str:
        """Why all records are needed at once, and what would not need them; empty if groups are replaced by blocks."""
        return ""

    @abstractmethod
    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        """Replace some columns group by group; all others stay as they are."""
