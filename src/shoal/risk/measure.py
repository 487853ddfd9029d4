"""The room of disclosure risk."""

from typing import ClassVar

from shoal.measure import Measure


class RiskMeasure(Measure):
    """A figure of disclosure risk."""

    room: ClassVar[str] = "risk"
