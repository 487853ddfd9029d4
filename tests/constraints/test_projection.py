"""The nearest feasible point against an independent solver, on systems of every shape."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from by_night import by_night
from shoal.constraints import Constraints
from shoal.constraints.projection import System, nearest
from shoal.constraints.rules import bind
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import Refused


def random_system(rng: np.random.Generator, p: int, m: int, bounds: int) -> System:
    """A system that holds at a random point, some inequalities tight there."""
    inside = rng.normal(size=p)
    a, g = rng.normal(size=(m, p)), rng.normal(size=(bounds, p))
    a[rng.random((m, p)) < 0.4] = 0.0
    a[np.arange(m), np.arange(m) % p] = 1.0
    slack = np.where(rng.random(bounds) < 0.3, 0.0, rng.random(bounds))
    return System(a, a @ inside, g, g @ inside + slack)


def by_slsqp(x: np.ndarray, system: System, lengths: np.ndarray) -> np.ndarray:
    constraints = (
        [{"type": "eq", "fun": lambda v: system.equalities @ v - system.equal_to, "jac": lambda v: system.equalities}]
        if len(system.equalities)
        else []
    )
    if len(system.inequalities):
        constraints.append(
            {
                "type": "ineq",
                "fun": lambda v: system.at_most - system.inequalities @ v,
                "jac": lambda v: -system.inequalities,
            }
        )
    optimum = minimize(
        lambda v: float((((v - x) / lengths) ** 2).sum()),
        x,
        jac=lambda v: 2 * (v - x) / lengths**2,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-16},
    )
    return optimum.x


@settings(max_examples=60)
@given(st.integers(2, 6), st.integers(0, 3), st.integers(0, 8), st.integers(0, 10_000))
def test_it_is_the_point_that_slsqp_finds(p: int, m: int, bounds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    system = random_system(rng, p, min(m, p - 1), bounds)
    lengths = np.exp(rng.normal(size=p))
    x = 3 * rng.normal(size=(4, p))
    points, feasible = nearest(x, system, lengths)
    assert feasible.all()
    assert np.abs(points @ system.equalities.T - system.equal_to).max(initial=0.0) < 1e-10
    assert (points @ system.inequalities.T - system.at_most).max(initial=-1.0) < 1e-9
    for row, point in zip(x, points):
        other = by_slsqp(row, system, lengths)
        mine, theirs = ((((v - row) / lengths) ** 2).sum() for v in (point, other))
        assert mine <= theirs + 1e-7 * (1 + theirs)
        broken = max(
            (system.inequalities @ other - system.at_most).max(initial=0.0),
            np.abs(system.equalities @ other - system.equal_to).max(initial=0.0),
        )
        if broken < 1e-10:  # where SLSQP converged, the same point
            assert point == pytest.approx(other, abs=1e-5)
            assert mine == pytest.approx(theirs, abs=1e-7)


@given(st.integers(0, 200))
def test_no_feasible_point_is_nearer(seed: int) -> None:
    """For a convex set the nearest point is where (x - p).(v - p) <= 0 for every v of the set."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, 4, 1, 5)
    lengths = np.exp(rng.normal(size=4))
    x = 5 * rng.normal(size=(20, 4))
    point, feasible = nearest(x, system, lengths)
    assert feasible.all()
    others, _ = nearest(point[rng.permutation(20)] + rng.normal(size=(20, 4)), system, lengths)
    inner = (((x - point) / lengths) * ((others - point) / lengths)).sum(axis=1)
    assert inner.max() < 1e-7


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_scale_does_not_matter(scale: float) -> None:
    rng = np.random.default_rng(3)
    system = random_system(rng, 4, 1, 4)
    x = rng.normal(size=(30, 4))
    small, _ = nearest(x, system, np.ones(4))
    scaled = System(system.equalities, system.equal_to * scale, system.inequalities, system.at_most * scale)
    large, feasible = nearest(x * scale, scaled, np.full(4, scale))
    assert feasible.all()
    assert large / scale == pytest.approx(small, abs=1e-11)


def test_a_feasible_point_does_not_move_by_a_bit() -> None:
    rng = np.random.default_rng(4)
    table = Records.from_array(np.round(rng.gamma(2, 5, (200, 2)), 2), names=["a", "b"])
    rules = Constraints.parse(["a >= 0", "b >= 0", "a <= 1000"], table)
    assert rules.repair(table).records is table


def test_a_held_column_stays_and_what_cannot_be_met_is_told() -> None:
    x = np.array([[1.0, 2.0, 9.0], [-5.0, 0.0, 1.0]])
    system = System(np.array([[1.0, 1.0, -1.0]]), np.zeros(1), -np.eye(3)[1:2], np.zeros(1))  # a + b = c, b >= 0
    point, feasible = nearest(x, system, np.array([1.0, 1.0, 0.0]))
    assert feasible.all()
    assert (point[:, 2] == x[:, 2]).all()
    point, feasible = nearest(x, system, np.array([0.0, 1.0, 0.0]))
    assert feasible.tolist() == [True, True]
    point, feasible = nearest(np.array([[5.0, 0.0, 1.0]]), system, np.array([0.0, 1.0, 0.0]))
    assert feasible.tolist() == [False]  # b would have to be -4
    assert (point == [[5.0, 0.0, 1.0]]).all()


def test_many_bounds_at_once() -> None:
    """A simplex with boxes: every subset of bounds is tight somewhere."""
    rng = np.random.default_rng(6)
    table = Records.from_array(rng.normal(size=(400, 6)), "none", [*"abcdef"])
    rules = ["a + b + c + d + e + f == 1", *(f"0 <= {c} <= 0.4" for c in "abcdef")]
    after = Constraints.parse(rules, table).repair(table, keep=()).records.raw()
    # the projection is clip(x - t, 0, .4) with t such that the sum is 1 (Karush, Kuhn, Tucker)
    x = table.raw()
    low, high = np.full(400, -10.0), np.full(400, 10.0)
    for _ in range(100):
        t = (low + high) / 2
        over = np.clip(x - t[:, None], 0, 0.4).sum(axis=1) > 1
        low, high = np.where(over, t, low), np.where(over, high, t)
    assert after == pytest.approx(np.clip(x - t[:, None], 0, 0.4), abs=1e-9)


def test_a_condition_is_left_by_as_little_as_counts() -> None:
    table = Records.from_array(np.array([[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]]), names=["a", "b"])
    rules = Constraints.parse(["a > 2 -> b >= 5", "a > 3 -> b <= 9", "a > 3.5 -> a == 3.6"], table)
    assert rules.repair(table).records.raw()[2].tolist() == pytest.approx([3.6, 5.0])
    table = Records.from_array(np.array([[1.0, 1.0], [5.0, 1.0], [5.0, 9.0]]), names=["a", "b"])
    rules = Constraints.parse(["b >= a", "b <= 6 -> b <= 4"], table)
    after = rules.repair(table, keep=["a"]).records
    assert after.raw()[:, 1].tolist() == pytest.approx([1.0, 6.0, 9.0], abs=1e-4)
    assert after.raw()[1, 1] > 6
    assert rules.round(after, {"b": 0}).raw()[:, 1].tolist() == [1.0, 7.0, 9.0]


def test_a_record_without_a_neighbour_is_refused_with_the_rules() -> None:
    table = Records.from_array(np.array([[1.0, 1.0], [3.0, 1.0], [4.0, 1.0]]), names=["a", "b"])
    written = ["a > 2 -> b >= 5", "a >= 2.5 -> b <= 4", "a >= 3"]
    rules = tuple(bind(text, i + 1, table) for i, text in enumerate(written))
    message = (
        "3 records cannot be made to obey the rules: nothing near them satisfies 'a > 2 -> b >= 5', 'a >= 3' "
        "together with the others. Change one of the rules."
    )
    with pytest.raises(Refused, match=f"^{re.escape(message)}$"):  # `parse` would have refused these rules
        Constraints(rules=rules, original=table).repair(table)


def noisy_charges(noise: float, seed: int) -> tuple[Constraints, Records]:
    """A charge shared by classes of four and its three parts, each with its own noise, and their rules."""
    rng = np.random.default_rng(seed)
    parts = rng.gamma(1, 400, (120, 3)).round()
    masked = np.repeat(parts.sum(axis=1)[::4], 4) + np.repeat(rng.laplace(0, 300 * noise, 30), 4)
    columns = [Variable(name="charge", role="quasi-identifier", level="continuous", values=parts.sum(axis=1))]
    columns += [
        Variable(name=n, role="confidential", level="continuous", values=parts[:, j]) for j, n in enumerate("abc")
    ]
    original = Records.of(columns)
    rules = Constraints.parse(["a + b + c == charge", "a >= 0", "b >= 0", "c >= 0"], original)
    return rules, original.with_variables(
        original["charge"].with_values(masked),
        *(original[n].with_values(original[n].values + rng.laplace(0, 300 * noise, 120)) for n in "abc"),
    )


def assert_repaired(rules: Constraints, released: Records) -> None:
    change = rules.repair(released)
    after = rules.round(change.records, dict.fromkeys(["a", "b", "c", "charge"], 0))
    assert change.details["records whose kept columns had to move"] == 0
    assert after.classes(["charge"]).sizes.min() >= 4
    a, b, c, charge = (after[n].values for n in ("a", "b", "c", "charge"))
    assert (a + b + c == charge).all()
    assert min(a.min(), b.min(), c.min()) >= 0


@pytest.mark.parametrize("noise", [1.0, 100.0, 1e5])
def test_heavy_noise_is_repaired_and_classes_move_together(noise: float) -> None:
    """The charge, shared by a class, can fall far below 0, where no parts can follow it."""
    assert_repaired(*noisy_charges(noise, 8))


@pytest.mark.slow
@pytest.mark.parametrize("noise", [1e5, 1e6, 1e9, 1e11])
def test_noise_far_beyond_the_data_is_repaired_whatever_the_seed(noise: float) -> None:
    for seed in range(by_night(6, 100)):
        assert_repaired(*noisy_charges(noise, seed))


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_to_the_last_bit_after_laplace_noise_of_a_tiny_epsilon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.gamma(2, 500, (200, 3))
    original = Records.from_array(np.column_stack([parts, parts.sum(axis=1)]), "none", ["a", "b", "c", "total"])
    rules = Constraints.parse(["a + b + c == total", "a >= 0"], original)
    noise = rng.laplace(0, 5000 / 0.003, (200, 4))
    released = original.with_variables(
        *(v.with_values(v.values + noise[:, j]) for j, v in enumerate(original.variables))
    )
    after = rules.repair(released, keep=()).records
    assert after["a"].values.min() >= 0
    total = after["total"].values
    assert np.abs(sum(after[n].values for n in "abc") - total).max() <= 1e-14 * np.abs(after.raw()).max()
