"""Predicates that single people out, and the rate at which random predicates do."""

import numpy as np

from shoal.judges.mixed_columns import MixedColumns
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.elementary import exp, log, log1p, log_gamma
from shoal.kernels.risk.predicates import HIGHEST, LOWEST, MISSING, Predicates, predicate_counts

BATCH = 1_000
"""Random predicates that are tried at a time."""

SIZES = 10
"""Sizes of subsamples to which the model of success by chance is fitted, as in Giomi et al."""

SMALLEST_SAMPLE = 1_000
"""Size of the smallest of these subsamples, as there; a tenth of a smaller table."""


def singling_out_predicates(
    cells: MixedColumns, size: int, most: int, tries: int, skip_missing: bool, rng: np.random.Generator
) -> tuple[Predicates, int]:
    """Distinct predicates that exactly one record of the first table satisfies, and the number tried.

    `size`: columns of a predicate; `most`: number of predicates to find; `skip_missing`: True to make no predicate of a
    missing cell.
    """
    released = cells.tables[0]
    if size == 1:
        every = _rare_values(cells, skip_missing)
        return every.take(rng.permutation(len(every))[:most]), len(every)
    middles = np.array(
        [np.median(column[column != MISSING]) if (column != MISSING).any() else 0.0 for column in released]
    )
    empty = np.empty((0, size))
    predicates = Predicates(columns=empty.astype(np.int32), low=empty, high=empty, outside=empty.astype(bool))
    tried = 0
    while len(predicates) < most and tried < tries:
        batch = _of_records(cells, middles, size, min(BATCH, tries - tried), skip_missing, rng)
        tried += min(BATCH, tries - tried)
        singling_out = batch.take(predicate_counts(released, batch, limit=2) == 1)
        predicates = predicates.with_more(singling_out).distinct()
    return predicates.take(np.arange(min(most, len(predicates)))), tried


def _rare_values(cells: MixedColumns, skip_missing: bool) -> Predicates:
    """Values that occur once, a single missing cell, and the ends of ordered columns where one record is there."""
    parts = []
    for j, column in enumerate(cells.tables[0]):
        values, counts = np.unique(column, return_counts=True)
        if skip_missing:
            values, counts = values[values != MISSING], counts[values != MISSING]
        once = values[counts == 1]
        parts.append(np.column_stack([np.full(len(once), j), once, once]))
        present = values != MISSING
        if cells.ordered[j] and present.any():
            ends = np.array([[j, LOWEST, values[present][0]], [j, values[present][-1], HIGHEST]])
            parts.append(ends[counts[present][[0, -1]] == 1])
    table = np.concatenate(parts)
    return Predicates(
        columns=table[:, :1].astype(np.int32),
        low=table[:, 1:2],
        high=table[:, 2:],
        outside=np.zeros((len(table), 1), dtype=bool),
    )


def _of_records(
    cells: MixedColumns, middles: Floats, size: int, count: int, skip_missing: bool, rng: np.random.Generator
) -> Predicates:
    """Predicates from the cells of random records in random columns; in ordered columns, as extreme or more so."""
    released = cells.tables[0]
    rows = rng.integers(released.shape[1], size=count)
    columns = _random_columns(released.shape[0], size, count, rng)
    values = released[columns, rows[:, None]]
    missing = values == MISSING
    extreme = cells.ordered[columns] & ~missing
    above = values > middles[columns]
    low = np.where(extreme & ~above, LOWEST, values)
    high = np.where(extreme & above, HIGHEST, values)
    predicates = Predicates(columns=columns, low=low, high=high, outside=np.zeros_like(missing))
    return predicates.take(~missing.any(axis=1)) if skip_missing else predicates


def random_predicates(
    cells: MixedColumns, size: int, count: int, skip_missing: bool, rng: np.random.Generator
) -> Predicates:
    """Random columns, values that occur in them, and relations: the guesses of someone without knowledge."""
    released = cells.tables[0]
    columns = _random_columns(released.shape[0], size, count, rng)
    low, high, outside = np.empty((count, size)), np.empty((count, size)), np.zeros((count, size), dtype=bool)
    values = [np.unique(column) for column in released]
    if skip_missing:
        values = [distinct[distinct != MISSING] if (distinct != MISSING).any() else distinct for distinct in values]
    for q, t in np.ndindex(count, size):
        j = int(columns[q, t])
        value = float(rng.choice(values[j]))
        relation = rng.integers(6 if cells.ordered[j] and value != MISSING else 2)
        low[q, t], high[q, t], outside[q, t] = _relation(value, int(relation))
    return Predicates(columns=columns, low=low, high=high, outside=outside)


def _relation(value: float, relation: int) -> tuple[float, float, bool]:
    """The relations ==, !=, <, <=, > and >= as intervals; not missing is any value."""
    if value == MISSING:
        return (MISSING, MISSING, False) if relation == 0 else (LOWEST, HIGHEST, False)
    below, above = float(np.nextafter(value, LOWEST)), float(np.nextafter(value, HIGHEST))
    return (
        (value, value, False),
        (value, value, True),
        (LOWEST, below, False),
        (LOWEST, value, False),
        (above, HIGHEST, False),
        (value, HIGHEST, False),
    )[relation]


def _random_columns(d: int, size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Shape (count, size); different columns in ascending order."""
    return np.sort(np.argsort(rng.random((count, d)), axis=1)[:, :size], axis=1).astype(np.int32)


def success_at(counts: Longs, n: int, size: int) -> float:
    """Number of predicates that would single someone out of `size` people, estimated from n of them.

    `counts`, shape (q,): of the n people, how many satisfy each predicate.

    Notes
    -----
    Giomi et al. (2023), section 3.1: predicates of weights spread evenly up to w single out of a population of s
    as often as c times the integral of s v (1 - v)^(s - 1) over v from 0 to w. c and w are fitted to the expected
    numbers of successes in subsamples of ten sizes, which follow from the counts: the hypergeometric chance that
    one of a predicate's people is drawn and no other.
    """
    right = float((counts == 1).sum())
    if n == size or not counts.any():
        return right
    sizes = np.unique(np.linspace(max(1, min(SMALLEST_SAMPLE, n // 10)), n, SIZES).astype(np.int64))
    expected = np.array([_expected(counts, n, int(s)) for s in sizes])
    weight = _fitted_weight(sizes, expected)
    return min(float(len(counts)), right * float(_integral(size, weight) / _integral(n, weight)))


def _expected(counts: Longs, n: int, s: int) -> float:
    """Expected number of predicates that exactly one of s people drawn from n satisfies."""
    values, times = np.unique(counts[counts > 0], return_counts=True)
    chances = [
        c * float(exp(_log_ways(n - c, s - 1) - _log_ways(n, s))) if n - c >= s - 1 else 0.0 for c in values.tolist()
    ]
    return float((times * np.array(chances)).sum())


def _log_ways(n: int, k: int) -> float:
    return float(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1))


def _integral(s: float | np.ndarray, w: float) -> Floats:
    """The integral of s v (1 - v)^(s - 1) from 0 to w."""
    s = np.asarray(s, dtype=np.float64)
    return np.asarray((1 - (s * w + 1) * exp(s * log1p(-w))) / (s + 1))


def _fitted_weight(sizes: Longs, expected: Floats) -> float:
    """The w whose curve fits best in least squares; the factor c is the best one for each w."""
    from scipy.optimize import minimize_scalar

    def loss(log_w: float) -> float:
        curve = _integral(sizes, float(exp(log_w)))
        factor = (curve * expected).sum() / (curve**2).sum()
        return float(((factor * curve - expected) ** 2).sum())

    ends = (float(log(1e-3 / sizes[-1])), float(log(0.5)))
    return float(exp(minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-8}).x))
