import numpy as np
import pytest

import shoal
from partition.test_t_close import blobs
from shoal.kernels.partition import partition_loss
from shoal.kernels.partition import refine as freely_refine
from shoal.kernels.requirement import RequirementCheck, emd, refine_tcloseness
from shoal.partition._requirement.requirement import GroupRequirement, near_lists
from shoal.table.confidential_bins import confidential_bins
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable


def test_refinement_itself_never_goes_below_k():
    """Whoever calls it merges what is too small, which would hide it."""
    x, pay = blobs(60)
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    check = GroupRequirement.of(columns, [emd.Close(columns[0].table(), 0.3)]).check
    start = shoal.TClosenessFirst(k=3, t=0.3).partition(x, confidential=pay).labels
    for seed in range(5):
        refined = refine_tcloseness(x, check, start, near_lists(x), 3, seed=seed, moves=20_000)
        assert refined.satisfied and Partition.of(refined.labels).k >= 3


def test_refinement_ends_with_the_best_that_it_met():
    """It starts at the optimum, under a requirement that all groups satisfy, and leaves it while it is hot."""
    for seed in (0, 3, 4, 5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(40, 2))
        bins = np.arange(40, dtype=np.int32)
        check = RequirementCheck(bins[None], [emd.Close(emd.Ordered(np.ones(40, dtype=np.int64)), 1.0)])
        best = freely_refine(x, None, bins % 13, near_lists(x), 3, seed=1, moves=200_000)
        refined = refine_tcloseness(x, check, best.labels, near_lists(x), 3, seed=seed, moves=20_000)
        assert partition_loss(x, None, refined.labels) <= best.loss * (1 + 1e-9)


def test_refinement_is_better_and_repeats():
    x, pay = blobs()
    z = Records.from_array(x).matrix()
    for t in (0.05, 0.1, 0.2):
        first = shoal.TClosenessFirst(k=2, t=t).partition(x, confidential=pay)
        refined = shoal.TClosenessRefined(k=2, t=t, moves=200_000).partition(x, confidential=pay, seed=1)
        again = shoal.TClosenessRefined(k=2, t=t, moves=200_000).partition(x, confidential=pay, seed=1)
        assert refined.sse(z) < 0.92 * first.sse(z)
        assert (refined.labels == again.labels).all()
        assert refined.details["sse"] == pytest.approx(refined.sse(z))


def test_no_moves_still_reassign_the_strata():
    x, pay = blobs()
    z = Records.from_array(x).matrix()
    first = shoal.TClosenessFirst(k=2, t=0.02).partition(x, confidential=pay)
    dealt = shoal.TClosenessRefined(k=2, t=0.02, moves=0).partition(x, confidential=pay, seed=1)
    assert dealt.sse(z) < first.sse(z)
    assert sorted(dealt.sizes) == sorted(first.sizes)


def test_a_refinement_that_finds_nothing_says_so():
    """No distance is below 0."""
    x, pay = blobs(40)
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    never = GroupRequirement.of(columns, [emd.Close(columns[0].table(), -0.001)]).check
    start = np.repeat(np.arange(10, dtype=np.int32), 4)
    refined = refine_tcloseness(x, never, start, near_lists(x), 4, seed=1, moves=2_000)
    assert not refined.satisfied and refined.labels.tolist() == start.tolist()


def test_an_excess_of_less_than_a_thousandth_is_an_excess():
    """Two distant halves, over t by little: any exchange costs much, and must be made all the same."""
    x, pay = blobs(40)
    start = np.repeat(np.arange(2, dtype=np.int32), 20)
    x = x + 1_000 * start[:, None]
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    reached = max(GroupRequirement.of(columns, [emd.Close(columns[0].table(), 0.0)]).excess(start))
    for short in (1e-9, 9e-4):
        required = GroupRequirement.of(columns, [emd.Close(columns[0].table(), reached - short)])
        refined = refine_tcloseness(x, required.check, start, near_lists(x), 20, seed=1, moves=0)
        assert refined.satisfied and max(required.excess(refined.labels)) <= 0
