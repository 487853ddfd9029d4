"""Predicates that single out, and what chance makes of them in a population of another size."""

import numpy as np
import polars as pl
import pytest

from shoal.judges.mixed_columns import MixedColumns
from shoal.judges.predicates import random_predicates, singling_out_predicates, success_at
from shoal.kernels.risk.predicates import HIGHEST, LOWEST, MISSING, predicate_counts
from shoal.table.microdata import Microdata

FRAME = pl.DataFrame({"age": [3.0, 5.0, 5.0, 9.0], "sex": ["f", "f", "m", "f"], "ill": ["y", None, "y", "y"]})
ROLES = {name: {"role": "quasi-identifier", "missing": "keep"} for name in FRAME.columns}


def columns(*frames):
    return MixedColumns.of(FRAME.columns, *(Microdata.of(frame, ROLES).records for frame in frames))


def test_one_column_by_hand():
    """3, 9, at most 3, at least 9, a man, and the one whose illness is missing."""
    cells = columns(FRAME)
    predicates, tried = singling_out_predicates(cells, 1, 100, 100, False, np.random.default_rng(1))
    terms = sorted(zip(predicates.columns[:, 0].tolist(), predicates.low[:, 0], predicates.high[:, 0]))
    man = cells.tables[0][1, 2]
    assert terms == [(0, LOWEST, 3), (0, 3, 3), (0, 9, 9), (0, 9, HIGHEST), (1, man, man), (2, MISSING, MISSING)]
    assert tried == 6
    visible, _ = singling_out_predicates(cells, 1, 100, 100, True, np.random.default_rng(1))
    assert len(visible) == 5
    assert len(singling_out_predicates(cells, 1, 2, 100, False, np.random.default_rng(1))[0]) == 2


def test_several_columns_single_out_and_point_away_from_the_median():
    cells = columns(FRAME)
    predicates, tried = singling_out_predicates(cells, 2, 50, 2_000, False, np.random.default_rng(2))
    assert (predicate_counts(cells.tables[0], predicates) == 1).all()
    assert len(predicates.distinct()) == len(predicates)
    assert tried == 2_000  # there are fewer than 50
    ages = predicates.columns == 0
    low, high = predicates.low[ages], predicates.high[ages]
    assert set(zip(low.tolist(), high.tolist())) <= {(LOWEST, 3), (LOWEST, 5), (9, HIGHEST)}
    again, _ = singling_out_predicates(cells, 2, 50, 2_000, False, np.random.default_rng(2))
    assert again.low.tolist() == predicates.low.tolist()


def test_random_predicates_hold_of_some_records_by_chance():
    cells = columns(FRAME)
    guesses = random_predicates(cells, 2, 400, False, np.random.default_rng(3))
    counts = predicate_counts(cells.tables[0], guesses)
    assert {0, 1, 2, 3, 4} >= set(counts.tolist()) >= {0, 1, 2}
    assert guesses.outside.any()
    blind = random_predicates(cells, 2, 400, True, np.random.default_rng(3))
    assert not (blind.low == MISSING).any()


def test_ordinal_columns_have_an_order_and_new_labels_none():
    ordinal = {"x": {"role": "quasi-identifier", "level": "ordinal", "order": ["low", "mid", "high"]}}
    one = Microdata.of(pl.DataFrame({"x": ["low", "mid", "high"]}), ordinal).records
    cells = MixedColumns.of(["x"], one, one.take(np.array([2, 0])))
    assert cells.ordered.tolist() == [True]
    assert cells.scale.tolist() == [0.5]
    assert cells.tables[1].tolist() == [[2, 0]]
    recoded = Microdata.of(
        pl.DataFrame({"x": ["low", "mid or high"]}), {"x": {**ordinal["x"], "order": ["low", "mid or high"]}}
    ).records
    assert MixedColumns.of(["x"], one, recoded).ordered.tolist() == [False]
    assert MixedColumns.of(["x"], one, recoded).scale.tolist() == [0]


@pytest.mark.parametrize("weight", [2e-5, 2e-4, 2e-3])
def test_success_by_chance_follows_the_population(weight):
    """Predicates of weights spread evenly up to w single out of 20 000 people as their counts among 5 000 foretell."""
    rng = np.random.default_rng(4)
    weights = rng.uniform(0, weight, 200_000)
    small, large = (rng.binomial(n, weights) for n in (5_000, 20_000))
    assert success_at(small, 5_000, 20_000) == pytest.approx((large == 1).sum(), rel=0.06)
    assert success_at(small, 5_000, 5_000) == (small == 1).sum()


def test_no_success_stays_none():
    assert success_at(np.zeros(10, dtype=np.int64), 50, 100) == 0
    assert success_at(np.full(10, 50), 50, 100) == 0
    assert success_at(np.array([1]), 1, 100) <= 1
