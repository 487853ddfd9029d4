"""A public table as a prior: the law that it gives, what it saves, and that it tells nothing of the private one."""

import hashlib
from itertools import product

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.mask._marginals import selection
from shoal.mask._marginals.junction_tree import JunctionTree
from shoal.mask._marginals.model import Fitting, NoisyMarginal
from shoal.mask._marginals.prior import prior_of
from shoal.vocabulary.errors import DataError

DOMAIN = {"a": list("uvwxyz"), "b": list("uvwxyz"), "c": ["no", "yes"]}
ROLES = dict.fromkeys(DOMAIN, "confidential")


def people(n, seed, kept=0.8):
    """b is a but for some, c is of nothing."""
    rng = np.random.default_rng(seed)
    a = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    b = np.where(rng.random(n) < kept, a, rng.integers(0, 6, n))
    letters = np.array(DOMAIN["a"])
    return pl.DataFrame({"a": letters[a], "b": letters[b], "c": rng.choice(["no", "yes"], n)})


def shares(frame):
    a, b = frame["a"].to_numpy(), frame["b"].to_numpy()
    return np.array([((a == x) & (b == y)).mean() for x, y in product(*[DOMAIN["a"]] * 2)])


def error(prior, table, seeds=2, epsilon=0.3):
    records = shoal.Microdata.of(table, ROLES).records
    method = shoal.PrivateMarginals(epsilon=epsilon, delta=1e-6, domain=DOMAIN, pairs=2, prior=prior)
    total = 0.0
    for seed in range(seeds):
        new = method.apply(records, list(DOMAIN), np.random.default_rng(seed)).records
        frame = pl.DataFrame({v.name: [v.categories[code] for code in v.values] for v in new.variables})
        total += np.abs(shares(frame) - shares(table)).sum() / 2
    return total / seeds


@pytest.fixture
def few_steps(monkeypatch):
    monkeypatch.setattr(selection, "STEPS", 10)


@pytest.mark.usefixtures("few_steps")
def test_a_table_of_like_people_saves_noise_and_one_of_others_does_little_harm():
    table = people(600, 1)
    alone = error(None, table)
    assert error(people(3000, 2), table) < 0.6 * alone
    assert error(people(3000, 3, kept=0.0), table) < 1.4 * alone


def test_raking_is_iterative_proportional_fitting():
    """Against the same on the whole table of all combinations."""
    shape, rng = (2, 3, 2), np.random.default_rng(5)
    other = rng.dirichlet(np.ones(12)).reshape(shape)
    targets = {(0, 1): other.sum(axis=2), (1, 2): other.sum(axis=0), (0, 2): other.sum(axis=1)}
    fitting = Fitting(shape=shape, possible={}, total=10)
    theta = fitting.raked(targets, 7)
    naive = np.full(shape, 1 / 12)
    for _ in range(7):
        for columns, target in targets.items():
            away = tuple(c for c in range(3) if c not in columns)
            naive = naive * np.expand_dims(target / naive.sum(axis=away), away)
    tree = JunctionTree.of(shape, [(0, 1, 2)])
    (table,) = fitting._law(tree, theta, 40.0).tables
    assert table == pytest.approx(naive, abs=1e-12)
    law, _ = Fitting(shape=shape, possible={}, total=10, prior=theta).fit([], {}, 0)
    for columns, target in targets.items():
        assert law.marginal(columns) == pytest.approx(target, abs=1e-3)


def test_measurements_move_the_law_from_where_the_prior_is():
    shape = (2, 2)
    theta = Fitting(shape=shape, possible={}, total=1).raked({(0, 1): np.array([[0.4, 0.1], [0.1, 0.4]])}, 5)
    fitting = Fitting(shape=shape, possible={}, total=100, prior=theta)
    single = NoisyMarginal(columns=(0,), counts=np.array([80, 20]), variance=1)
    law, _ = fitting.fit([single], {}, 60)
    assert law.marginal((0, 1)) == pytest.approx(np.array([[0.64, 0.16], [0.04, 0.16]]), abs=1e-3)
    pair = NoisyMarginal(columns=(0, 1), counts=np.array([[10, 40], [40, 10]]), variance=1)
    law, _ = fitting.fit([single, pair], {}, 200)
    assert law.marginal((0, 1))[0, 1] > law.marginal((0, 1))[0, 0]


def test_pairs_are_taken_by_what_they_gain_within_their_number_and_cells():
    rng = np.random.default_rng(6)
    a = rng.integers(0, 4, 4000)
    b = np.where(rng.random(4000) < 0.9, a, rng.integers(0, 4, 4000))
    c = np.where(rng.random(4000) < 0.4, a, rng.integers(0, 4, 4000))
    codes, shape = np.column_stack([a, b, c, rng.integers(0, 4, 4000)]), (9, 4, 4, 4, 4)
    places = (1, 2, 3, 4)
    assert list(prior_of(codes, places, shape, {}, (9, 10**6))) == [(1, 2), (1, 3), (2, 3), (4,)]
    assert list(prior_of(codes, places, shape, {}, (1, 10**6))) == [(1, 2), (3,), (4,)]
    assert list(prior_of(codes, places, shape, {}, (9, 9 + 4 + 16 + 16))) == [
        (1, 2),
        (1, 3),
        (4,),
    ]  # no clique of three
    possible = {(1, 2): ~np.eye(4, dtype=bool)}
    theta = prior_of(codes, places, shape, possible, (9, 10**6))
    law, _ = Fitting(shape=shape, possible=possible, total=9, prior=theta).fit([], {}, 0)
    assert np.diag(law.marginal((1, 2))) == pytest.approx(0) and law.marginal((1, 3))[2, 2] > 0.1


def test_what_the_public_table_lacks_is_unlikely_and_not_impossible():
    codes = np.array([[0, 0]] * 40 + [[1, 1]] * 40)
    theta = prior_of(codes, (0, 1), (3, 3), {}, (1, 100))
    law, _ = Fitting(shape=(3, 3), possible={}, total=9, prior=theta).fit([], {}, 0)
    table = law.marginal((0, 1))
    assert 0.01 < table[0, 1] < 0.05 and 0 < table[2, 2] < 0.001


class Even:
    """A mechanism that answers alike whatever the table."""

    def __init__(self, shape):
        self.shape = shape

    def measure(self, columns, rho):
        shape = [self.shape[c] for c in columns]
        return NoisyMarginal(columns=columns, counts=np.full(shape, 360 // int(np.prod(shape))), variance=40)

    def choose(self, pairs, scoring, rho):
        return 0


@pytest.mark.usefixtures("few_steps")
def test_beside_a_prior_nothing_but_the_mechanism_looks_at_the_table(monkeypatch, tmp_path):
    """Tables with other records and categories give one model; the facts have the prior's digest."""
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Even(shape))
    people(200, 8).write_csv(tmp_path / "public.csv")
    step = {"mask": "private-marginals", "epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "prior": "public.csv"}
    plan = {
        "columns": {**ROLES, "a": {"role": "confidential", "level": "ordinal"}},
        "steps": [step],
        "requirements": [{"privacy": "differential", "epsilon": 1, "delta": 1e-6}],
    }
    tables = [people(50, 1), people(90, 2), people(60, 3).with_columns(a=pl.lit("w"))]
    assert len({shoal.fit(table, plan, seed=3, folder=tmp_path).text for table in tables}) == 1
    method = shoal.Plan.of(plan, tmp_path).ready.steps[0].method
    facts = method.apply(shoal.Microdata.of(tables[0], ROLES).records, [*"abc"], np.random.default_rng(0)).facts
    codes = np.column_stack([[DOMAIN[c].index(cell) for cell in method.prior[c]] for c in "abc"])
    assert facts["categories of the prior (SHA-256)"].value == hashlib.sha256(codes.tobytes()).hexdigest()


def test_a_prior_that_does_not_fit_is_refused():
    records = shoal.Microdata.of(people(50, 1), ROLES).records
    strange = people(30, 2).with_columns(a=pl.lit("t"))
    for prior, match in (
        (strange, "in the table that prior names, Column 'a' has 30 cells with a value that its domain does not list"),
        (people(30, 2).select("a"), "at least two columns of the step"),
        (people(0, 2), "must be a table with records"),
    ):
        method = shoal.PrivateMarginals(epsilon=1.0, delta=1e-6, domain=DOMAIN, prior=prior)
        with pytest.raises(DataError, match=match):
            method.apply(records, list(DOMAIN), np.random.default_rng(0))
