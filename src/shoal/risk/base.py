"""The room of disclosure risk."""

from typing import ClassVar

from shoal.judges.base import Measure


class RiskMeasure(Measure):
    """A figure of disclosure risk."""

    method_kind: ClassVar[str] = "risk"
