"""Sequential synthesis by trees."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.errors import ParameterError
from shoal.replace._trees import FEW, between


def records(frame: pl.DataFrame, **columns: object) -> Records:
    described = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame.columns}
    return Microdata.of(frame, described | columns).records


def whole(table: Records) -> Partition:
    return Partition(labels=np.zeros(len(table), dtype=np.int32))


def drawn(table: Records, method: object = None, partition: Partition | None = None, seed: int = 1) -> Records:
    method = method or shoal.Cart()
    return method.apply(table, table.names(), partition or whole(table), np.random.default_rng(seed)).records


def hospital(n: int = 3000) -> Records:
    rng = np.random.default_rng(5)
    sex = rng.choice(["f", "m"], n)
    age = rng.integers(0, 95, n)
    pregnant = np.where((sex == "f") & (age > 15) & (age < 45), rng.choice(["yes", "no"], n), "no")
    income = np.where(rng.random(n) < 0.3, 0.0, np.round(rng.lognormal(7, 1, n) * (1 + age / 50), 2))
    income = np.where(rng.random(n) < 0.1, np.nan, income)
    frame = pl.DataFrame({"sex": sex, "age": age, "pregnant": pregnant, "income": income})
    return records(frame.with_columns(pl.col("income").fill_nan(None)))


def test_the_joint_distribution_is_kept() -> None:
    """A line with noise in two groups: what a regression by group finds is found again."""
    rng = np.random.default_rng(1)
    group = rng.choice(["a", "b"], 5000)
    x = rng.normal(size=5000)
    y = np.where(group == "a", 2.0, -1.0) * x + 0.3 * rng.normal(size=5000)
    after = drawn(records(pl.DataFrame({"group": group, "x": x, "y": y})))
    codes, new_x, new_y = (after[name].values for name in ("group", "x", "y"))
    for code, slope in ((0, 2.0), (1, -1.0)):
        mine = codes == code
        assert np.polyfit(new_x[mine], new_y[mine], 1)[0] == pytest.approx(slope, abs=0.05)
        assert mine.mean() == pytest.approx((group == "ab"[code]).mean(), abs=0.03)


def test_what_cannot_be_does_not_come() -> None:
    """No pregnant men; no pregnant child or aged woman but where the tree's leaves are too coarse to know."""
    before = hospital()
    after = drawn(before)
    pregnant = after["pregnant"].values == after["pregnant"].categories.index("yes")
    male = after["sex"].values == after["sex"].categories.index("m")
    assert pregnant.any()
    assert not (pregnant & male).any()


def test_heaps_decimals_types_and_gaps_are_kept() -> None:
    before, after = hospital(), drawn(hospital())
    income, new = before["income"].values, after["income"].values
    assert np.isnan(new).mean() == pytest.approx(np.isnan(income).mean(), abs=0.02)
    assert (new == 0).mean() == pytest.approx((income == 0).mean(), abs=0.03)
    known = new[~np.isnan(new)]
    assert np.array_equal(known, np.round(known, 2))
    assert (after["age"].values == np.rint(after["age"].values)).all()


def test_rare_values_are_not_copied_and_extremes_not_given_away() -> None:
    before, after = hospital(), drawn(hospital())
    old, new = before["income"].values, after["income"].values
    old, new = old[old > 0], new[new > 0]
    assert np.isin(new, old).mean() < 0.02
    assert np.sort(old)[-FEW] >= new.max()


def test_numbers_between_neighbours_by_hand() -> None:
    """Ten 0s are a heap; 10, 20, 30 are drawn up to half-way to their neighbours, in whole numbers."""
    values = np.array([0.0] * 10 + [10.0, 20.0, 30.0])
    rng = np.random.default_rng(0)
    assert between(values, np.zeros(50), rng).tolist() == [0.0] * 50
    near = between(values, np.full(500, 20.0), rng)
    assert set(near) == set(range(15, 26))


def test_groups_have_trees_of_their_own() -> None:
    """The second half's categories do not reach the first."""
    table = records(pl.DataFrame({"a": ["x", "y"] * 50 + ["z", "w"] * 50, "b": np.arange(200) % 7}))
    after = drawn(table, partition=Partition(labels=np.repeat([0, 1], 100).astype(np.int32)))
    labels = np.array(after["a"].categories)[after["a"].values]
    assert set(labels[:100]) <= {"x", "y"}
    assert set(labels[100:]) <= {"z", "w"}


def test_given_columns_stay_and_predict() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=2000)
    table = records(pl.DataFrame({"x": x, "y": 3 * x + 0.1 * rng.normal(size=2000)}))
    method = shoal.Cart(given=["x"])
    after = method.apply(table, ["y"], whole(table), np.random.default_rng(1)).records
    assert np.array_equal(after["x"].values, x)
    assert np.corrcoef(after["x"].values, after["y"].values)[0, 1] > 0.99


def test_a_seed_repeats() -> None:
    table = hospital(300)
    once, again, other = (drawn(table, seed=s)["income"].values for s in (4, 4, 5))
    assert np.array_equal(once, again, equal_nan=True)
    assert not np.array_equal(once, other, equal_nan=True)


def test_one_record_and_a_column_without_values() -> None:
    table = records(pl.DataFrame({"a": ["x"], "b": [1.5], "c": pl.Series([None], dtype=pl.Float64)}))
    after = drawn(table)
    assert after["b"].values.tolist() == [1.5]
    assert np.isnan(after["c"].values).all()


def test_bad_orders_are_refused() -> None:
    table = hospital(50)
    with pytest.raises(ParameterError, match="order must name each of the step's columns once and no other"):
        drawn(table, shoal.Cart(order=["age", "sex"]))
    with pytest.raises(ParameterError, match="given names 'age', which the step replaces"):
        drawn(table, shoal.Cart(given=["age"]))
