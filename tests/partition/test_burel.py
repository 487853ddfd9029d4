"""BUREL: buckets, halves and groups by hand, against slow twins, and the guarantee."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from partition.test_t_close import blobs, released, tables
from shoal.partition.burel import _filled
from shoal.table.confidential_bins import binned
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ParameterError, Refused


def column(counts):
    codes = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    names = tuple("abcdefgh"[: len(counts)])
    return binned(Variable(name="c", role="confidential", level="nominal", values=codes, categories=names), "equal")


def largest_share(p, beta, enhanced):
    return (1 + (min(beta, -np.log(p)) if enhanced else beta)) * p


def fewest_buckets(shares, beta, enhanced):
    """Try all ways to cut the ascending shares."""
    shares = sorted(shares)
    m = len(shares)
    for cuts in range(m):
        for places in combinations(range(1, m), cuts):
            ends = [0, *places, m]
            parts = [shares[a:b] for a, b in zip(ends, ends[1:])]
            if all(sum(part) <= largest_share(part[0], beta, enhanced) + 1e-12 for part in parts):
                return len(parts)
    raise AssertionError


def test_by_hand():
    # Shares .1, .1, .2 and .6, beta 1, basic: the first value may have .2 in a group, so the first two share a bucket;
    # the third may have .4, and .2 + .6 are more: three buckets of 2, 2 and 6 records, of which a group may have .2, .4
    # and 1.2. Halves of 1, 1 and 3 of five: 1/5 is not above .2, so they may be; of three with 1 of the first: 1/3 is.
    method = shoal.BUREL(beta=1.0, enhanced=False)
    of_value, most = method.buckets(column([1, 1, 2, 6]))
    assert of_value.tolist() == [0, 0, 1, 2]
    assert most == pytest.approx([0.2, 0.4, 1.2])
    assert [half.tolist() for half in method._halved(np.array([2, 2, 6]), most)] == [[1, 1, 3], [1, 1, 3]]
    # In one dimension: the farthest from the mean of 0 ... 9 is 0; with it go the nearest record of each bucket.
    ill = np.array(list("acddddbcdd"))
    part = method.partition(np.arange(10.0), confidential=ill)
    assert part.labels.tolist() == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert part.details["beta"] == 1.0  # a and b have 1/5 in their groups, .1 in the table


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=7),
    beta=st.sampled_from([0.2, 1.0, 3.0, 10.0]),
    enhanced=st.booleans(),
)
def test_as_few_buckets_as_any_cut_makes(counts, beta, enhanced):
    of_value, most = shoal.BUREL(beta=beta, enhanced=enhanced).buckets(column(counts))
    shares = np.array(counts) / sum(counts)
    assert len(most) == fewest_buckets(shares, beta, enhanced)
    for bucket, bound in enumerate(most):
        inside = shares[of_value == bucket]
        assert bound == pytest.approx(largest_share(inside.min(), beta, enhanced))
        assert inside.sum() <= bound + 1e-9


@settings(max_examples=60)
@given(
    records=tables(gaps=True), k=st.integers(1, 4), beta=st.sampled_from([0.1, 0.5, 1.0, 4.0]), enhanced=st.booleans()
)
def test_beta_like_or_refused(records, k, beta, enhanced):
    strata = records.strata
    if k > (len(records) if strata is None else np.bincount(strata).min()):
        return
    judge = shoal.BetaLikeness(beta=beta, enhanced=enhanced)
    whole = np.zeros(len(records)) if strata is None else strata
    in_one = Variable(name="a", role="quasi-identifier", level="continuous", values=whole.astype(float))
    possible = judge.check(Records.of([in_one, *(records[n] for n in records.confidential)])).holds
    method = shoal.BUREL(beta=beta, k=k, enhanced=enhanced)
    if not possible:
        with pytest.raises(Refused, match="burel: no partition satisfies the requirement"):
            method.partition(records, seed=1)
        return
    part = method.partition(records, seed=1)
    verdict = judge.check(released(records, part))
    assert part.k >= k
    assert verdict.holds
    if np.isfinite(verdict.achieved):
        reached = part.details["beta"]
        assert reached == pytest.approx(verdict.achieved, abs=2e-6)


def naive_groups(x, of_record, halves):
    """Record by record: the farthest from the mean of those left, then of each bucket the nearest ones."""
    x = np.array(x)
    labels, left = {}, [i for bucket in range(len(halves[0])) for i in range(len(x)) if of_record[i] == bucket]
    for group, sizes in enumerate(halves):
        centre = x[left].mean(axis=0)
        far = [sum((a - b) ** 2 for a, b in zip(x[i], centre)) for i in left]
        seed = left[far.index(max(far))]
        for bucket, size in enumerate(sizes):
            inside = sorted(
                (sum((a - b) ** 2 for a, b in zip(x[i], x[seed])), i) for i in left if of_record[i] == bucket
            )
            labels |= {i: group for _, i in inside[:size]}
        left = [i for i in left if i not in labels]
    return [labels[i] for i in range(len(x))]


@given(seed=st.integers(0, 10**6), n=st.integers(8, 40))
def test_same_groups_as_record_by_record(seed, n):
    rng = np.random.default_rng(seed)
    x, buckets = rng.integers(0, 50, size=(n, 2)).astype(float), rng.integers(0, 3, n)
    method, most = shoal.BUREL(beta=3.0), np.full(3, 0.8)
    halves = list(method._halved(np.bincount(buckets, minlength=3), most))
    assert sum(halves).tolist() == np.bincount(buckets, minlength=3).tolist()
    assert _filled(x, buckets, halves).tolist() == naive_groups(
        x.tolist(), buckets.tolist(), [half.tolist() for half in halves]
    )


def test_large_tables_are_halved_as_they_lie(rng, monkeypatch):
    x, ill = rng.normal(size=(400, 2)), rng.choice(list("abc"), 400)
    method, whole = shoal.BUREL(beta=1.0, k=3), Records.from_array(x).matrix()
    exact = method.partition(x, confidential=ill)
    monkeypatch.setattr("shoal.partition.burel.BLOCK", 50)
    blocks = method.partition(x, confidential=ill)
    assert blocks.n_groups == exact.n_groups and blocks.k >= 3
    assert blocks.details["beta"] <= 1.0
    assert blocks.sse(whole) < 1.5 * exact.sse(whole)


def test_groups_are_small_and_near_where_values_allow_it():
    x, pay = blobs()
    ill = np.where(pay > np.median(pay), "a", "b")
    groups = shoal.BUREL(beta=1.0, enhanced=False).partition(x, confidential=ill)
    assert groups.n_groups >= len(x) // 4  # two values of a half each: any group may have any of them
    whole = Records.from_array(x).matrix()
    assert groups.sse(whole) < 0.6 * ((whole - whole.mean(axis=0)) ** 2).sum()


def test_more_beta_makes_more_groups(rng):
    x, ill = rng.normal(size=(300, 2)), rng.choice(list("abcdef"), 300, p=[0.4, 0.3, 0.15, 0.08, 0.04, 0.03])
    parts = [shoal.BUREL(beta=beta).partition(x, confidential=ill).n_groups for beta in (0.3, 1.0, 2.0, 8.0)]
    assert parts == sorted(parts) and parts[-1] > parts[0]
    assert shoal.BUREL(beta=8.0, k=20).partition(x, confidential=ill).k >= 20


def test_bad_input_refused(rng):
    with pytest.raises(ParameterError, match="burel: beta must be greater than 0; got 0"):
        shoal.BUREL(beta=0)
    with pytest.raises(shoal.DataError, match="burel needs a confidential column"):
        shoal.BUREL(beta=1.0).partition(rng.normal(size=(9, 2)))
