"""What all masking methods share: records in, changed records out."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from shoal.change import Change
from shoal.groups import Progress
from shoal.records import Records


class Mask(ABC):
    """Masks the target columns of the records, column by column or together."""

    room: ClassVar[str] = "mask"
    method_name: ClassVar[str]

    @abstractmethod
    def apply(self, records: Records, rng: np.random.Generator, progress: Progress = None) -> Change:
        """Mask `records.targets`; all other columns stay as they are."""
