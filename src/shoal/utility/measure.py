"""What all measures of information loss share: two tables in, one frozen figure out."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from shoal.evidence import Finding, Measuring
from shoal.groups import Partition
from shoal.microdata import as_records
from shoal.records import Records


class UtilityMeasure(Measuring, ABC):
    """A figure of information loss; it knows the tables, never the method that made them."""

    room: ClassVar[str] = "utility"
    cheap: ClassVar[bool] = False
    """Whether the figure is quick enough to stand in every report."""

    @abstractmethod
    def judge(
        self,
        original: Records,
        released: Records,
        partition: Partition | None,
        rng: np.random.Generator,
    ) -> Finding:
        """The figure for records of the same people in the same order.

        `released.rows` says which original records are still there.
        """

    def measure(
        self,
        original: Any,
        released: Any,
        *,
        confidential: Any = None,
        partition: Partition | None = None,
        seed: int | np.random.Generator | None = 0,
    ) -> Finding:
        """The figure for two data frames, arrays, Microdata or Records.

        All columns of an array or frame count as quasi-identifiers, but for those that `confidential` names.
        """
        before, after = as_records(original, confidential), as_records(released, confidential)
        return self.judge(before, after, partition, np.random.default_rng(seed))
