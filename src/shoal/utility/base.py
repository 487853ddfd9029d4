"""Base of measures of information loss."""

from math import isfinite
from typing import Annotated, Any, ClassVar

from shoal.judges.base import Measure
from shoal.judges.evidence import Finding
from shoal.report.evidence import MeasureKind
from shoal.vocabulary.prelude import Columns, family

ROUNDING = 1e-12
"""Losses up to this come from arithmetic."""


class UtilityMeasure(Measure):
    """A figure of information loss."""

    method_kind: ClassVar[MeasureKind] = "utility"

    def tells_nothing(self, figure: float) -> bool:
        """True if a table in which everybody has the same record would have a figure as good as this one."""
        worst = self.limits[1 if self.better == "lower" else 0]
        return isfinite(worst) and figure == worst

    def finding(self, value: float, sentence: str, **more: Any) -> Finding:
        """The figure; what is a loss by rounding only is none."""
        return super().finding(without_rounding(value), sentence, **more)


@family
class OfColumns(UtilityMeasure):
    """A loss of columns.

    Parameters
    ----------
    columns
        By default the quasi-identifiers and confidential columns.
    """

    columns: Annotated[tuple[str, ...] | None, Columns()] = None


@family
class OfNumbers(OfColumns):
    """A loss of columns of numbers.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    """

    continuous = True


def without_rounding(change: float) -> float:
    """A change, or 0 where it is one by rounding only."""
    return 0.0 if abs(change) <= ROUNDING else change
