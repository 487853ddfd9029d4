"""What all replacements share: a partition and records in, changed records out."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from shoal.change import Change
from shoal.groups import Partition, Progress
from shoal.records import Records


class Replacement(ABC):
    """Replaces the target columns of the records inside every group."""

    room: ClassVar[str] = "replace"
    method_name: ClassVar[str]

    @abstractmethod
    def apply(
        self, records: Records, partition: Partition, rng: np.random.Generator, progress: Progress = None
    ) -> Change:
        """Replace `records.targets` group by group; all other columns stay as they are."""
