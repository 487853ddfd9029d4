"""Sum of squared errors, plain, as a share of the total and range-normalised."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.judges.clipped import clipped_change
from shoal.judges.prelude import Finding, Generator, Longs, TablePair
from shoal.judges.space import Line, Points, column_of
from shoal.judges.table_pair import moved_constant
from shoal.utility.base import OfColumns
from shoal.vocabulary.prelude import ByColumn, Figure, NoFigure, in_digits, method, of_original, quoted


@method(
    "sse",
    title="Information loss by squared error",
    source="Domingo-Ferrer & Mateo-Sanz (2002); Soria-Comas et al. (2015), eq. 5",
)
class SSE(OfColumns):
    """Squared distance between original and released records.

    SSE sums the squared standardised mixed-level distances of the records to their released versions, SST those
    of the original records to their mean, and IL = 100 SSE / SST: 0 for an unchanged table, 100 for one in which
    everybody gets the mean, more where noise exceeds the data's own spread. The normalised SSE (Soria-Comas et
    al. 2015, eq. 5) is the mean over records and columns of the squared difference in units of the column's
    range.

    A cell that is missing in the release counts as if it had been replaced by the column's mean, a value recoded to a
    label that the original does not have as the mean of all values recoded alike. Leaving records out is no
    distortion: the loss is that of the records that are there, SST is taken down to their number, and the share left
    out stands beside it; or they count as moved to the mean, by which releases of different records compare.

    Parameters
    ----------
    figure
        Which of the three is the value; the others stand in the details.
    left_out
        What a record counts that the release does not have: nothing (`apart`), or as one moved to the mean (`mean`).
    """

    prominence = 60
    unchanged = 0.0
    headline = ", in per cent of the spread"
    cheap = True
    needs = ("versions",)
    among_releases: ClassVar[Mapping[str, Any]] = {"left_out": "mean"}

    figure: Literal["il", "sse", "normalised"] = "il"
    left_out: Literal["apart", "mean"] = "apart"

    def tells_nothing(self, figure: float) -> bool:
        return self.figure == "il" and figure >= 100.0

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        if not names or not len(original):
            raise NoFigure("There is no record, or no quasi-identifier or confidential column in both tables.")
        if self.left_out == "apart" and not len(released):
            raise NoFigure("Every record was left out.")
        place = pair.pairing
        if moved := [name for name in names if moved_constant(original[name], released[name])]:
            raise NoFigure(f"Constant in the original and yet changed, so there is no scale: {quoted(moved)}.")
        columns = zip(names, pair.space(names).columns)
        by_column = {name: self._squares(column, place) for name, column in columns}
        sse, sst = np.sum(list(by_column.values()), axis=0)
        if sse > 0 and sst == 0:
            raise NoFigure("All original records are equal, so the loss has no scale.")
        loss = 100.0 * sse / sst if sse > 0 else 0.0
        normalised = self._normalised(pair, names)
        missing = 1 - len(released) / len(original)
        beside = f"; {in_digits(100 * missing, 3)} % of them were left out" if missing > 0 else ""
        return self.finding(
            {"il": loss, "sse": float(sse), "normalised": normalised}[self.figure],
            f"The release moved the records by {in_digits(loss, 3)} % of their total spread around the mean{beside}.",
            by_column=ByColumn(
                of_original({n: 100.0 * e / t if t > 0 else 0.0 if e == 0 else None for n, (e, t) in by_column.items()})
            ),
            facts=of_original(
                {
                    "IL": loss,
                    "SSE": float(sse),
                    "SST": float(sst),
                    "normalised SSE": normalised,
                    "share of records left out": missing,
                }
            ),
        )

    def clipped(self, pair: TablePair) -> Figure | None:
        return clipped_change(pair, self.compared(pair), power=2)

    def _squares(self, column: Line | Points, place: Longs) -> tuple[float, float]:
        """SSE and SST of one column in the original's standardised embedding."""
        if isinstance(column, Points):
            from_mean = column.from_mean[column.before]
            errors = column.squares()[column.after, column.before[place]]
        else:
            x = column.before
            from_mean = (x - x.mean()) ** 2 if np.ptp(x) > 0 else np.zeros(len(x))  # no rounding where all are equal
            errors = (column.after - x[place]) ** 2
        if self.left_out == "apart":
            return float(errors.sum()), float(from_mean.sum()) * len(place) / len(from_mean)
        others = np.ones(len(from_mean), dtype=bool)
        others[place] = False
        return float(errors.sum() + from_mean[others].sum()), float(from_mean.sum())

    def _normalised(self, pair: TablePair, names: tuple[str, ...]) -> float:
        """Equation 5."""
        total = 0.0
        for name in names:
            column = replace(pair.before[name], scale="range", weight=1.0)
            total += self._squares(column_of(column, pair.released[name], pair.place), pair.pairing)[0]
        count = len(pair.released) if self.left_out == "apart" else len(pair.before)
        return total / (max(count, 1) * len(names))
