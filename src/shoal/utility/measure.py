"""The room of information loss."""

from typing import ClassVar

from shoal.measure import Measure


class UtilityMeasure(Measure):
    """A figure of information loss."""

    room: ClassVar[str] = "utility"
