"""The room of disclosure risk."""

from typing import ClassVar

from shoal.judges.base import Measure
from shoal.report.evidence import MeasureKind


class RiskMeasure(Measure):
    """A figure of disclosure risk."""

    method_kind: ClassVar[MeasureKind] = "risk"
    limits = (0.0, 1.0)
