import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_night import by_night
from naive.generalise import alike, cheapest, class_loss, largest_alike_part, nested, walk
from shoal.kernels import generalisation
from shoal.kernels.arrays import ints
from shoal.kernels.generalisation import Ladder, RecodingTable
from shoal.kernels.requirement import RequirementCheck, emd

PATHS = [nested(list("abcdef"), [2]), nested(list("uvwx"), [2]), nested(list("pq"), [])]
LEAVES = [list(paths) for paths in PATHS]

rows = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwx"), st.sampled_from("pq")), min_size=4, max_size=30
)


def ladder(paths):
    labels = []
    for level in range(len(next(iter(paths.values())))):
        numbers = {}
        labels.append([numbers.setdefault(path[level], len(numbers)) for path in paths.values()])
    labels = ints(labels)
    loss = (np.array([np.bincount(row)[row] for row in labels]) - 1) / (len(paths) - 1)
    return Ladder(labels=labels, loss=loss)


def table(rows, paths=PATHS):
    codes = np.array([[list(column).index(cell) for column, cell in zip(paths, row)] for row in rows])
    leaves, place = np.unique(codes, axis=0, return_inverse=True)
    return RecodingTable(ladders=[ladder(p) for p in paths], leaves=ints(leaves), rows=ints(place.ravel()))


def nothing(n):
    return RequirementCheck(np.empty((0, n), dtype=np.int32), [])


def losing(table, loss):
    """The same loss of a suppressed record for every combination."""
    return np.full(len(table.leaves), loss)


def classes_of(labels):
    return {tuple(np.flatnonzero(labels == g).tolist()) for g in np.unique(labels) if g >= 0}


@given(rows=rows, k=st.integers(1, 4))
def test_the_walk_releases_what_its_slow_twin_releases(rows, k):
    weights = (1, 1.1, 1.23)  # no two nodes lose the same
    released, rest = walk(rows, PATHS, k, weights)
    plain = table(rows)
    ladders = [Ladder(labels=x.labels, loss=w * x.loss) for x, w in zip(plain.ladders, weights)]
    t = RecodingTable(ladders=ladders, leaves=plain.leaves, rows=plain.rows)
    walked = generalisation.walk(t, k, nothing(len(rows)), suppressed=losing(t, 3.0), most=0)
    made = classes_of(walked.labels)
    assert (walked.labels >= 0).all() and all(len(group) >= k for group in made)
    if not rest:
        assert made == {tuple(sorted(group)) for group in released}
    else:  # every class that was released is there, some with what was left
        assert all(any(set(group) <= set(whole) for whole in made) for group in released)
    assert walked.nodes <= 3 * 3 * 2


@given(rows=rows, k=st.integers(1, 4))
def test_the_cheapest_node_of_every_record_is_that_of_its_slow_twin(rows, k):
    losses = generalisation.cheapest_nodes(table(rows), k, np.full(len(rows), np.inf)) / 3
    assert losses == pytest.approx(cheapest(rows, PATHS, k))


@given(rows=rows, k=st.integers(1, 4))
def test_a_search_with_too_few_steps_keeps_the_bound_valid(rows, k):
    full = generalisation.cheapest_nodes(table(rows), k, np.full(len(rows), np.inf))
    for steps in (0, 50, 200):
        short = generalisation.cheapest_nodes(table(rows), k, np.full(len(rows), np.inf), most_steps=steps)
        assert (short <= full + 1e-12).all()


@given(rows=rows, k=st.integers(1, 4), seed=st.integers(0, 2**64 - 1))
def test_annealing_never_loses_more_and_keeps_k(rows, k, seed):
    t, free = table(rows), nothing(len(rows))
    start = generalisation.walk(t, k, free, suppressed=losing(t, 3.0), most=0).labels

    def loss(labels):
        return sum(class_loss([rows[i] for i in group], PATHS) for group in classes_of(labels))

    out = generalisation.anneal(t, k, free, start, suppressed=losing(t, 3.0), most=0, proposals=500, seed=seed)
    again = generalisation.anneal(t, k, free, start, suppressed=losing(t, 3.0), most=0, proposals=500, seed=seed)
    assert (out == again).all() and (out >= 0).all()
    assert all(len(group) >= k for group in classes_of(out))
    assert loss(out) <= loss(start) + 1e-9


@given(rows=rows, most=st.integers(0, 5))
def test_annealing_suppresses_no_more_than_it_may(rows, most):
    t, free = table(rows), nothing(len(rows))
    start = generalisation.walk(t, 3, free, suppressed=losing(t, 0.1), most=most).labels
    out = generalisation.anneal(t, 3, free, start, suppressed=losing(t, 0.1), most=most, proposals=500, seed=1)
    assert (out < 0).sum() <= most
    assert all(len(group) >= 3 for group in classes_of(out))


def test_records_that_no_class_can_take_are_suppressed():
    """The third column has two labels that never unite: one record of the second label has no company at any level."""
    apart = Ladder(labels=ints([[0, 1]]), loss=np.zeros((1, 2)))
    whole = table([("a", "u", "p")] * 3 + [("a", "u", "q")])
    t = RecodingTable(ladders=[*whole.ladders[:2], apart], leaves=whole.leaves, rows=whole.rows)
    assert generalisation.walk(t, 2, nothing(4), suppressed=losing(t, 3.0), most=0).labels.tolist() == [0, 0, 0, -1]


def test_a_large_lattice_is_searched_within_bounds():
    columns, limit = by_night(9, 13), 200
    g = np.random.default_rng(0)
    paths = [nested([f"{i:02d}" for i in range(16)], [2, 4, 8])] * columns  # 5 levels each; of 13 10^9 nodes
    rows = [tuple(f"{v:02d}" for v in line) for line in g.integers(0, 16, (40, columns))]
    t = table(rows, paths)
    assert t.nodes == 5**columns
    dropped = [np.ones_like(ladder.loss) for ladder in t.ladders]
    best = generalisation.best_node(t, 2, nothing(40), dropped=dropped, most=0, most_nodes=limit)
    assert best.levels and not best.finished and best.bound <= best.loss
    walked = generalisation.walk(t, 2, nothing(40), suppressed=losing(t, float(columns)), most=0, most_nodes=limit)
    assert limit < walked.nodes <= 2 * limit + columns * 4 and all(
        len(group) >= 2 for group in classes_of(walked.labels)
    )


def likeness(ill, beta, enhanced=True):
    counts = np.bincount(ill).astype(np.int64)
    return RequirementCheck(ints([ill]), [emd.Alike(counts, beta, enhanced)])


@given(rows=rows, k=st.integers(1, 4), seed=st.integers(0, 99), beta=st.sampled_from([0.5, 1.0, 2.0]))
def test_every_class_of_the_walk_is_as_alike_as_it_must_be(rows, k, seed, beta):
    ill = np.random.default_rng(seed).choice(4, len(rows), p=[0.6, 0.2, 0.15, 0.05])
    ill = np.unique(ill, return_inverse=True)[1]
    t, enhanced = table(rows), bool(seed % 2)
    made = classes_of(
        generalisation.walk(t, k, likeness(ill, beta, enhanced), suppressed=losing(t, 3.0), most=0).labels
    )
    assert sum(map(len, made)) == len(rows)
    for group in made:
        assert len(group) >= k and alike(ill[list(group)].tolist(), ill.tolist(), beta, enhanced)


def test_of_a_class_that_may_not_be_the_largest_part_that_may_is_released():
    # Two leaves without a common label: what is not released of one has nowhere to go.
    apart, tried = [Ladder(labels=ints([[0, 1]]), loss=np.zeros((1, 2)))], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        ill = np.unique(rng.choice(4, 20, p=[0.4, 0.3, 0.2, 0.1]), return_inverse=True)[1]
        beta = float(rng.choice([0.5, 1.0]))
        most = largest_alike_part(ill[:9].tolist(), ill.tolist(), beta, False)
        t = RecodingTable(ladders=apart, leaves=ints([[0], [1]]), rows=ints([0] * 9 + [1] * 11))
        labels = generalisation.walk(t, 7, likeness(ill, beta, False), suppressed=losing(t, 3.0), most=0).labels
        assert (labels[:9] >= 0).sum() == (most if most >= 7 else 0)
        tried += 7 <= most < 9
    assert tried >= 10


def test_records_with_rare_values_are_spread_over_several_large_classes():
    # Three records of 3,000 need classes of 334 at least; at the top they would take 1,000 records with them.
    rng = np.random.default_rng(5)
    paths = [nested(list(range(size)), widths) for size, widths in [(8, [2, 4]), (6, [2]), (6, [3]), (4, [2])]]
    leaves = np.column_stack([rng.integers(0, len(p), 3000) for p in paths])
    ill = np.concatenate([[0, 0, 0], rng.integers(1, 6, 2997)])
    t = RecodingTable(ladders=[ladder(p) for p in paths], leaves=ints(leaves), rows=ints(np.arange(3000)))
    labels = generalisation.walk(t, 5, likeness(ill, 2.0), suppressed=losing(t, float(len(paths))), most=0).labels
    made = classes_of(labels)
    assert len(set(labels[:3])) == 3
    assert all(334 <= (labels == labels[i]).sum() < 500 for i in range(3)) and len(made) > 100
