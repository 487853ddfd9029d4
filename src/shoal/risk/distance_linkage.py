"""Distance-based record linkage (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001)."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge

from shoal.errors import quoted
from shoal.judges.base import Need, by_record
from shoal.judges.evidence import Finding
from shoal.judges.intervals import proportion_interval
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats
from shoal.kernels.search.nearest import NO_LIMIT, link
from shoal.methods import method
from shoal.parameters import Columns
from shoal.risk.base import RiskMeasure

EFFORT = 300_000_000_000
"""Points times (dimensions + OVERHEAD) that a minute can look at (bench/judgement.py)."""

OVERHEAD = 50
"""What a point costs beyond its dimensions, in dimensions."""


@method(
    "distance-linkage",
    title="Records found again by distance",
    source="Pagliuca & Seri (1999); Domingo-Ferrer & Torra (2001)",
)
class DistanceLinkage(RiskMeasure):
    """Share of released records whose nearest original record is the one they came from.

    The attacker knows the original values of the quasi-identifiers and links each released record to the
    nearest original one (or, in the other direction, looks each known person up among the released records).
    Where t records are equally near and the true one is among them, the link is right with probability 1/t.
    A guess at random is right with probability 1/n. A missing value counts as the column's mean, a
    recoded one as the mean of all that were recoded alike.

    Parameters
    ----------
    columns
        What the attacker knows; by default the quasi-identifiers.
    metric
        Distance of standardised, mixed-level records, or Mahalanobis distance in the original's covariance
        (directions without variance are left out).
    direction
        Who is looked up where.
    sample
        Attack so many records, drawn at random; by default as many as a minute allows, which is all but in large
        tables of many columns.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    needs: ClassVar[tuple[Need, ...]] = ("columns", "pairing", "records")
    roles: ClassVar[tuple[str, ...]] = ("quasi-identifier",)
    cheap: ClassVar[bool] = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    metric: Literal["euclidean", "mahalanobis"] = "euclidean"
    direction: Literal["released to original", "original to released"] = "released to original"
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        names, place = self.compared(pair), pair.pairing
        x, y = pair.embedded(names)
        if self.metric == "mahalanobis":
            x, y = _whitened(x, y)
        truth = place
        if self.direction == "original to released":
            x, y, truth = y, x[place], np.arange(len(y))
        rows = rng.permutation(len(y))[: self.sample]
        allowed = EFFORT // (x.shape[1] + OVERHEAD) if self.sample is None else NO_LIMIT
        chances = link(x, y[rows], truth[rows], allowed)
        in_order = np.argsort(rows[: len(chances)])
        rows, chances = rows[in_order], chances[in_order]
        hits, trials = float(chances.sum()), len(rows)
        interval = proportion_interval(hits, trials)
        return self.finding(
            hits / trials,
            f"Someone who knows {quoted(names)} of everybody finds {100 * hits / trials:.1f} % of the records "
            f"again by distance; guessing finds {100 / len(x):.3g} %.",
            interval=interval,
            facts={
                "records attacked": trials,
                "candidates": len(x),
                "by chance": 1 / len(x),
                "columns": list(names),
                "metric": self.metric,
                "direction": self.direction,
            },
            record_risk=by_record(pair.released, rows, chances),
        )


def _whitened(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both tables in coordinates in which the original's covariance is the identity."""
    centre = x.mean(axis=0)
    covariance = np.atleast_2d(np.cov(x - centre, rowvar=False)) if len(x) > 1 else np.zeros((x.shape[1],) * 2)
    values, vectors = np.linalg.eigh(covariance)
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(float).eps * 100
    turn = vectors[:, kept] / np.sqrt(values[kept])
    return (x - centre) @ turn, (y - centre) @ turn
