import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.refine import best_loss, improving_change
from naive.refine import loss as naive_loss
from shoal.kernels import _native
from shoal.kernels.partition import partition_loss, refine
from shoal.kernels.search.neighbours import candidates


@st.composite
def tables(draw, least=2, most=40):
    n = draw(st.integers(least, most))
    d = draw(st.sampled_from([1, 2, 5]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["normal", "grid", "binary", "lognormal", "constant"]))
    return {
        "normal": lambda: rng.normal(size=(n, d)),
        "grid": lambda: rng.integers(-3, 4, (n, d)) / 10,
        "binary": lambda: rng.integers(0, 2, (n, d)).astype(float),
        "lognormal": lambda: rng.lognormal(0, 3, (n, d)),
        "constant": lambda: np.full((n, d), 7.5),
    }[kind]()


def any_partition(n, k, seed):
    """Groups of k or more, members at random, the sizes uneven."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % max(n // k, 1)
    labels[labels >= max(n // k, 1) - rng.integers(0, 2)] = 0
    return rng.permutation(labels).astype(np.int32)


def run(x, k, labels, weights=None, **budget):
    return refine(x, weights, labels, candidates(x, 12), k, seed=1, **({"moves": 2000} | budget))


def test_by_hand():
    # 0, 1, 10, 11 in crossed pairs: loss 2 x 10^2 / 2 = 100; the best pairs leave 2 x 1/2 = 1.
    x = np.array([[0.0], [1], [10], [11]])
    refined = run(x, 2, np.array([0, 1, 0, 1], dtype=np.int32), moves=0)
    assert (refined.start, refined.loss) == (100.0, 1.0)
    assert refined.labels[0] == refined.labels[1] != refined.labels[2] == refined.labels[3]


def test_the_number_of_groups_is_searched_too():
    # One group of 8 is split into four pairs, and no relocation or exchange leads on: one of them has to go.
    x = np.array([[0.0], [0.1], [0.2], [9], [9.1], [9.2], [50], [50.1]])
    start = np.zeros(8, dtype=np.int32)
    assert np.bincount(np.unique(run(x, 2, start, moves=0).labels, return_inverse=True)[1]).tolist() == [2] * 4
    labels = run(x, 2, start).labels
    assert [sorted(np.flatnonzero(labels == labels[i])) for i in (0, 3, 6)] == [[0, 1, 2], [3, 4, 5], [6, 7]]


@settings(max_examples=60)
@given(tables(), st.integers(1, 6), st.integers(0, 99), st.booleans())
def test_sizes_losses_and_never_worse(x, k, seed, weighted):
    k = min(k, len(x))
    weights = np.random.default_rng(seed).integers(0, 4, len(x)).astype(float) if weighted else None
    start = any_partition(len(x), k, seed)
    refined = run(x, k, start, weights)
    sizes = np.unique(refined.labels, return_counts=True)[1]
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, 1)
    scale = 1e-9 * (x.var() * x.size * 4 + 1)
    assert refined.start == pytest.approx(naive_loss(x, start, weights), abs=scale)
    assert refined.loss == pytest.approx(naive_loss(x, refined.labels, weights), abs=scale)
    assert refined.loss <= refined.descended + scale
    assert refined.descended <= refined.start + scale


@settings(max_examples=25)
@given(tables(most=14), st.integers(2, 4), st.integers(0, 99), st.booleans())
def test_descent_ends_where_no_relocation_or_exchange_helps(x, k, seed, weighted):
    k = min(k, len(x))
    weights = np.random.default_rng(seed).uniform(0.5, 3, len(x)) if weighted else None
    everyone = np.array([[j for j in range(len(x)) if j != i] for i in range(len(x))])
    refined = refine(x, weights, any_partition(len(x), k, seed), everyone, k, seed=1, moves=0)
    assert improving_change(x, refined.labels, k, weights) is None


@settings(max_examples=25)
@given(tables(least=4, most=10), st.integers(2, 3), st.booleans())
def test_small_tables_reach_the_optimum(x, k, weighted):
    weights = np.random.default_rng(3).uniform(0.5, 3, len(x)) if weighted else None
    refined = run(x, k, np.zeros(len(x), dtype=np.int32), weights, moves=20_000)
    best = best_loss(x, k, weights)
    assert refined.loss == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_offsets_and_units_change_nothing(scale):
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1000, (120, 3)).astype(float)
    start = any_partition(120, 4, 0)
    plain = run(x, 4, start)
    if scale == 1.0:
        np.testing.assert_array_equal(run(x + 2.0**27, 4, start).labels, plain.labels)
    power = float(np.log2(scale) // 1)
    np.testing.assert_array_equal(run(np.ldexp(x, int(power)), 4, start).labels, plain.labels)


def test_moves_make_a_run_repeatable_and_the_seed_matters():
    x = np.random.default_rng(5).normal(size=(300, 4))
    start = any_partition(300, 3, 0)
    near = candidates(x, 20)
    runs = [refine(x, None, start, near, 3, seed=seed, moves=60_000) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert (runs[0].labels != runs[2].labels).any()
    assert runs[0].moves == 60_000


def test_large_groups_keep_their_centres_exact():
    rng = np.random.default_rng(7)
    x = rng.lognormal(0, 2, (900, 3))
    refined = run(x, 60, any_partition(900, 60, 1), moves=200_000)
    assert refined.loss == pytest.approx(naive_loss(x, refined.labels), rel=1e-12)


def test_collected_groups_hold_the_final_partition():
    x = np.random.default_rng(8).normal(size=(60, 2))
    refined = run(x, 3, any_partition(60, 3, 0), keep=10_000)
    groups = {tuple(g) for g in np.split(refined.members, refined.ends[:-1])}
    final = {tuple(np.flatnonzero(refined.labels == g)) for g in np.unique(refined.labels)}
    assert final <= groups
    assert len(groups) == len(refined.ends)


def test_an_interrupted_callback_leaves():
    def stop(done):
        raise KeyboardInterrupt

    x = np.random.default_rng(9).normal(size=(2000, 4))
    with pytest.raises(KeyboardInterrupt):
        refine(x, None, any_partition(2000, 3, 0), candidates(x, 20), 3, seed=1, moves=2**40, progress=stop)


def test_partition_loss_with_a_huge_offset():
    # Deviations -1, 0, 1 in each of two groups, about 1e8: 2 + 2.
    x = np.array([[-1.0], [0], [1], [9], [10], [11]]) + 1e8
    labels = np.array([0, 0, 0, 1, 1, 1], dtype=np.int32)
    assert partition_loss(x, None, labels) == pytest.approx(4.0, rel=1e-6)
    assert partition_loss(np.empty((0, 2)), None, np.empty(0, dtype=np.int32)) == 0.0


def test_no_kernel_takes_weights_beside_codes():
    # Compositions of groups count records (native/partition/compositions.hpp): a weight would be lost on them.
    takes = {name: signature(getattr(_native, name)) for name in dir(_native)}
    assert " weights: " in takes["refine"] and " coding: " in takes["refine_tcloseness"]
    assert not [name for name, text in takes.items() if " weights: " in text and " coding: " in text]


def signature(kernel):
    return str(getattr(kernel, "__nb_signature__", ""))
