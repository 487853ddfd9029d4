"""Fuzzy partitions: their limits, their constraints, their sizes, and what they hand on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import fuzzy as naive
from shoal.constraints import Constraints
from shoal.kernels.arrays import Rule
from shoal.kernels.partition import fuzzy_step
from shoal.partition.entropy_fuzzy_c_means import EntropyFuzzyCMeans
from shoal.partition.fuzzy import SearchEffort, _alternate, _onto, _spread_out, fit, system_of
from shoal.partition.fuzzy_c_means import FuzzyCMeans
from shoal.partition.mdav import MDAV
from shoal.replace.fuzzy_centre import FuzzyCentre
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ConstraintError, DataError, ParameterError

BOTH = [FuzzyCMeans, EntropyFuzzyCMeans]
SUM = "a + 2*b == s"


def summed(n: int, seed: int, noise: float = 0.0) -> Records:
    rng = np.random.default_rng(seed)
    a, b = rng.gamma(2, 10, n), rng.normal(50, 20, n)
    values = np.column_stack([a, b, a + 2 * b]) + noise * rng.normal(size=(n, 3))
    return Records.from_array(values, names=["a", "b", "s"])


def centres(part) -> np.ndarray:
    return np.column_stack([part.model.columns[name] for name in ("a", "b", "s")])


FUZZIEST = [FuzzyCMeans(c=4, m1=20, m2=1e6), EntropyFuzzyCMeans(c=4, lambda1=1e-9, lambda2=1e-9)]


@pytest.mark.parametrize("method", FUZZIEST)
def test_the_fuzziest_limit(method) -> None:
    """Propositions 2 and 3: for a large m and for a lambda towards 0 memberships are 1/c and centres the mean."""
    records = Records.from_array(np.random.default_rng(1).normal(5, 2, size=(80, 3)), names=["a", "b", "s"])
    part = method.partition(records, seed=1)
    assert centres(part) == pytest.approx(np.tile(records.raw().mean(axis=0), (part.n_groups, 1)), rel=1e-4)
    assert part.details["expected sizes"] == pytest.approx([20.0] * 4, abs=0.1)


@settings(max_examples=15)
@given(st.integers(0, 50), st.sampled_from(BOTH))
def test_feasible_data_need_no_constraint(seed: int, method) -> None:
    """Propositions 5 and 7: where all records satisfy the equalities, constrained and plain centres agree."""
    records = summed(40, seed)
    options = {"c": 3, "starts": 1, "most_steps": 15}
    plain = method(**options).partition(records, seed=seed)
    constrained = method(**options, constraints=(SUM,)).partition(records, seed=seed)
    assert centres(constrained) == pytest.approx(centres(plain), abs=1e-6)
    assert (constrained.labels == plain.labels).all()


@given(st.integers(0, 50))
def test_a_column_outside_the_rules_keeps_its_plain_formula(seed: int) -> None:
    """Proposition 5, first part, at one step: with alpha_s = 0 the centre's coordinate is the weighted mean."""

    records = summed(30, seed, noise=5.0)
    rng = np.random.default_rng(seed)
    records = records.with_variables(
        Variable(name="other", role="quasi-identifier", level="continuous", values=rng.normal(size=30))
    )
    columns = ["a", "other", "b", "s"]
    _, system = system_of((SUM,), records, columns)
    x = records.matrix(columns)
    means, _ = naive.step(x, x[:4] + 0.1, "power", 1.5)
    moved = _onto(means, system)
    assert (moved[:, 1] == means[:, 1]).all()
    assert np.abs(moved - means).max() > 1e-4


@pytest.mark.parametrize("method", BOTH)
def test_constrained_centres_satisfy_every_rule(method) -> None:
    records = summed(200, 3, noise=6.0)
    rules = (SUM, "a >= 0", "b <= 60", "a <= b")
    part = method(c=12, constraints=rules).partition(records, seed=2)
    a, b, s = centres(part).T
    assert np.abs(a + 2 * b - s).max() <= 1e-10
    assert a.min() >= 0 and b.max() <= 60 and (a - b).max() <= 1e-10
    after = FuzzyCentre().apply(records, records.quasi_identifiers, part, np.random.default_rng(0)).records
    assert not any(broken.any() for broken in Constraints.parse(rules, records).violations(after).values())


@given(st.integers(1, 5), st.integers(6, 60), st.integers(0, 99), st.sampled_from(BOTH))
def test_balanced_groups_have_k_records(k: int, n: int, seed: int, method) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 2)).astype(float)  # ties and duplicates
    part = method(k=k, starts=1, most_steps=5).partition(x, seed=seed)
    assert part.k >= min(k, n)
    assert sum(part.details["realised sizes"]) == n
    assert sum(part.details["expected sizes"]) == pytest.approx(n, abs=0.1)


def test_large_tables_fill_short_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.partition.fuzzy.EXACT_DRAW", 0)
    part = FuzzyCMeans(k=5, c=20).partition(np.random.default_rng(1).normal(size=(100, 3)), seed=1)
    assert part.sizes.tolist() == [5] * 20
    assert part.details["draw"] == "balanced, short groups filled up"


@pytest.mark.parametrize("scale", ["sd", "range", "mad", "rank", "none"])
def test_centres_come_back_in_the_units_of_the_column(scale) -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(1000, 1, 40), rng.normal(2000, 1, 40)])
    records = Records.from_array(values, scale)
    part = FuzzyCMeans(c=2, m1=1.1, m2=1.05).partition(records, seed=1)
    assert sorted(part.model.columns["x0"]) == pytest.approx([1000, 2000], abs=2)


def test_what_cannot_be_is_refused_with_what_to_do() -> None:
    x = np.random.default_rng(1).normal(size=(20, 2))
    with pytest.raises(ParameterError, match=r"^Give k, the smallest size of a group, or c, the number of centres"):
        FuzzyCMeans().partition(x)
    with pytest.raises(ParameterError, match=r"^c must be an integer in \[1, 20\] \(the table has 20 records\); got"):
        FuzzyCMeans(c=21).partition(x)
    with pytest.raises(ParameterError, match=r"^5 groups of 5 records need 25 records; the table has 20. Lower c or k"):
        EntropyFuzzyCMeans(c=5, k=5).partition(x)
    with pytest.raises(ParameterError, match="m1"):
        FuzzyCMeans(c=2, m1=1.0)
    with pytest.raises(ConstraintError, match="No record can obey rule 1"):
        FuzzyCMeans(c=2, constraints=("x0 >= 1", "x0 <= 0")).partition(x)
    with pytest.raises(ConstraintError, match="is not linear; leave it to the plan"):
        FuzzyCMeans(c=2, constraints=("x0 > 1 -> x1 == 0",)).partition(x)
    with pytest.raises(ConstraintError, match="mentions 'x1', which is not a column that the method groups by"):
        FuzzyCMeans(c=2, constraints=("x0 <= x1",)).partition(x, columns=["x0"])
    with pytest.raises(ConstraintError, match="standardised by ranks"):
        FuzzyCMeans(c=2, constraints=("x0 <= 1",)).partition(Records.from_array(x, "rank"))
    with pytest.raises(DataError, match="fuzzy-centre replaces the columns that were grouped by; 'x0' was not"):
        FuzzyCentre().apply(
            data := Records.from_array(x), data.quasi_identifiers, MDAV(k=3).partition(x), np.random.default_rng(0)
        )


def test_extrapolated_steps_end_lower_than_as_many_plain_ones() -> None:
    """They end at rest, where a plain step moves no centre, also with rules that centres keep."""
    records = summed(120, 3, noise=5.0)
    names = records.quasi_identifiers
    for rules in ((), (SUM,)):
        system = system_of(rules, records, names)[1]
        start = records.matrix(names)[::12]
        search = SearchEffort(starts=1, tolerance=1e-6, most_steps=300)
        ended = _alternate(records.matrix(names), start, "power", 1.3, system, search, None)
        plain = start
        for _ in range(ended.steps):
            plain = _onto(fuzzy_step(records.matrix(names), plain, "power", 1.3)[0], system)
        assert ended.converged
        assert ended.objective <= fuzzy_step(records.matrix(names), plain, "power", 1.3)[1] * (1 + 1e-9)
        again = _onto(fuzzy_step(records.matrix(names), ended.centres, "power", 1.3)[0], system)
        assert np.abs(again - ended.centres).max() < 1e-5


@pytest.mark.parametrize(("rule", "parameter"), [("power", 1.3), ("entropy", 200.0)])
def test_many_centres_come_to_rest_where_all_weights_would_have_them(rule: Rule, parameter: float) -> None:
    """With more than 100 centres steps leave out those of which a record has a millionth."""
    x = np.random.default_rng(0).normal(size=(400, 2))
    records = Records.from_array(x)
    search = SearchEffort(starts=1, tolerance=1e-5, most_steps=200)
    system = system_of((), records, records.quasi_identifiers)[1]
    rest = fit(records.matrix(), 120, rule, parameter, system, search, np.random.default_rng(1), None)
    means, objective = fuzzy_step(records.matrix(), rest.centres, rule, parameter)
    assert rest.converged
    assert rest.objective == objective
    after = fuzzy_step(records.matrix(), means, rule, parameter)[1]
    assert after == pytest.approx(objective, rel=1e-7)  # a step with all weights lowers it no more


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 99), st.booleans())
def test_starting_centres_are_drawn_as_by_their_twin(n: int, c: int, seed: int, few: bool) -> None:
    """k-means++ as it is written: each record with a chance in proportion to its squared distance from the nearest."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n, 2)) * 1.0 if few else np.sort(rng.normal(size=(n, 2)), axis=0)
    c = min(c, n)
    drawn, twin = np.random.default_rng(seed), np.random.default_rng(seed)
    pool = x[twin.choice(n, 20 * c, replace=False)] if n > 20 * c else x
    chosen = [pool[twin.integers(len(pool))]]
    for _ in range(1, c):
        far = np.min([((pool - centre) ** 2).sum(axis=1) for centre in chosen], axis=0)
        place = twin.choice(len(pool), p=far / far.sum()) if far.sum() > 0 else twin.integers(len(pool))
        chosen.append(pool[place])
    expected = np.array(chosen) + 0.01 * (x.mean(axis=0) - np.array(chosen))
    np.testing.assert_allclose(_spread_out(x, c, drawn), expected, atol=1e-12)
