"""Junction trees, laws of whole records and records drawn from them, against brute force over all combinations."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.mask._marginals.generation import drawn, shuffled
from shoal.mask._marginals.junction_tree import JunctionTree, cells, cells_of_model, fixed_by
from shoal.mask._marginals.model import Fitting, JointLaw, NoisyMarginal
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.errors import ParameterError

SHAPE = (3, 2, 4, 2, 3, 2)


def stream(seed=0):
    return SecretStream(np.random.default_rng(seed))


def joint(shape, factors):
    """The law over all combinations, cell by cell."""
    table = np.zeros(shape)
    for cell in product(*map(range, shape)):
        table[cell] = np.prod([factor[tuple(cell[c] for c in columns)] for columns, factor in factors.items()])
    return table / table.sum()


def summed_to(table, columns):
    return table.sum(axis=tuple(c for c in range(table.ndim) if c not in columns))


sets_of_columns = st.lists(
    st.sets(st.integers(0, len(SHAPE) - 1), min_size=1, max_size=3).map(lambda s: tuple(sorted(s))), max_size=7
)


@settings(max_examples=60, deadline=None)
@given(together=sets_of_columns)
def test_trees_hold_every_set_and_connect_every_column(together):
    tree = JunctionTree.of(SHAPE, together)
    assert all(any(set(columns) <= set(clique) for clique in tree.cliques) for columns in together)
    assert set().union(*tree.cliques) == set(range(len(SHAPE)))
    assert not any(set(a) <= set(b) for a, b in combinations(tree.cliques, 2))
    assert tree.parents[0] == -1 and tree.separators[0] == ()
    for place in range(1, len(tree.cliques)):
        parent = tree.parents[place]
        assert parent < place
        earlier = set().union(*tree.cliques[:place])
        assert (
            set(tree.separators[place])
            == set(tree.cliques[place]) & earlier
            == (set(tree.cliques[place]) & set(tree.cliques[parent]))
        )


@settings(max_examples=40, deadline=None)
@given(together=sets_of_columns, seed=st.integers(0, 999))
def test_laws_are_those_of_brute_force(together, seed):
    rng = np.random.default_rng(seed)
    factors = {columns: rng.exponential(size=[SHAPE[c] for c in columns]) for columns in together}
    for factor in factors.values():
        if factor.size > 4:
            factor.flat[rng.integers(factor.size)] = 0.0
    exact = joint(SHAPE, factors) if factors else np.full(SHAPE, 1 / np.prod(SHAPE))
    law = JointLaw.of(SHAPE, JunctionTree.of(SHAPE, together), factors)
    for clique, table in zip(law.tree.cliques, law.tables):
        assert table == pytest.approx(summed_to(exact, clique), abs=1e-12)
    for columns in together:
        assert law.marginal(columns) == pytest.approx(summed_to(exact, columns), abs=1e-12)
    for column in range(len(SHAPE)):
        pairs = dict(law.pairs_with(column))
        assert set(pairs) == set(range(len(SHAPE))) - {column}
        for other, table in pairs.items():
            expected = summed_to(exact, (column, other))
            assert table == pytest.approx(expected if column < other else expected.T, abs=1e-12)


def counts_of(table, columns, total, variance=4):
    counts = np.rint(total * summed_to(table, columns)).astype(np.int64)
    return NoisyMarginal(columns=columns, counts=counts, variance=variance)


def test_a_law_with_the_measured_marginals_is_found_where_there_is_such():
    rng = np.random.default_rng(3)
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (4, 5)]
    exact = joint(SHAPE, {pair: rng.exponential(size=[SHAPE[c] for c in pair]) for pair in pairs})
    total = 10**7
    measured = [counts_of(exact, pair, total) for pair in pairs]
    law, _ = Fitting(shape=SHAPE, possible={}, total=total).fit(measured, {}, 600)
    for pair in pairs:
        assert law.marginal(pair) == pytest.approx(summed_to(exact, pair), abs=2e-3)
    other = (1, 4)
    assert dict(law.pairs_with(1))[4] == pytest.approx(summed_to(exact, other), abs=4e-3)


def test_contradictory_counts_are_weighted_by_their_variances():
    """Two counts of one column: the law nearest to both in weighted squares, as a search over laws finds it."""
    total = 1000
    pair = NoisyMarginal(columns=(0, 1), counts=np.array([[500, 100], [100, 300]]), variance=100)
    single = NoisyMarginal(columns=(0,), counts=np.array([300, 700]), variance=10)
    law, _ = Fitting(shape=(2, 2), possible={}, total=total).fit([single, pair], {}, 3000)

    def loss(table):
        apart = total * table - pair.counts, total * table.sum(axis=1) - single.counts
        return float((apart[0] ** 2).sum() / 200 + (apart[1] ** 2).sum() / 20)

    reached = loss(law.marginal((0, 1)))
    rng = np.random.default_rng(0)
    for _ in range(3000):
        near = np.abs(law.marginal((0, 1)) + rng.normal(0, 10.0 ** rng.integers(-5, -1), (2, 2)))
        assert loss(near / near.sum()) >= reached * (1 - 1e-4)


def test_negative_counts_and_impossible_combinations_get_nothing():
    total = 1000
    possible = {(0, 1): np.array([[True, False], [True, True]])}
    measured = [
        NoisyMarginal(columns=(0, 1), counts=np.array([[400, 300], [-50, 300]]), variance=50),
        NoisyMarginal(columns=(2,), counts=np.array([600, 450, -30]), variance=50),
    ]
    law, _ = Fitting(shape=(2, 2, 3), possible=possible, total=total).fit(measured, {}, 1000)
    nearest = np.array([[400, 0], [-50, 300]]) + np.array([[350, 0], [350, 350]]) / 3  # 350 records are lacking
    assert law.marginal((0, 1)) == pytest.approx(nearest / total, abs=1e-4)
    assert law.marginal((2,)) == pytest.approx([0.575, 0.425, 0.0], abs=2e-3)
    new = drawn(law, 5000, stream())
    assert not ((new[:, 0] == 0) & (new[:, 1] == 1)).any()


def test_rules_that_leave_nothing_are_refused():
    possible = {(0, 1): np.zeros((2, 2), dtype=bool)}
    measured = [NoisyMarginal(columns=(0,), counts=np.array([5, 5]), variance=1)]
    with pytest.raises(ParameterError, match="leave no combination"):
        Fitting(shape=(2, 2), possible=possible, total=10).fit(measured, {}, 3)


def test_records_have_the_law_up_to_rounding():
    rng = np.random.default_rng(5)
    sets = [(0, 1), (1, 2), (1, 3), (3, 4)]
    factors = {columns: rng.exponential(size=[SHAPE[c] for c in columns]) for columns in sets}
    law = JointLaw.of(SHAPE, JunctionTree.of(SHAPE, sets), factors)
    n = 4001
    new = drawn(law, n, stream(1))
    assert new.shape == (n, len(SHAPE))
    for columns in [(0,), (1,), *sets]:
        expected = n * law.marginal(columns)
        counts = np.zeros(expected.shape)
        np.add.at(counts, tuple(new[:, c] for c in columns), 1)
        assert np.abs(counts - expected).max() < 4 * max(len(expected.ravel()) ** 0.5, 2)  # plain draws: some 30
    assert abs(np.corrcoef(np.arange(n), new[:, 2])[0, 1]) < 0.06


def test_each_record_has_the_law_exactly():
    """One record, many times: randomised rounding leaves the probabilities as they are."""
    factors = {(0, 1): np.array([[3.0, 1.0], [0.0, 4.0]]), (1, 2): np.array([[1.0, 1.0], [5.0, 1.0]])}
    shape = (2, 2, 2)
    law = JointLaw.of(shape, JunctionTree.of(shape, factors), factors)
    exact = joint(shape, factors)
    source = stream(2)
    counts = np.zeros(shape)
    for _ in range(1500):
        counts[tuple(drawn(law, 1, source)[0])] += 1
    assert counts / 1500 == pytest.approx(exact, abs=0.05)
    assert (counts[exact == 0] == 0).all()


def test_a_shuffle_is_a_permutation():
    order = shuffled(500, stream())
    assert sorted(order.tolist()) == list(range(500))
    assert order.tolist() != list(range(500))


def test_cells():
    assert cells(SHAPE, (0, 2)) == 12
    assert cells(SHAPE, ()) == 1


fixed_columns = st.lists(
    st.tuples(st.integers(0, len(SHAPE) - 1), st.integers(0, len(SHAPE) - 1)).filter(lambda pair: pair[0] != pair[1]),
    min_size=1,
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(pairs=fixed_columns, together=sets_of_columns, seed=st.integers(0, 999))
def test_laws_with_fixed_columns_are_those_of_brute_force(pairs, together, seed):
    """Columns whose categories follow from others' take no cells beside them, and the law is that of whole tables."""
    rng = np.random.default_rng(seed)
    possible = {}
    for fixing, column in pairs:
        free = np.zeros((SHAPE[fixing], SHAPE[column]), dtype=bool)
        free[np.arange(SHAPE[fixing]), rng.integers(0, SHAPE[column], SHAPE[fixing])] = True
        possible[tuple(sorted((fixing, column)))] = free if fixing < column else free.T
    factors = {columns: rng.exponential(size=[SHAPE[c] for c in columns]) for columns in together}
    for columns, free in possible.items():
        factors[columns] = factors.get(columns, 1.0) * free
    fixed = fixed_by(possible)
    tree = JunctionTree.of(SHAPE, factors, fixed=fixed)
    assert fixed and all(0 < cells(SHAPE, clique, fixed) <= cells(SHAPE, clique) for clique in tree.cliques)
    exact = np.ones(SHAPE)
    for columns, factor in factors.items():
        exact = exact * factor.reshape([SHAPE[c] if c in columns else 1 for c in range(len(SHAPE))])
    if not exact.any():
        with pytest.raises(ParameterError, match="leave no combination"):
            JointLaw.of(SHAPE, tree, factors)
        return
    exact /= exact.sum()
    law = JointLaw.of(SHAPE, tree, factors)
    for columns in factors:
        assert law.marginal(columns) == pytest.approx(summed_to(exact, columns), abs=1e-12)
    for column in range(len(SHAPE)):
        for other, table in law.pairs_with(column):
            expected = summed_to(exact, (column, other))
            assert table == pytest.approx(expected if column < other else expected.T, abs=1e-12)
    whole = law.with_every_cell()
    for clique, table in zip(whole.tree.cliques, whole.tables, strict=True):
        assert table == pytest.approx(summed_to(exact, clique), abs=1e-12)


def test_a_code_and_its_group_take_as_many_cells_as_the_code():
    free = np.zeros((6, 3), dtype=bool)
    free[np.arange(6), [0, 0, 1, 1, 1, 2]] = True
    fixed = fixed_by({(0, 1): free, (1, 2): np.eye(3, dtype=bool)})
    assert {column: (fix.by, fix.categories.tolist(), fix.number) for column, fix in fixed.items()} == {
        1: (0, [0, 0, 1, 1, 1, 2], 3)
    }
    assert cells((6, 3, 3), (0, 1), fixed) == 6 and cells((6, 3, 3), (1, 2), fixed) == 9
    assert cells_of_model((6, 3, 3), [(0, 1), (1, 2)], fixed) == 15
    one_to_many = {(0, 1): free, (0, 2): free}  # a column fixes a single other
    assert len(fixed_by(one_to_many)) == 1
