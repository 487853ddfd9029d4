"""What all replacements share: a partition and records in, changed records out."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.step_result import StepResult


class Replacement(ABC):
    """Replaces the target columns of the records inside every group."""

    method_kind: ClassVar[str] = "replace"
    method_name: ClassVar[str]

    @abstractmethod
    def apply(
        self, records: Records, partition: Partition, rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        """Replace `records.targets` group by group; all other columns stay as they are."""
