"""Sum of squared errors, plain, as a share of the total and range-normalised."""

from dataclasses import replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.data.records import Records
from shoal.errors import NoFigure, quoted
from shoal.facts import ByColumn
from shoal.judges.clipped import clipped_change
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair, embedded, moved_constant
from shoal.kernels.arrays import Floats, Longs
from shoal.methods import method
from shoal.parameters import Columns
from shoal.utility.base import UtilityMeasure


@method(
    "sse",
    title="Information loss by squared error",
    source="Domingo-Ferrer & Mateo-Sanz (2002); Soria-Comas et al. (2015), eq. 5",
)
class SSE(UtilityMeasure):
    """Squared distance between original and released records.

    SSE sums the squared standardised mixed-level distances of the records to their released versions, SST those
    of the original records to their mean, and IL = 100 SSE / SST: 0 for an unchanged table, 100 for one in which
    everybody gets the mean, more where noise exceeds the data's own spread. The normalised SSE (Soria-Comas et
    al. 2015, eq. 5) is the mean over records and columns of the squared difference in units of the column's
    range.

    Suppression is loss: a record that is not in the release, or a cell that is missing there, counts as if it had
    been replaced by the column's mean. A value recoded to a label that the original does not have counts as the mean of
    all values recoded alike.

    Parameters
    ----------
    columns
        By default the quasi-identifiers and confidential columns.
    figure
        Which of the three is the value; the others stand in the details.
    """

    cheap: ClassVar[bool] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    figure: Literal["il", "sse", "normalised"] = "il"

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        original, released = pair.before, pair.released
        names = self.compared(pair)
        if not names or not len(original):
            raise NoFigure("There is no record, or no quasi-identifier or confidential column in both tables.")
        place = pair.pairing
        if moved := [name for name in names if moved_constant(original[name], released[name])]:
            raise NoFigure(f"Constant in the original and yet changed, so there is no scale: {quoted(moved)}.")
        by_column = {name: _squares(original, released, place, name) for name in names}
        sse, sst = np.sum(list(by_column.values()), axis=0)
        if sse > 0 and sst == 0:
            raise NoFigure("All original records are equal, so the loss has no scale.")
        loss = 100.0 * sse / sst if sse > 0 else 0.0
        normalised = _normalised(original, released, place, names)
        return self.finding(
            {"il": loss, "sse": float(sse), "normalised": normalised}[self.figure],
            f"The release moved the records by {loss:.3g} % of their total spread around the mean.",
            clipped=clipped_change(pair, names, power=2),
            by_column=ByColumn(
                {n: 100.0 * e / t if t > 0 else 0.0 if e == 0 else None for n, (e, t) in by_column.items()}
            ),
            facts={
                "IL": loss,
                "SSE": float(sse),
                "SST": float(sst),
                "normalised SSE": normalised,
                "share of records left out": 1 - len(released) / len(original),
            },
        )


def _squares(original: Records, released: Records, place: Longs, name: str) -> tuple[float, float]:
    """SSE and SST of one column in the original's standardised embedding."""
    x, y = embedded(original, released, [name], place)
    spread = np.where(np.ptp(x, axis=0) > 0, x - x.mean(axis=0), 0.0)  # no rounding where all are equal
    return float(_errors(x, y, place).sum()), float((spread**2).sum())


def _errors(x: Floats, y: Floats, place: Longs) -> Floats:
    """Shape (n, m); squared changes of all original records, those left out moved to the mean."""
    after = np.broadcast_to(x.mean(axis=0), x.shape).copy()
    after[place] = y
    return np.asarray((x - after) ** 2)


def _normalised(original: Records, released: Records, place: Longs, names: tuple[str, ...]) -> float:
    """Equation 5."""
    total = 0.0
    for name in names:
        column = replace(original[name], scale="range", weight=1.0)
        x, y = embedded(original.with_variables(column), released, [name], place)
        total += float(_errors(x, y, place).sum())
    return total / (len(original) * len(names))
