"""Released order and household numbers: the same from any cut of a table, and of no record that is not released."""

import numpy as np
import polars as pl

from shoal.plan import Plan
from shoal.run.carry_out import carry_out
from shoal.run.order import order_shares, released_order, unit_numbers

SEED = 5


def test_the_order_is_that_of_numbers_drawn_for_each_record() -> None:
    rows = np.sort(np.random.default_rng(1).permutation(5_000)[:3_000])
    order = released_order(rows, SEED)
    assert sorted(order) == list(range(3_000))
    assert (np.diff(order_shares(rows, SEED)[order]) > 0).all()


def test_a_record_has_its_place_among_others_whichever_they_are() -> None:
    rows = np.arange(2_000)
    whole = rows[released_order(rows, SEED)]
    some = np.random.default_rng(2).permutation(2_000)[:700]
    assert (some[released_order(some, SEED)] == whole[np.isin(whole, some)]).all()


def test_records_stay_in_the_order_of_their_rows_where_they_are_not_shuffled() -> None:
    assert released_order(np.array([30, 10, 20]), None).tolist() == [1, 2, 0]


def test_the_order_tells_nothing_of_rows() -> None:
    order = released_order(np.arange(20_000), SEED)
    assert abs(np.corrcoef(order, np.arange(20_000))[0, 1]) < 0.03
    assert (released_order(np.arange(20_000), SEED + 1) != order).mean() > 0.99


def test_household_numbers_are_those_from_1_in_random_order() -> None:
    numbers = unit_numbers(1_000, SEED, "household")
    assert sorted(numbers) == list(range(1, 1_001))
    assert abs(np.corrcoef(numbers, np.arange(1_000))[0, 1]) < 0.15


def test_household_numbers_do_not_depend_on_households_that_are_dropped() -> None:
    homes = [*range(100, 140), 1, 3, 999]
    frame = pl.DataFrame({"home": homes, "twin": homes, "x": [0.0] * 40 + [None] * 3})
    columns = {"home": "household", "twin": "other", "x": {"role": "quasi-identifier", "missing": "drop"}}
    plan = Plan.of({"columns": columns})
    some, alone = (carry_out(table, plan, SEED, None).finished.frame.to_native() for table in (frame, frame[:40]))
    assert sorted(some["home"]) == list(range(1, 41))
    assert some.sort("twin").equals(alone.sort("twin"))
