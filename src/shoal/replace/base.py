"""What all replacements share: a partition and records in, changed records out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.step_result import Dealing, StepResult


class Replacement(ABC):
    """Replaces columns of the records inside every group."""

    method_kind: ClassVar[str] = "replace"
    method_name: ClassVar[str]

    @property
    def dealing(self) -> Dealing | None:
        """How columns are dealt out anew inside groups, which probabilistic k-anonymity needs; None if they are not."""
        return None

    @property
    def exchangeable(self) -> bool:
        """Whether columns are dealt out anew inside groups (see `Grouping`)."""
        return self.dealing is not None

    @property
    def anew(self) -> bool:
        """Whether what a record gets depends on its own cells by its group, and by columns that stay, alone."""
        return self.exchangeable

    @property
    def predictors(self) -> tuple[str, ...] | None:
        """Columns that stay and that what a record gets depends on; None for all that the step does not replace."""
        return ()

    @abstractmethod
    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        """Replace some columns group by group; all others stay as they are."""
