"""Kernels of groups find the same of categories that stand as codes as of their points, a coordinate a category."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.partition.test_mdav import coded_tables
from shoal.kernels.partition import forest, partition_loss, vmdav
from shoal.kernels.requirement import (
    emd,
    k_anonymity_first,
    merge_groups,
    refine_tcloseness,
    repair_tcloseness,
    tcloseness_first,
)
from shoal.kernels.search.neighbours import candidates, neighbours
from shoal.partition._requirement.requirement import GroupRequirement
from shoal.table.confidential_bins import confidential_bins
from shoal.table.packed import Packed
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable


@settings(max_examples=40)
@given(coded_tables(most=120), st.integers(1, 6), st.sampled_from([0.0, 0.4, 1.1]))
def test_searches_find_the_same_bit_for_bit(table, k, gamma):
    x, points, *coding = table
    n, coding = len(x), tuple(coding)
    np.testing.assert_array_equal(vmdav(x, k, gamma, coding=coding), vmdav(points, k, gamma, engine="brute"))
    if n >= k:
        np.testing.assert_array_equal(forest(x, k, coding=coding), forest(points, k, engine="brute"))
        strata = np.arange(n // k * k, dtype=np.int32) % k
        first = tcloseness_first(x[: len(strata)], strata, k, coding=coding)
        np.testing.assert_array_equal(first, tcloseness_first(points[: len(strata)], strata, k, engine="brute"))
    m = min(5, n - 1)
    for ours, theirs in zip(neighbours(x, m, coding=coding), neighbours(points, m)):
        np.testing.assert_array_equal(ours, theirs)
    if n > 1:
        assert candidates(x, 5, coding=coding).shape == candidates(points, 5).shape


def records(n, seed, categories=60):
    """Two numbers without ties, two columns of codes and a confidential number that follows one of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    codes = [rng.integers(0, m, n).astype(np.int32) for m in (categories, 3)]
    pay = x[:, 0] + rng.normal(size=n)
    return Records.of(
        [
            *(
                Variable(name=f"x{j}", role="quasi-identifier", level="continuous", values=x[:, j].copy())
                for j in (0, 1)
            ),
            *(
                Variable(name=f"c{j}", role="quasi-identifier", level="nominal", categories=tuple(range(m)), values=c)
                for j, (m, c) in enumerate(zip((categories, 3), codes))
            ),
            Variable(name="pay", role="confidential", level="continuous", values=pay),
        ]
    )


def both(n, seed, t):
    table = records(n, seed)
    columns = confidential_bins(table)
    required = GroupRequirement.of(columns, [emd.Close(c.table(), t) for c in columns])
    packed = Packed.of(table, table.quasi_identifiers)
    assert packed.coded
    return packed, table.matrix(table.quasi_identifiers), required


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("t", [0.05, 0.2, 0.4])
def test_groups_under_a_requirement_are_the_same(seed, t):
    packed, points, required = both(90, seed, t)
    first = k_anonymity_first(packed.x, required.check, 3, coding=packed.coding)
    np.testing.assert_array_equal(first, k_anonymity_first(points, required.check, 3))
    for partner in ("nearest", "cheapest", "farthest"):
        merged = merge_groups(packed.x, required.check, first, 3, partner=partner, coding=packed.coding)
        expected = merge_groups(points, required.check, first, 3, partner=partner)
        np.testing.assert_array_equal(merged[0], expected[0])
        assert merged[1] == expected[1]
    near = candidates(points, 10)
    repaired = repair_tcloseness(packed.x, required.check, first, near, coding=packed.coding)
    np.testing.assert_array_equal(repaired[0], repair_tcloseness(points, required.check, first, near)[0])


@pytest.mark.parametrize("seed", range(4))
def test_refinement_makes_the_same_moves(seed):
    """Losses differ by rounding alone, which decides nothing on a table without ties."""
    packed, points, required = both(150, seed, 0.25)
    start = Partition.of(np.arange(150) // 5).labels
    near = candidates(points, 10)
    options = {"k": 3, "seed": seed, "moves": 20_000}
    coded = refine_tcloseness(packed.x, required.check, start, near, coding=packed.coding, **options)
    plain = refine_tcloseness(points, required.check, start, near, **options)
    np.testing.assert_array_equal(coded.labels, plain.labels)
    assert partition_loss(points, None, coded.labels) < partition_loss(points, None, start)


def test_squares_to_centres_by_hand_and_by_points():
    packed, points, _ = both(40, 1, 0.2)
    labels = (np.arange(40) % 5).astype(np.int32)
    rows = np.array([3, 17, 20])
    labels[rows] = -1
    centres = np.array([points[labels == g].mean(axis=0) for g in range(5)])
    expected = ((points[rows][:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_allclose(packed.squares_to_centres(rows, labels, 5), expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_groups_whose_candidates_lie_far_away_are_the_same(seed):
    packed, points, _ = both(150, seed, 0.2)
    ill = np.digitize(points[:, 0], [-0.8, -0.2, 0.4]).astype(np.int32)
    columns = [Variable(name="ill", role="confidential", level="nominal", categories=(*"abcd",), values=ill)]
    bins = confidential_bins(Records.of(columns))
    required = GroupRequirement.of(bins, [emd.Close(c.table(), 0.2) for c in bins])
    first = k_anonymity_first(packed.x, required.check, 3, coding=packed.coding)
    np.testing.assert_array_equal(first, k_anonymity_first(points, required.check, 3))
