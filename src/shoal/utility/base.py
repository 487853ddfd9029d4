"""The room of information loss."""

from typing import ClassVar

from shoal.judges.base import Measure


class UtilityMeasure(Measure):
    """A figure of information loss."""

    method_kind: ClassVar[str] = "utility"
