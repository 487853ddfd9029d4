"""Sequential synthesis by trees."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.replace._trees.smoothing import FEW, LONGEST, Smoother, tail
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, ParameterError


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


def test_rare_values_are_not_copied_and_none_lies_beyond_the_largest() -> None:
    before, after = hospital(), drawn(hospital())
    old, new = before["income"].values, after["income"].values
    old, new = old[old > 0], new[new > 0]
    assert np.isin(new, old).mean() < 0.02
    assert old.max() > new.max()


def test_extremes_by_hand() -> None:
    """Beyond 15 lie 1, 2, 3, 4 and 10, on average 4. The next spacings are 1; times their ranks 6 to 20 that is 13."""
    ascending = np.array([*range(16), 16.0, 17.0, 18.0, 19.0, 25.0])
    assert tail(ascending) == (15.0, 15.0, 23.0)
    assert tail(np.append(ascending[:-1], 1e6)) == (15.0, 15.0, 15 + 2 * LONGEST * np.arange(6, 21).mean())


def test_extremes_keep_their_mean() -> None:
    values = np.random.default_rng(2).normal(size=400)
    for sign in (1.0, -1.0):
        extremes = np.sort(sign * values)[-FEW:]
        new = sign * Smoother.of(values).between(np.tile(sign * extremes, 2000), np.random.default_rng(0))
        assert new.mean() == pytest.approx(extremes.mean(), abs=0.02)
        assert new.max() <= extremes.max()
        assert not np.isin(new, extremes).any()


def test_how_far_a_value_lies_beyond_all_others_changes_nothing() -> None:
    values = np.sort(np.random.default_rng(2).lognormal(10, 1, 400).round(2))
    far, farther = (np.append(values[:-1], 10.0**power) for power in (8, 9))
    first, second = (Smoother.of(x).between(x[-50:], np.random.default_rng(0)) for x in (far, farther))
    assert first.tolist() == second.tolist()
    assert first.max() < 1e8 / 50


@pytest.mark.parametrize("copies", [1, 2, FEW])
def test_extremes_of_columns_with_few_values(copies: int) -> None:
    """Ties from one end to the other: what is drawn stays inside the column, and heaps stay as they are."""
    values = np.repeat(np.arange(-30.0, 30.0), copies)
    values = np.concatenate([values, np.full(40, 29.0), [31.0]])
    new = Smoother.of(values).between(np.tile(values, 20), np.random.default_rng(1))
    assert values.min() <= new.min() and new.max() <= values.max()
    assert (new[np.tile(values, 20) == 29.0] == 29.0).all()


def test_numbers_between_neighbours_by_hand() -> None:
    """Ten 0s are a heap; 10, 20, 31 are drawn up to half-way to their neighbours, in whole numbers."""
    values = np.array([0.0] * 10 + [10.0, 20.0, 31.0])
    rng = np.random.default_rng(0)
    assert Smoother.of(values).between(np.zeros(50), rng).tolist() == [0.0] * 50
    near = Smoother.of(values).between(np.full(500, 20.0), rng)
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


def census(n: int = 4000) -> pl.DataFrame:
    """Children have no income ('N'), students may have none (0), and incomes are written with one decimal."""
    rng = np.random.default_rng(9)
    age = rng.integers(0, 90, n)
    income = np.where(rng.random(n) < 0.2, 0, np.round(rng.lognormal(9, 1, n), -1))
    text = np.where(age < 15, "N", np.array([f"{x:.1f}" for x in income]))
    married = np.where(age < 15, "N", rng.choice(["yes", "no"], n))
    return pl.DataFrame({"age": age, "married": married, "income": text})


def test_text_that_holds_numbers_is_drawn_as_numbers() -> None:
    table = records(census())
    after = drawn(table, shoal.Cart(numbers=["income"]))
    old, new = (np.array(t["income"].categories)[t["income"].values] for t in (table, after))
    assert abs((new == "N").mean() - (old == "N").mean()) < 0.03
    assert abs((new == "0.0").mean() - (old == "0.0").mean()) < 0.04
    numbers = np.array([float(x) for x in new if x != "N"])
    assert all(f"{x:.1f}" == text for x, text in zip(numbers, new[new != "N"]))
    assert (numbers % 10 == 0).all()  # as the incomes are
    assert set(new) - set(old)  # numbers that nobody had
    assert np.median(numbers) == pytest.approx(np.median([float(x) for x in old if x != "N"]), rel=0.1)


def test_no_child_has_an_income_or_a_spouse() -> None:
    after = drawn(records(census()), shoal.Cart(numbers=["income"]))
    young = after["age"].values < 15
    for name in ("married", "income"):
        none = np.array(after[name].categories)[after[name].values] == "N"
        assert np.array_equal(none, young)


def test_a_column_without_a_number_is_refused() -> None:
    with pytest.raises(DataError, match="Column 'married' is named in numbers, but no cell of it holds one"):
        drawn(records(pl.DataFrame({"married": ["yes", "no"]})), shoal.Cart(numbers=["married"]))


def test_each_default_can_be_switched_off() -> None:
    before = hospital()
    plain = drawn(before, shoal.Cart(smooth=False))
    income, new = before["income"].values, plain["income"].values
    assert np.isin(new[~np.isnan(new)], income).all()
    rng = np.random.default_rng(2)
    sides = rng.choice(["a", "b"], 400)
    table = records(pl.DataFrame({"x": sides, "y": np.where(sides == "a", "c", rng.choice(["c", "d"], 400))}))

    def impossible(method: shoal.Cart) -> int:
        after = drawn(table, method)
        return int(((after["x"].values == 0) & (after["y"].values == after["y"].categories.index("d"))).sum())

    one_leaf = {"min_leaf": 400}  # a tree without splits knows nothing of x
    assert impossible(shoal.Cart(exclude=False, **one_leaf)) > 10
    assert impossible(shoal.Cart(**one_leaf)) == 0


def test_the_group_as_a_predictor_of_one_model() -> None:
    """The groups' levels are found again, and small groups, which alone could grow no tree, learn from the others."""
    rng = np.random.default_rng(4)
    labels = np.repeat(np.arange(4), 250)
    x = rng.normal(size=1000)
    table = records(pl.DataFrame({"x": x, "y": 10.0 * labels + x + 0.1 * rng.normal(size=1000)}))
    part = Partition(labels=labels.astype(np.int32))
    after = drawn(table, shoal.Cart(groups="predictor"), part)
    for group in range(4):
        mine = labels == group
        assert after["y"].values[mine].mean() == pytest.approx(10 * group, abs=0.5)
    whole_table = drawn(table, shoal.Cart(), whole(table))
    assert abs(whole_table["y"].values[labels == 0].mean() - 15) < 2


def test_leaves_hold_records_of_different_persons() -> None:
    """One person has sixty records at an x of 100 or more, and an illness of his own; no leaf is his alone."""
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(0, 50, 400), rng.uniform(100, 101, 60)])
    frame = pl.DataFrame({"x": x, "ill": ["a", "b"] * 200 + ["his"] * 60, "who": [*(np.arange(400) // 4), *[900] * 60]})
    shares = {}
    for method in (shoal.Cart(exclude=False, smooth=False), shoal.Forest(exclude=False, smooth=False, trees=5)):
        for role in ("other", "person"):
            before = records(frame, who=role)
            after = method.apply(before, ("x", "ill"), whole(before), np.random.default_rng(1)).records
            his = np.array(after["ill"].categories)[after["ill"].values] == "his"
            shares[role] = his[after["x"].values > 60].mean()
        assert shares["other"] > 0.9
        assert shares["person"] < 0.6
    largest = {role: drawn(records(frame, who=role))["x"].values.max() for role in ("other", "person")}
    assert largest["person"] < 60 < largest["other"]
