"""Interval disclosure in intervals that are wider for outlying people."""

from typing import Annotated

import numpy as np

from shoal.judges.base import by_record
from shoal.judges.prelude import Finding, Floats, Generator, Longs, TablePair
from shoal.kernels.draws import drawn_rows
from shoal.kernels.search.neighbours import neighbours
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Gt, NoFigure, OfOriginal, OfPlan, Setting, method, plural

WIDTH = 0.05
"""By which Templ and Meindl multiply every distance, beside `k`."""

STARTS, STEPS, BEST = 200, 2, 10
"""Subsets the search begins with, steps that all of them make, and how many go on to the end (Rousseeuw & Van Driessen
1999)."""

MOST_RECORDS = 2_000
"""Records in which the most concentrated half is looked for; more than these change the estimate little."""

CUT = 0.975
"""Quantile of the squared distances up to which records count in the reweighted estimate."""


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
    from scipy.special import gammaincinv

    n, d = x.shape
    sample = x[drawn_rows(rng, n, MOST_RECORDS)]
    half = (len(sample) + d + 1) // 2
    subsets = [_concentrated(sample, rng.choice(len(sample), d + 1, replace=False), half, STEPS) for _ in range(STARTS)]
    best = sorted(subsets, key=lambda rows: _log_determinant(sample[rows]))[:BEST]
    final = min(
        (_concentrated(sample, rows, half, len(sample)) for rows in best),
        key=lambda rows: _log_determinant(sample[rows]),
    )
    raw = np.atleast_2d(np.cov(sample[final], rowvar=False)) * _consistency(half / len(sample), d)
    square = _square(x, sample[final].mean(axis=0), raw)
    kept = x[square <= 2 * gammaincinv(d / 2, CUT)]
    if len(kept) <= d + 1:
        raise NoFigure("Too few records lie near the middle for a robust covariance.")
    covariance = np.atleast_2d(np.cov(kept, rowvar=False)) * _consistency(CUT, d)
    return np.sqrt(_square(x, x.mean(axis=0), covariance))


def _concentrated(x: Floats, rows: Longs, half: int, steps: int) -> Longs:
    """The rows nearest to the mean of some rows in their covariance, again and again until they are the same."""
    for _ in range(steps):
        part = x[rows]
        covariance = np.atleast_2d(np.cov(part, rowvar=False)) + 1e-12 * np.eye(x.shape[1])
        nearest = np.sort(np.argsort(_square(x, part.mean(axis=0), covariance), kind="stable")[:half])
        if np.array_equal(nearest, rows):
            break
        rows = nearest
    return rows


def _log_determinant(part: Floats) -> float:
    return float(np.linalg.slogdet(np.atleast_2d(np.cov(part, rowvar=False)))[1])


def _square(x: Floats, centre: Floats, covariance: Floats) -> Floats:
    """Shape (n,); squared distances."""
    if np.linalg.matrix_rank(covariance) < len(covariance):
        raise NoFigure("At least half of the records lie in a space of fewer dimensions than there are columns.")
    shifted = x - centre
    return np.asarray((shifted * np.linalg.solve(covariance, shifted.T).T).sum(axis=1))


def _consistency(share: float, d: int) -> float:
    """By which the covariance of the innermost share of normal records falls short (Croux & Haesbroeck 1999)."""
    from scipy.special import gammainc, gammaincinv

    cut = 2 * gammaincinv(d / 2, share)
    return float(share / gammainc(d / 2 + 1, cut / 2))
