"""Controlled rounding: whole numbers, rules kept, as near as can be."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.constraints import Constraints
from shoal.data.records import Records

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
