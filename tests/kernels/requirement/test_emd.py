from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from naive import emd as naive
from shoal.kernels.requirement import emd

tables = st.lists(st.integers(0, 9), min_size=1, max_size=24)


def coded(table):
    values, bins = np.unique(table, return_inverse=True)
    return bins.astype(np.int32), np.bincount(bins), len(values)


def groups_of(table, data, most=4):
    labels = data.draw(st.lists(st.integers(0, most - 1), min_size=len(table), max_size=len(table)))
    _, groups = np.unique(labels, return_inverse=True)
    return groups.astype(np.int64)


def test_by_hand():
    # Table 1, 2, 3, 4, 5; group {1, 2}. Cumulative differences .5-.2, 1-.4, 1-.6, 1-.8: .3 + .6 + .4 + .2 = 1.5,
    # over m - 1 = 4: 0.375. Group {3, 5}: .2 + .4 + .1 + .3 = 1, over 4: 0.25.
    bins = np.array([0, 1, 2, 3, 4], dtype=np.int32)
    groups = np.array([0, 0, 1, 2, 1])
    table = emd.Ordered(np.ones(5, dtype=np.int64))
    assert emd.distances(table, bins, groups, 5, 3).tolist()[:2] == [0.375, 0.25]


def test_published_example():
    # Li, Li & Venkatasubramanian (2007), section 5.3: salaries 3k .. 11k; {3k, 4k, 5k} is 0.375 and
    # {6k, 8k, 11k} is 0.167 from the table.
    bins = np.arange(9, dtype=np.int32)
    groups = np.array([0, 0, 0, 1, 2, 1, 2, 2, 1])
    distances = emd.distances(emd.Ordered(np.ones(9, dtype=np.int64)), bins, groups, 9, 3)
    assert distances[0] == 0.375
    assert round(distances[1], 3) == 0.167


@given(table=tables, data=st.data())
def test_equals_the_naive_twin(table, data):
    groups = groups_of(table, data)
    bins, counts, m = coded(table)
    for kernel, twin in ((emd.Ordered, naive.ordered), (emd.Spread, naive.spread)):
        distances = emd.distances(kernel(counts), bins, groups, m, int(groups.max()) + 1)
        expected = [float(twin([v for v, h in zip(table, groups) if h == g], table)) for g in range(len(distances))]
        assert distances.tolist() == expected


@given(table=tables, data=st.data())
def test_equals_scipy(table, data):
    groups = groups_of(table, data)
    bins, counts, m = coded(table)
    distances = emd.distances(emd.Ordered(counts), bins, groups, m, int(groups.max()) + 1)
    for g, distance in enumerate(distances):
        assert distance == pytest.approx(wasserstein_distance(bins[groups == g], bins) / max(m - 1, 1), abs=1e-12)


@given(table=st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=1, max_size=16), data=st.data())
def test_missing_values_are_far_from_all_others(table, data):
    groups = groups_of(table, data)
    known = [v for v in table if v is not None]
    values = sorted(set(known))
    bins = np.array([-1 if v is None else values.index(v) for v in table], dtype=np.int32)
    counts = np.bincount(bins[bins >= 0], minlength=len(values))
    missing = len(table) - len(known)
    for kernel, twin in ((emd.Ordered, naive.ordered), (emd.Spread, naive.spread)):
        distances = emd.distances(kernel(counts, missing), bins, groups, len(values), int(groups.max()) + 1)
        for g, distance in enumerate(distances):
            members = [v for v, h in zip(table, groups) if h == g]
            assert distance == float(naive.with_missing(members, table, twin))


@given(table=st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=2, max_size=10), data=st.data())
def test_missing_values_are_never_called_closer_than_they_are(table, data):
    groups = groups_of(table, data, most=2)
    values = sorted({v for v in table if v is not None})
    m = len(values)
    bins = np.array([-1 if v is None else values.index(v) for v in table], dtype=np.int32)
    distances = emd.distances(
        emd.Ordered(np.bincount(bins[bins >= 0], minlength=m), int((bins < 0).sum())),
        bins,
        groups,
        m,
        int(groups.max()) + 1,
    )
    place = np.arange(m) / max(m - 1, 1)
    cost = np.ones((m + 1, m + 1))
    cost[:m, :m] = np.abs(place[:, None] - place)
    cost[m, m] = 0
    q = np.bincount(np.where(bins < 0, m, bins), minlength=m + 1) / len(table)
    for g, distance in enumerate(distances):
        members = bins[groups == g]
        p = np.bincount(np.where(members < 0, m, members), minlength=m + 1) / len(members)
        assert distance >= naive.transport(p, q, cost) - 1e-9
        assert distance <= 1


@given(table=st.lists(st.integers(0, 5), min_size=2, max_size=14), data=st.data())
def test_tree_equals_linear_programming(table, data):
    groups = groups_of(table, data, most=2)
    nodes = np.array([[0, 0, 1, 1, 2, 3], [0, 0, 0, 0, 1, 1], [0] * 6], dtype=np.int32)
    levels = np.vstack([np.arange(6), nodes])
    cost = np.array(
        [[next(h for h in range(4) if levels[h, i] == levels[h, j]) / 3 for j in range(6)] for i in range(6)]
    )
    bins = np.array(table, dtype=np.int32)
    counts = np.bincount(bins, minlength=6)
    distances = emd.distances(emd.Taxonomy(counts, nodes), bins, groups, 6, int(groups.max()) + 1)
    for g, distance in enumerate(distances):
        p = np.bincount(bins[groups == g], minlength=6) / (groups == g).sum()
        assert distance == pytest.approx(naive.transport(p, counts / len(table), cost), abs=1e-9)


@given(table=tables, data=st.data())
def test_equal_distance_is_half_the_absolute_difference(table, data):
    groups = groups_of(table, data)
    bins, counts, m = coded(table)
    distances = emd.distances(emd.Taxonomy(counts, np.zeros((1, m), np.int32)), bins, groups, m, int(groups.max()) + 1)
    for g, distance in enumerate(distances):
        p = np.bincount(bins[groups == g], minlength=m) / (groups == g).sum()
        assert distance == pytest.approx(np.abs(p - counts / len(table)).sum() / 2, abs=1e-12)


@given(table=tables, data=st.data())
def test_swap_is_exact(table, data):
    bins, counts, m = coded(table)
    group = np.sort(bins[: data.draw(st.integers(1, len(bins)))])
    out, into = data.draw(st.integers(0, len(group) - 1)), data.draw(st.integers(0, m - 1))
    after = np.sort(np.append(np.delete(group, out), into)).astype(np.int32)
    nodes = np.vstack([np.arange(m) // 2, np.zeros(m)]).astype(np.int32)
    for table_ in (emd.Ordered(counts), emd.Ordered(counts, 3), emd.Spread(counts), emd.Taxonomy(counts, nodes)):
        one = np.zeros(len(group), dtype=np.int64)
        assert emd.swap_distances(table_, group, out, into) == (
            emd.distances(table_, group, one, m, 1)[0],
            emd.distances(table_, after, one, m, 1)[0],
        )


@given(table=tables, data=st.data())
def test_distance_within_a_part(table, data):
    bins, _, m = coded(table)
    groups = groups_of(table, data)
    count = int(groups.max()) + 1
    inside = np.array(data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)))
    lines = emd.distances_within(bins, groups, inside, np.empty((0, m), np.int32), 2)
    equal = emd.distances_within(bins, groups, inside, np.zeros((1, m), np.int32), 2)
    for g in range(count):
        members, of = bins[groups == g], bins[inside[groups] == inside[g]]
        assert lines[g] == pytest.approx(wasserstein_distance(members, of) / max(m - 1, 1), abs=1e-12)
        apart = np.bincount(members, minlength=m) / len(members) - np.bincount(of, minlength=m) / len(of)
        assert equal[g] == pytest.approx(np.abs(apart).sum() / 2, abs=1e-12)


def test_large_tables_stay_exact():
    rng = np.random.default_rng(1)
    bins = rng.permutation(200_000).astype(np.int32)
    whole = emd.distances(emd.Ordered(np.ones(200_000, dtype=np.int64)), bins, np.zeros(200_000, np.int64), 200_000, 1)
    assert whole.tolist() == [0.0]


@given(
    bins=st.lists(st.integers(-1, 4), min_size=1, max_size=12),
    l=st.sampled_from([1, 1.5, 2, 3]),
    c=st.sampled_from([0.5, 1, 2]),
)
def test_diversity_by_definition(bins, l, c):  # noqa: E741
    known = [b for b in bins if b >= 0]
    filled = [max(known, key=known.count) if b < 0 and known else b for b in bins]
    counts = np.sort(np.unique(filled, return_counts=True)[1])[::-1]
    shares = counts / counts.sum()
    holds = {
        "distinct": len(counts) >= l,
        "entropy": np.exp(-(shares * np.log(shares)).sum()) >= l - 1e-12,
        "recursive": counts[0] < c * counts[int(np.ceil(l)) - 1 :].sum(),
    }
    for kind, expected in holds.items():
        wanted = np.ceil(l) if kind == "recursive" else l
        excesses = emd.excesses(emd.Diverse(kind, wanted, c), np.sort(bins), np.zeros(len(bins), np.int64), 5, 1)
        assert (excesses[0] <= 0) == expected


@given(table=st.lists(st.integers(0, 4), min_size=1, max_size=12), size=st.integers(1, 4))
def test_no_group_of_a_size_is_nearer_than_the_least(table, size):
    """On a line, and where all values are equally far apart, some group is as near; values may repeat at will."""
    _, counts, m = coded(table)
    flat = np.zeros((1, m), dtype=np.int32)
    two = np.array([np.arange(m) // 2, np.zeros(m)], dtype=np.int32)
    groups = [np.array(group, dtype=np.int32) for group in combinations_with_replacement(range(m), size)]
    for distribution, reached in (
        (emd.Ordered(counts), True),
        (emd.Taxonomy(counts, flat), True),
        (emd.Taxonomy(counts, two), False),
        (emd.Spread(counts), False),
        (emd.Ordered(counts, 2), False),
    ):
        close = emd.Close(distribution, 0.125)
        nearest = min(emd.excesses(close, g, np.zeros(size, dtype=np.int64), m, 1)[0] for g in groups)
        assert close.least(size) == nearest if reached else close.least(size) <= nearest
