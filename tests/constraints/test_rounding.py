"""Controlled rounding: whole numbers, rules kept, as near as can be."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.constraints import Constraints
from shoal.constraints.repair import distinct_records
from shoal.constraints.rounding import DecimalGrid, rounded
from shoal.constraints.system import PossibleValues
from shoal.table.records import Records

NAMES = ["a", "b", "c", "s", "d", "t"]
NESTED = ["a + b + c == s", "s + d == t"]


def feasible(seed: int, n: int = 12) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.normal(0, 30, (4, n))
    return np.column_stack([a, b, c, a + b + c, d, a + b + c + d])


@given(st.integers(0, 300), st.integers(0, 2))
def test_nested_sums_stay_sums(seed: int, decimals: int) -> None:
    table = Records.from_array(feasible(seed), names=NAMES)
    after = Constraints.parse(NESTED, table).round(table, dict.fromkeys(NAMES, decimals)).raw()
    units = after * 10**decimals
    whole = np.rint(units)
    assert np.abs(units - whole).max() < 1e-6
    assert (whole[:, 0] + whole[:, 1] + whole[:, 2] == whole[:, 3]).all()
    assert (whole[:, 3] + whole[:, 4] == whole[:, 5]).all()
    assert np.abs(after - table.raw()).max() <= 1.5 * 10.0**-decimals


@settings(max_examples=25)
@given(st.integers(0, 300))
def test_no_rounding_to_floor_and_ceiling_is_nearer(seed: int) -> None:
    """All roundings of the free columns up or down, by exhaustion."""
    table = Records.from_array(feasible(seed, 4), names=NAMES)
    after = Constraints.parse(NESTED, table).round(table, dict.fromkeys(NAMES, 0)).raw()
    for x, got in zip(table.raw(), after):
        best = min(
            float(((np.array([a, b, c, a + b + c, d, a + b + c + d]) - x) ** 2).sum())
            for a, b, c, d in product(*((np.floor(v), np.ceil(v)) for v in x[[0, 1, 2, 4]]))
        )
        assert ((got - x) ** 2).sum() <= best + 1e-9


@settings(max_examples=25)
@given(st.lists(st.integers(0, 4000), min_size=2, max_size=7))
def test_a_single_sum_is_rounded_by_largest_remainders(hundredths: list[int]) -> None:
    whole = sum(hundredths) // 100 + 1
    parts = np.array([*hundredths, 100 * whole - sum(hundredths)]) / 100  # they add up to a whole number
    names = [f"p{j}" for j in range(len(parts))]
    table = Records.from_array(np.append(parts, whole)[None, :], names=[*names, "total"])
    rules = Constraints.parse([" + ".join(names) + " == total"], table)
    got = rules.round(table, dict.fromkeys([*names, "total"], 0)).raw()[0]
    extra = int(whole - np.floor(parts + 1e-9).sum())
    remainders = parts - np.floor(parts + 1e-9)
    rounded_up = remainders[np.argsort(-remainders)][:extra]
    best = ((np.append(parts, whole) - got) ** 2).sum()
    # largest remainders: the sum of (1 - r)^2 over those rounded up and r^2 over the others
    expected = ((1 - rounded_up) ** 2).sum() + (np.sort(remainders)[: len(parts) - extra] ** 2).sum()
    assert best <= expected + 1e-9
    assert got[:-1].sum() == got[-1]


@given(st.integers(0, 200))
def test_inequalities_survive_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.gamma(0.3, 2, (30, 3))
    table = Records.from_array(np.column_stack([parts, parts.sum(axis=1)]), names=[*"abcs"])
    written = ["a + b + c == s", "a >= 0", "b >= 0", "c >= 0", "2*a <= 3*s", "s >= 0.4", "a <= b + 1.3"]
    rules = Constraints.parse(written, table)
    fixed = rules.repair(table, keep=()).records
    after = rules.round(fixed, dict.fromkeys("abcs", 0), keep=()).raw()
    a, b, c, s = after.T
    assert (after == np.rint(after)).all()
    assert (a + b + c == s).all() and after.min() >= 0 and s.min() >= 1
    assert (2 * a <= 3 * s).all() and (a <= b + 1).all()


def test_a_condition_is_not_triggered_by_rounding() -> None:
    # 14.4 is over 14 and may have income; rounded to 14 it may not
    table = Records.from_array(np.array([[14.4, 100.2], [13.6, 0.0], [15.0, 3.3]]), names=["age", "income"])
    rules = Constraints.parse(["age <= 14 -> income == 0"], table)
    after = rules.round(table, {"age": 0, "income": 0}, keep=()).raw().tolist()
    assert after == [[15.0, 100.0], [14.0, 0.0], [15.0, 3.0]]


def test_columns_without_decimals_carry_the_rest() -> None:
    table = Records.from_array(np.array([[1.26, 2.37, 3.63]]), names=["a", "b", "s"])
    after = Constraints.parse(["a + b == s"], table).round(table, {"a": 1, "b": 1}).raw()[0]
    assert after.tolist() == pytest.approx([1.3, 2.4, 3.7], abs=1e-12)


def test_columns_outside_the_rules_are_rounded_by_themselves() -> None:
    table = Records.from_array(np.array([[1.26, 2.5, 7.126]]), names=["a", "b", "free"])
    after = Constraints.parse(["a <= b"], table).round(table, {"a": 1, "free": 2}).raw()[0]
    assert after.tolist() == [1.3, 2.5, 7.13]


def test_an_equation_without_a_unit_goes_through_whole_number_programming() -> None:
    # 2a + 3b == 12 in whole numbers: (3.1, 1.93...) -> (3, 2)
    table = Records.from_array(np.array([[3.1, (12 - 6.2) / 3], [0.3, (12 - 0.6) / 3]]), names=["a", "b"])
    after = Constraints.parse(["2*a + 3*b == 12"], table).round(table, {"a": 0, "b": 0}, keep=()).raw()
    assert after.tolist() == [[3.0, 2.0], [0.0, 4.0]]


def test_large_amounts_are_exact() -> None:
    rng = np.random.default_rng(1)
    cents = rng.integers(0, 10**12, (50, 3))
    x = np.column_stack([cents, cents.sum(axis=1)]) / 100 + rng.uniform(-0.004, 0.004, (50, 4))
    table = Records.from_array(x, names=[*"abcs"])
    rules = Constraints.parse(["a + b + c == s"], table)
    after = rules.round(rules.repair(table).records, dict.fromkeys("abcs", 2)).raw()
    whole = np.rint(after * 100).astype(np.int64)
    assert (whole[:, :3].sum(axis=1) == whole[:, 3]).all()


def test_a_numeric_condition_on_a_category_is_kept_by_rounding() -> None:
    """Both columns are quasi-identifiers, which are rounded among themselves first."""
    frame = pl.DataFrame({"age": [13.4, 14.4, 14.6, 30.0] * 5, "m": ["N", "Y", "Y", "Y"] * 5})
    columns = {
        "age": {"role": "quasi-identifier", "decimals": 0},
        "m": {"role": "quasi-identifier", "level": "nominal"},
    }
    plan = {"columns": columns, "constraints": ["age <= 14 -> m == 'N'"]}
    released = shoal.protect(frame, plan, seed=2**65).data
    assert set(released.rows()) == {(13.0, "N"), (15.0, "Y"), (30.0, "Y")}


@pytest.mark.parametrize(
    ("rule", "cells", "fixed", "expected"),
    [
        ("a + b + c == s", [1.0, 0.4, 0.4, 1.8], "a", [1, 1, 0, 2]),  # a at 2 would be as near
        ("2*a + 3*b == 5*c", [4.0, 1.2, 2.32, 7.5], "a", [4, -1, 1, 8]),  # a at 5 would be nearer
        ("a + d == b", [1.45, 3.6, 7.0, 2.0], "d", [2, 4, 7, 2]),  # d has no decimals
        ("d + b >= 1.5", [0.25, 0.3, 2.5, 0.5], "ad", [0.25, 1, 2, 0.5]),  # d at 1 would be nearer
    ],
)
def test_a_fixed_column_does_not_move_by_a_bit(
    rule: str, cells: list[float], fixed: str, expected: list[float]
) -> None:
    names = tuple("abcd") if "d" in rule else tuple("abcs")
    records = Records.from_array(np.array([cells]), names=names)
    rules = Constraints.parse([rule], records)
    table, _ = distinct_records(records, PossibleValues(names, {}, np.ones(4)), lambda records, name: np.zeros((0, 0)))
    lattice = DecimalGrid(
        names, tuple(None if name in "d" else 0 for name in names), np.array([name in fixed for name in names])
    )
    after, good = rounded(table, [clause for r in rules.rules for clause in r.clauses], lattice)
    assert after.x[0].tolist() == expected
    assert good.all()


def test_kept_columns_do_not_move_though_the_record_would_stay_nearer() -> None:
    table = Records.from_array(np.array([[1.0, 0.4, 2.2]]), names=["a", "b", "s"])
    rules, whole = Constraints.parse(["a + 3*b == s"], table), {"a": 0, "b": 0, "s": 0}
    assert rules.round(table, whole, keep=["a"]).raw().tolist() == [[1.0, 0.0, 1.0]]
    assert rules.round(table, whole, keep=[]).raw().tolist() == [[2.0, 0.0, 2.0]]


def amounts(n: int = 400) -> pl.DataFrame:
    """Three amounts in cents, many of them 0, their total, and a column that no rule names."""
    rng = np.random.default_rng(7)
    cents = rng.integers(0, 900_000, (n, 3)) * (rng.random((n, 3)) < 0.6)
    frame = pl.DataFrame({name: cents[:, j] / 100 for j, name in enumerate("abc")})
    return frame.with_columns(total=pl.Series(cents.sum(axis=1) / 100), other=pl.Series(rng.normal(size=n)))


SUM = ["a + b + c == total", "a >= 0"]


def protected(frame: pl.DataFrame, step: dict[str, object], **roles: object) -> pl.DataFrame:
    columns = {name: {"role": "confidential"} for name in frame.columns} | roles
    plan = {"columns": columns, "constraints": SUM, "steps": [step], "output": {"shuffle": False}}
    return shoal.protect(frame, plan, seed=3).data


def test_a_rule_that_holds_leaves_cells_that_no_step_changed_to_the_last_bit() -> None:
    frame = amounts()
    released = protected(frame, {"mask": "noise", "variance": 0.1, "columns": ["other"]})
    assert released.drop("other").equals(frame.drop("other"))
    assert (released["other"] != frame["other"]).all()


def test_only_records_that_break_a_rule_are_repaired_and_no_rounding_noise_is_written() -> None:
    frame = amounts()
    top = {"mask": "top-code", "value": 9000, "columns": ["total"]}
    released = protected(frame, top)
    over = frame["total"] > 9000
    assert 0 < over.sum() < len(frame)
    assert released.filter(~over).equals(frame.filter(~over))
    for column in released.drop("other"):
        assert all(len(repr(value).partition(".")[2]) <= 2 for value in column)


def test_a_repair_of_whole_numbers_leaves_no_rounding_noise() -> None:
    """What the quasi-identifiers determine is a whole number, and often 0."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 500, 300)
    b = np.where(rng.random(300) < 0.5, a, rng.integers(0, 500, 300))
    frame = pl.DataFrame({"a": a, "b": b, "d": a - b}, schema=dict.fromkeys("abd", pl.Float64))
    keys = dict.fromkeys("ab", "quasi-identifier")
    plan = {"columns": {**keys, "d": "confidential"}, "constraints": ["a - b == d"], "output": {"shuffle": False}}
    noise = {"mask": "noise", "variance": 0.1, "columns": ["d"]}
    assert shoal.protect(frame, {**plan, "steps": [noise]}, seed=1).data.equals(frame)


def test_a_column_without_decimals_that_rounding_of_others_moves_is_the_sum_of_decimals() -> None:
    table = Records.from_array(np.array([[0.11, 0.18, 0.29], [0.2, 0.1, 0.1 + 0.2]]), names=["a", "b", "s"])
    after = Constraints.parse(["a + b == s"], table).round(table, {"a": 1, "b": 1}).raw()
    assert after.tolist() == [[0.1, 0.2, 0.3], [0.2, 0.1, 0.1 + 0.2]]
