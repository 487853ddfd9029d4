import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.mdav import distances, scaled
from naive.mu_approx import forest as naive_forest
from shoal.kernels.partition import decompose, forest
from shoal.kernels.partition.mu_approx import mu_approx

ENGINES = ["brute", "tree"]


@st.composite
def tables(draw, most=70):
    n = draw(st.integers(1, most))
    d = draw(st.sampled_from([1, 2, 4]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "grid", "lognormal", "duplicates", "constant", "line", "mixed"]))
    x = {
        "normal": lambda: rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(-2, 3, (n, d)) / 10,
        "lognormal": lambda: rng.lognormal(0, 3, (n, d)),
        "duplicates": lambda: rng.normal(size=(max(1, n // 5), d))[rng.integers(0, max(1, n // 5), n)],
        "constant": lambda: np.full((n, d), rng.normal()),
        "line": lambda: rng.integers(0, n, (n, 1)) * np.arange(1.0, d + 1),
        "mixed": lambda: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-25, 25, (n, d)),
    }[kind]()
    return x * draw(st.sampled_from([1.0, 1e-25, 1e25]))


@st.composite
def forests(draw, k):
    """Any trees of k records or more, as forest() writes them, records in random order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edge = []
    for size in draw(st.lists(st.integers(k, 12 * k), min_size=1, max_size=4)):
        shape = draw(st.sampled_from(["random", "path", "star", "bushes", "hubs"]))
        parents = {
            "random": lambda i: rng.integers(0, i),
            "path": lambda i: i - 1,
            "star": lambda i: 0,
            "bushes": lambda i: 0 if (i - 1) % max(k - 1, 1) == 0 else i - 1,  # subtrees of k - 1 around one record
            "hubs": lambda i: rng.integers(0, min(i, 3)),
        }[shape]
        first = len(edge)
        edge += [-1, *(first + int(parents(i)) for i in range(1, size))]
    order = rng.permutation(len(edge))  # record i becomes order[i]
    renamed = np.full(len(edge), -1)
    for i, parent in enumerate(edge):
        renamed[order[i]] = order[parent] if parent >= 0 else -1
    return renamed


def trees_of(edge):
    """The root of every record's tree."""
    root = np.arange(len(edge))
    while (edge[root] >= 0).any():
        root = np.where(edge[root] >= 0, edge[root], root)
    return root


def test_forest_by_hand():
    # k = 3 on 0, 1, 3, 10, 11, 13. Row 0 -> 1, the new root; 1 -> 2 and there are three. Row 3 -> 4 -> 5.
    x = np.array([[0.0], [1], [3], [10], [11], [13]])
    assert forest(x, 3).tolist() == [1, 2, -1, 4, 5, -1]
    assert mu_approx(x, 3)[0].tolist() == [0, 0, 0, 1, 1, 1]


def test_decomposition_by_hand():
    # A path of 8 with k = 3: more than 5, cut in the middle.
    assert decompose(np.array([1, 2, 3, 4, 5, 6, 7, -1]), 3).tolist() in ([0] * 4 + [1] * 4, [1] * 4 + [0] * 4)
    # A star of 8 with k = 3: the centre goes with two leaves, a Steiner vertex holds the other five.
    labels = decompose(np.array([-1] + [0] * 7), 3)
    assert sorted(np.bincount(labels)) == [3, 5]
    assert np.bincount(labels)[labels[0]] == 3
    # Three paths of 2 around the centre, k = 3: one of them with the centre, the others on a Steiner vertex.
    labels = decompose(np.array([-1, 0, 1, 0, 3, 0, 5]), 3)
    assert sorted(np.bincount(labels)) == [3, 4]
    assert labels[0] == labels[1] == labels[2]


@settings(max_examples=50)
@given(tables(), st.integers(1, 8))
def test_every_engine_grows_the_forest_of_the_definition(x, k):
    if len(x) < k:
        return
    expected = naive_forest(x, k)
    for engine in ENGINES:
        np.testing.assert_array_equal(forest(x, k, engine=engine), expected)
    np.testing.assert_array_equal(forest(x, k, engine="tree", simd=False), expected)


@given(tables(), st.integers(1, 8))
def test_what_is_guaranteed_of_the_forest(x, k):
    if len(x) < k:
        return
    edge, z = forest(x, k), scaled(x)
    assert np.bincount(trees_of(edge))[trees_of(edge)].min() >= k
    for u in np.flatnonzero(edge >= 0):
        d2 = distances(z, z[u])
        assert (np.delete(d2, u) < d2[edge[u]]).sum() < k - 1


@given(tables(), st.integers(2, 8))
def test_the_parts_share_no_edge_of_the_forest(x, k):
    """Their diameters together are then at most the length of the forest."""
    if len(x) < k:
        return
    edge, z = forest(x, k), scaled(x)
    labels = decompose(edge, k)
    length = sum(np.sqrt(distances(z[[u]], z[edge[u]])[0]) for u in np.flatnonzero(edge >= 0))
    parts = [z[labels == group] for group in range(labels.max() + 1)]
    diameters = sum(max(np.sqrt(distances(part, q)).max() for q in part) for part in parts)
    assert diameters <= length * (1 + 1e-12)


@pytest.mark.parametrize("k", range(2, 10))
@settings(max_examples=25)
@given(data=st.data())
def test_the_decomposition_of_any_forest(k, data):
    edge = data.draw(forests(k))
    labels = decompose(edge, k)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, 3 * k - 3)
    root = trees_of(edge)
    for group in range(len(sizes)):
        assert len(set(root[labels == group])) == 1
    # Only where a Steiner vertex holds a rest together may it exceed the limit: joined by edges, it must not.
    apart = np.array([g for g in range(len(sizes)) if sizes[g] > max(2 * k - 1, 3 * k - 5)], dtype=int)
    for group in apart:
        rows = np.flatnonzero(labels == group)
        inside = sum(1 for i in rows if edge[i] >= 0 and labels[edge[i]] == group)
        assert inside < len(rows) - 1


@settings(max_examples=60)
@given(tables(), st.integers(1, 12))
def test_every_group_has_k_to_2k_less_1(x, k):
    if len(x) < k:
        return
    labels, edge = mu_approx(x, k)
    np.testing.assert_array_equal(edge, forest(x, k))
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1
    np.testing.assert_array_equal(labels, mu_approx(x, k)[0])


@pytest.mark.parametrize("k", [3, 7])
def test_the_tree_equals_brute_force_on_larger_tables(k):
    rng = np.random.default_rng(3)
    for x in (
        rng.normal(size=(2500, 3)),
        rng.integers(0, 9, (2500, 2)) / 10,
        rng.lognormal(0, 3, (2500, 5)),
        np.zeros((2500, 2)),
        rng.normal(size=(2500, 2)) * 10.0 ** rng.integers(-25, 25, (2500, 2)),
    ):
        np.testing.assert_array_equal(forest(x, k, engine="tree"), forest(x, k, engine="brute"))
        sizes = np.bincount(mu_approx(x, k)[0])
        assert k <= sizes.min()
        assert sizes.max() <= 2 * k - 1


def test_interrupt():
    def stop(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        forest(np.random.default_rng(7).normal(size=(20_000, 8)), 3, engine="brute", progress=stop)
