"""Interval disclosure in intervals that are wider for outlying people."""

from typing import Annotated

import numpy as np

from shoal.judges.base import by_record
from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.kernels.search.neighbours import neighbours
from shoal.risk.base import RiskMeasure
from shoal.table.robust_covariance import Ellipsoid, robust_ellipsoid
from shoal.vocabulary.prelude import Columns, Gt, NoFigure, OfOriginal, OfPlan, Setting, method, plural

WIDTH = 0.05
"""By which Templ and Meindl multiply every distance, beside `k`."""


@method(
    "robust-intervals",
    title="Interval disclosure weighted by outlyingness",
    source="Templ & Meindl (2008); Rousseeuw & Van Driessen (1999)",
)
class RobustIntervals(RiskMeasure):
    """Share of records of which some released value lies in an interval about the original one, wide for outliers.

    Who lies far out is found even by a released value that is not so near. So the interval to either side is `k`
    times .05 times the record's robust Mahalanobis distance from the mean, in standard deviations of the column;
    both tables are standardised by themselves (RMDID1 of Templ and Meindl). With `alone` only those records count
    that have no other released record within `near`, for among many alike nobody is found (RMDID2).

    The covariance is that of the most concentrated half of the records (minimum covariance determinant), reweighted.
    Differs from sdcMicro: no correction for small samples is applied to it.

    Parameters
    ----------
    columns
        Continuous columns; by default the quasi-identifiers and confidential columns that are continuous.
    k
        Width of the intervals.
    alone
        Whether only records count that have no other released one near.
    near
        Euclidean distance of standardised released records that counts as near.
    """

    needs = ("columns", "pairing", "records")
    continuous = True
    question = "inference"

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    k: Annotated[float, Gt(0), Setting()] = 0.01
    alone: bool = False
    near: Annotated[float, Gt(0), Setting()] = 0.05

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        x, y = pair.before.raw(names), pair.released.raw(names)
        complete, shown = (np.asarray(~np.isnan(table).any(axis=1)) for table in (x, y))
        rows = np.flatnonzero(complete[pair.pairing] & shown)
        if len(rows) <= len(names) + 1:
            raise NoFigure(f"Fewer than {plural(len(names) + 2, 'record')} are complete in these columns.")
        if (np.ptp(x[complete], axis=0) == 0).any() or (np.ptp(y[rows], axis=0) == 0).any():
            raise NoFigure("A column has one value for all, so there is no scale for its intervals.")
        before, after = _standardised(x[complete]), _standardised(y[rows])
        distance = np.full(len(x), np.nan)
        distance[complete] = robust_distances(before, rng)
        place = np.cumsum(complete) - 1  # of a complete original record among these
        reach = self.k * WIDTH * distance[pair.pairing[rows]]
        inside = (np.abs(after - before[place[pair.pairing[rows]]]) < reach[:, None]).any(axis=1)
        lonely = self._lonely(after)
        risky = inside & lonely if self.alone else inside
        return self.finding(
            float(risky.mean()),
            f"{int(risky.sum()):,} of {len(rows):,} records have a released value that lies within their own interval"
            f"{' and no other released record near' if self.alone else ''}.",
            facts={
                "records compared": OfOriginal(len(rows)),
                "inside an interval": OfOriginal(int(inside.sum())),
                "inside and alone": OfOriginal(int((inside & lonely).sum())),
                "mean distance of these records": OfOriginal(float(reach[risky].mean()) if risky.any() else None),
                "columns": OfPlan(list(names)),
            },
            record_risk=by_record(pair.released, rows, risky.astype(np.float64)),
        )

    def _lonely(self, after: Floats) -> np.ndarray:
        return np.asarray(neighbours(after, 1)[1][:, 0] > self.near**2)


def _standardised(x: Floats) -> Floats:
    return np.asarray((x - x.mean(axis=0)) / x.std(axis=0, ddof=1))


def robust_distances(x: Floats, rng: Generator) -> Floats:
    """Mahalanobis distances from the mean, in the reweighted minimum-determinant covariance.

    `x`: shape (n, d), complete, n > d + 1. NoFigure if half of the records lie in a space of fewer dimensions.
    """
    covariance = robust_ellipsoid(x, rng).covariance
    return np.sqrt(Ellipsoid(centre=x.mean(axis=0), covariance=covariance).squares(x))
