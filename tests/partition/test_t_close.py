"""Partitions under t-closeness and diversity: twins, guarantees, refusals."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from naive import emd as naive
from naive import tcloseness as twins
from shoal.data.confidential_bins import confidential_bins
from shoal.data.microdata import Microdata
from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import DataError, ParameterError, Refused
from shoal.kernels.partition.refine import partition_loss
from shoal.kernels.partition.refine import refine as freely_refine
from shoal.kernels.requirement import emd
from shoal.kernels.requirement.requirement_partition import (
    PARTNERS,
    RequirementCheck,
    k_anonymity_first,
    merge_groups,
    refine,
)
from shoal.partition._requirement.requirement import GroupRequirement, near_lists
from shoal.partition.tcloseness_first import strata_needed, strata_of

values = st.sampled_from([0.0, 1.0, 2.0, 5.0])


@st.composite
def tables(draw, most=30, gaps=False):
    """Records with ties and constants: two quasi-identifiers, up to two confidential columns of any level, with missing
    cells if `gaps`."""
    n = draw(st.integers(1, most))
    cell = st.lists(values, min_size=n, max_size=n)
    number = st.one_of(values, st.floats(-9, 9).map(lambda v: round(v, 1)), *[st.just(np.nan)] * gaps)
    numbers = st.lists(number, min_size=n, max_size=n)
    columns = [
        Variable(name=name, role="quasi-identifier", level="continuous", values=np.array(draw(cell)))
        for name in ("a", "b")
    ]
    columns.append(Variable(name="pay", role="confidential", level="continuous", values=np.array(draw(numbers))))
    if draw(st.booleans()):
        codes = draw(st.lists(st.integers(-gaps, 2), min_size=n, max_size=n))
        columns.append(
            Variable(
                name="ill",
                role="confidential",
                level=draw(st.sampled_from(["ordinal", "nominal"])),
                values=np.array(codes, dtype=np.int32),
                categories=("x", "y", "z"),
            )
        )
    if draw(st.booleans()):
        codes = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
        columns.append(
            Variable(
                name="region", role="stratum", level="nominal", values=np.array(codes, np.int32), categories=("n", "s")
            )
        )
    return Records.of(columns)


def released(records, part):
    """The table as it would be released: the group's number for the quasi-identifiers."""
    number = Variable(name="a", role="quasi-identifier", level="continuous", values=part.labels.astype(float))
    return Records.of([number, *(v for v in records.variables if v.role == "confidential")])


MAKERS = {
    "merge": lambda k, t: shoal.TClosenessMerge(k=k, t=t),
    "merge from anything": lambda k, t: shoal.TClosenessMerge(k=k, t=t, start=shoal.MDAV(k=1)),
    "merge with the cheapest": lambda k, t: shoal.TClosenessMerge(k=k, t=t, partner="cheapest"),
    "merge with the farthest": lambda k, t: shoal.TClosenessMerge(k=k, t=t, partner="farthest"),
    "k-anonymity first": lambda k, t: shoal.KAnonymityFirst(k=k, t=t),
    "t-closeness first": lambda k, t: shoal.TClosenessFirst(k=k, t=t),
    "refined": lambda k, t: shoal.TClosenessRefined(k=k, t=t, moves=2_000),
}


@pytest.mark.parametrize("name", MAKERS)
@settings(max_examples=60)
@given(records=tables(), k=st.integers(1, 7), t=st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0]))
def test_k_anonymous_and_t_close_or_refused(name, records, k, t):
    strata = records.strata
    smallest = len(records) if strata is None else np.bincount(strata).min()
    method = MAKERS[name](k, t)
    if k > smallest:
        with pytest.raises(ParameterError):
            method.partition(records, seed=1)
        return
    whole = np.zeros(len(records), dtype=np.int64) if strata is None else strata
    columns = confidential_bins(records)
    reachable = max(
        float(naive_distance(column, whole == s)) for column in columns for s in range(int(whole.max()) + 1)
    )
    if reachable > t + 1e-12:
        with pytest.raises(Refused) as refusal:
            method.partition(records, seed=1)
        named = float(str(refusal.value).rpartition(" t ")[2].split(". ")[0])
        assert reachable <= named <= reachable + 2e-6
        if named <= 1:
            assert MAKERS[name](k, named).partition(records, seed=1).k >= k
        return
    part = method.partition(records, seed=1)
    assert part.k >= k
    assert shoal.KAnonymity(k=k).check(released(records, part)).holds
    assert shoal.TCloseness(t=t).check(released(records, part)).holds
    if strata is not None:
        assert len(set(zip(part.labels, strata))) == part.n_groups


def naive_distance(column, chosen):
    if len(column.nodes):
        n, size = len(column.bins), int(chosen.sum())
        inside = np.bincount(column.bins[chosen], minlength=column.m)
        # in whole numbers: a float may end a last place above the figure that the refusal rounds up
        return Fraction(int(np.abs(inside * n - column.counts * size).sum()), 2 * n * size)
    return naive.ordered(column.bins[chosen].tolist(), column.bins.tolist())


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8])
def test_n_equals_k(n):
    x, pay = np.arange(n, dtype=float), np.arange(n)[::-1]
    for make in MAKERS.values():
        assert make(n, 0.01).partition(x, confidential=pay, seed=1).n_groups == 1


def test_groups_that_no_exchange_helps_are_merged_also_in_a_large_table():
    """Of 20 illnesses ten patients have too few for t = 0.2, whoever they are."""
    rng = np.random.default_rng(1)
    x, ill = rng.normal(size=(6_000, 2)), rng.choice(list("abcdefghijklmnopqrst"), 6_000)
    part = shoal.TClosenessFirst(k=10, t=0.2).partition(x, confidential=ill)
    assert part.facts["records exchanged"] > 0 and part.facts["merges"] > 0
    assert part.k >= 10 and shoal.TCloseness(t=0.2).check(part.labels, confidential=ill).holds


@given(n=st.integers(1, 400), k=st.integers(1, 40), t=st.floats(0.001, 1))
def test_strata_of_algorithm_3(n, k, t):
    count = strata_needed(n, k, t)
    assert min(k, n) <= count <= n
    strata = strata_of(np.arange(n, dtype=np.int32)[None], count)
    sizes = np.bincount(strata, minlength=count)
    central = {(count - 1) // 2, count // 2}
    assert (np.diff(strata) >= 0).all()
    assert all(sizes[s] == n // count for s in range(count) if s not in central)
    extra = n % count
    assert extra <= n // count
    if count % 2:
        assert sizes[count // 2] == n // count + extra
    else:
        assert sizes[count // 2 - 1] - n // count == -(-extra // 2)


@settings(max_examples=150)
@given(records=tables(most=16), t=st.sampled_from([0.05, 0.1, 0.2, 0.3]), k=st.integers(1, 4))
def test_algorithms_1_and_2_equal_their_twins(records, t, k):
    x = np.ascontiguousarray(records.matrix() + np.random.default_rng(1).normal(size=(len(records), 2)))  # no ties
    columns = confidential_bins(records)
    required = GroupRequirement.of(columns, [emd.close(c.table(), t) for c in columns])

    def excess(members):
        return required.take(np.array(members)).excess(np.zeros(len(members), np.int64))[0]

    first = k_anonymity_first(x, required.check, k)
    groups = twins.k_anonymity_first(x, excess, k)
    assert [np.flatnonzero(first == g).tolist() for g in range(first.max() + 1)] == groups
    for partner in PARTNERS:
        merged, merges = merge_groups(x, required.check, first, k, partner=partner)
        expected = twins.merge(x, first, excess, k, partner)
        assert {frozenset(np.flatnonzero(merged == g)) for g in set(merged)} == {frozenset(g) for g in expected}
        assert merges == len(groups) - len(expected)


def test_groups_that_are_only_too_small_join_the_nearest_whatever_the_partner():
    x, pay = np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.1]), np.zeros(6)
    for partner in PARTNERS:
        method = shoal.TClosenessMerge(k=2, t=0.1, start=shoal.MDAV(k=1), partner=partner)
        assert method.partition(x, confidential=pay).labels.tolist() == [0, 0, 1, 1, 2, 2]


def test_the_cheapest_partner_settles_more_for_less():
    """Pay 1 and 4 are worst, at 1/2. The neighbour of 1 is 2: together they are at 1/3, which is over t, and in the
    end all are in one group. With 4, only a little farther, 1 is at 1/6, and so are 2 and 3."""
    columns = confidential_bins(
        Records.of(
            [Variable(name="pay", role="confidential", level="continuous", values=np.array([1.0, 2.0, 4.0, 3.0]))]
        )
    )
    required = GroupRequirement.of(columns, [emd.close(columns[0].table(), 0.2)])
    x, single = np.array([[0.0], [-1.0], [1.1], [-2.0]]), np.arange(4, dtype=np.int32)
    assert len(set(merge_groups(x, required.check, single, 1)[0])) == 1
    assert merge_groups(x, required.check, single, 1, partner="cheapest")[0].tolist() == [0, 1, 0, 1]


def test_of_groups_equally_near_the_lowest_is_the_partner():
    """Pay 1 is the only one over 0.4 (at 2/3), and lies in the middle between the two others."""
    pay = Variable(name="pay", role="confidential", level="continuous", values=np.array([2.0, 1.0, 2.0]))
    columns = confidential_bins(Records.of([pay]))
    check = GroupRequirement.of(columns, [emd.close(columns[0].table(), 0.4)]).check
    merged, merges = merge_groups(np.array([[1.0], [0.0], [-1.0]]), check, np.arange(3, dtype=np.int32), 1)
    assert merges == 1 and merged[0] == merged[1] != merged[2]


def test_refinement_itself_never_goes_below_k():
    """Whoever calls it merges what is too small, which would hide it."""
    x, pay = blobs(60)
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    check = GroupRequirement.of(columns, [emd.close(columns[0].table(), 0.3)]).check
    start = shoal.TClosenessFirst(k=3, t=0.3).partition(x, confidential=pay).labels
    for seed in range(5):
        found = refine(x, check, start, near_lists(x), 3, seed=seed, moves=20_000)
        assert found.held and Partition.of(found.labels).k >= 3


def test_refinement_ends_with_the_best_that_it_met():
    """It starts at the optimum, under a requirement that all groups satisfy, and leaves it while it is hot."""
    for seed in (0, 3, 4, 5):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(40, 2))
        bins = np.arange(40, dtype=np.int32)
        check = RequirementCheck(bins[None], [emd.close(emd.ordered(np.ones(40, dtype=np.int64)), 1.0)])
        best = freely_refine(x, None, bins % 13, near_lists(x), 3, seed=1, moves=200_000)
        found = refine(x, check, best.labels, near_lists(x), 3, seed=seed, moves=20_000)
        assert partition_loss(x, None, found.labels) <= best.loss * (1 + 1e-9)


@pytest.mark.parametrize("how", ["sse", "information_loss"])
def test_loss_of_a_single_column(how):
    x = np.array([1.0, 3.0, 10.0, 14.0])
    part = shoal.MDAV(k=2).partition(x)
    assert (
        getattr(part, how)(x)
        == getattr(part, how)(x[:, None])
        == {"sse": 10.0, "information_loss": 100 * 10 / 110}[how]
    )


@given(
    records=tables(gaps=True),
    k=st.integers(1, 4),
    l=st.sampled_from([1, 1.5, 2, 3]),
    kind=st.sampled_from(["distinct", "entropy", "recursive"]),
    c=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_diverse_or_refused(records, k, l, kind, c):  # noqa: E741
    strata = records.strata
    if k > (len(records) if strata is None else np.bincount(strata).min()):
        return
    judge = shoal.LDiversity(l=l, kind=kind, c=c)
    whole = np.zeros(len(records)) if strata is None else strata
    in_one = Variable(name="a", role="quasi-identifier", level="continuous", values=whole.astype(float))
    possible = judge.check(Records.of([in_one, *(records[n] for n in records.confidential)])).holds
    method = shoal.LDiverse(k=k, l=l, kind=kind, c=c, moves=1_000)
    if not possible:
        with pytest.raises(Refused, match="l-diverse: no partition satisfies the requirement") as refusal:
            method.partition(records, seed=1)
        named = float(str(refusal.value).rpartition(" l ")[2].split(". ")[0])
        if named >= 1:
            assert shoal.LDiverse(k=k, l=named, kind=kind, c=c, moves=100).partition(records, seed=1).k >= k
        return
    part = method.partition(records, seed=1)
    assert part.k >= k
    assert judge.check(released(records, part)).holds


@given(records=tables(gaps=True), k=st.integers(1, 4), p=st.integers(1, 4))
def test_sensitive_or_refused(records, k, p):
    if records.strata is not None or k > len(records):
        return
    method = shoal.PSensitive(k=k, p=p, moves=1_000)
    known = [records[name].values[~records[name].missing] for name in records.confidential]
    if min(max(1, len(np.unique(values))) for values in known) < p:
        with pytest.raises(Refused, match="p-sensitive: no partition satisfies"):
            method.partition(records, seed=1)
        return
    part = method.partition(records, seed=1)
    assert part.facts["p"] >= p and "l" not in part.facts
    assert shoal.PSensitivity(p=p, k=k).check(released(records, part)).holds


def blobs(n=240, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    return x, x @ [1.0, 0.5] + rng.normal(size=n)


def test_refinement_is_better_and_repeats():
    x, pay = blobs()
    z = Records.from_array(x).matrix()
    for t in (0.05, 0.1, 0.2):
        first = shoal.TClosenessFirst(k=2, t=t).partition(x, confidential=pay)
        refined = shoal.TClosenessRefined(k=2, t=t, moves=200_000).partition(x, confidential=pay, seed=1)
        again = shoal.TClosenessRefined(k=2, t=t, moves=200_000).partition(x, confidential=pay, seed=1)
        assert refined.sse(z) < 0.92 * first.sse(z)
        assert (refined.labels == again.labels).all()
        assert refined.facts["sse"] == pytest.approx(refined.sse(z))


def test_hardly_any_time_still_gives_groups_that_hold():
    x, pay = blobs()
    for method in (shoal.TClosenessRefined(k=3, t=0.03, seconds=1e-9), shoal.LDiverse(k=3, l=3, seconds=1e-9)):
        part = method.partition(x, confidential=np.round(pay), seed=1)
        assert part.k >= 3
        released = pd.DataFrame({"group": part.labels, "pay": np.round(pay)})
        judge = shoal.TCloseness(t=0.03) if "t" in part.facts else shoal.LDiversity(l=3)
        assert judge.check(released, confidential="pay").holds


def test_no_moves_still_reassign_the_strata():
    x, pay = blobs()
    z = Records.from_array(x).matrix()
    first = shoal.TClosenessFirst(k=2, t=0.02).partition(x, confidential=pay)
    dealt = shoal.TClosenessRefined(k=2, t=0.02, moves=0).partition(x, confidential=pay, seed=1)
    assert dealt.sse(z) < first.sse(z)
    assert sorted(dealt.sizes) == sorted(first.sizes)


def test_diversity_costs_little_where_the_start_allows_it():
    x, pay = blobs()
    ill = np.where(pay > 0, "a", "b")
    z = Records.from_array(x).matrix()
    free = shoal.MDAV(k=4).partition(x)
    bound = shoal.LDiverse(k=4, l=2, moves=200_000).partition(x, confidential=ill, seed=1)
    assert bound.sse(z) < 4 * free.sse(z)
    assert bound.facts["sse"] <= bound.facts["sse at the start"]


def test_a_stratum_unlike_the_table_is_refused_with_what_it_can_reach():
    frame = pl.DataFrame({"x": [1, 2, 3, 4], "region": ["n", "n", "s", "s"], "pay": [1, 2, 3, 4]})
    table = Microdata.of(frame, {"x": "quasi-identifier", "region": "stratum", "pay": "confidential"})
    # {1, 2} against {1, 2, 3, 4}: (1/4 + 1/2 + 1/4) / 3 = 1/3.
    with pytest.raises(Refused) as refusal:
        shoal.TClosenessFirst(k=1, t=0.3).partition(table)
    assert str(refusal.value) == (
        "tcloseness-first: no partition satisfies the requirement, since not even a whole stratum as one group "
        "does. The best that can be reached: t 0.333334. Relax the requirement."
    )
    assert shoal.TClosenessFirst(k=1, t=0.333334).partition(table).n_groups == 2


def test_what_is_needed_and_what_cannot_be():
    with pytest.raises(DataError, match="tcloseness-merge needs a confidential column; give one the role confid"):
        shoal.TClosenessMerge(k=2, t=0.1).partition(np.arange(6.0))
    homes = pd.DataFrame({"x": [1, 2, 3, 4], "h": [1, 1, 2, 2], "pay": [1, 2, 3, 4]})
    schema = {"x": "quasi-identifier", "h": "household", "pay": "confidential"}
    with pytest.raises(DataError, match="tcloseness-first cannot keep households together"):
        shoal.TClosenessFirst(k=2, t=0.5).partition(Microdata.of(homes, schema))
    with pytest.raises(ParameterError, match="tcloseness-merge: t must be greater than 0; got 0"):
        shoal.TClosenessMerge(k=2, t=0)


def test_kinds_of_frame_agree():
    x, pay = blobs(60)
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "pay": pay})
    for make in MAKERS.values():
        others = (frame.set_index(frame.index[::-1]), pl.from_pandas(frame), pl.from_pandas(frame).to_arrow())
        parts = [make(2, 0.2).partition(f, confidential="pay", seed=3).labels for f in (frame, *others)]
        assert all((part == parts[0]).all() for part in parts)


def test_a_refinement_that_finds_nothing_says_so():
    """No distance is below 0."""
    x, pay = blobs(40)
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    never = GroupRequirement.of(columns, [emd.close(columns[0].table(), -0.001)]).check
    start = np.repeat(np.arange(10, dtype=np.int32), 4)
    found = refine(x, never, start, near_lists(x), 4, seed=1, moves=2_000)
    assert not found.held and found.labels.tolist() == start.tolist()


def test_an_excess_of_less_than_a_thousandth_is_an_excess():
    """Two distant halves, over t by little: any exchange costs much, and must be made all the same."""
    x, pay = blobs(40)
    start = np.repeat(np.arange(2, dtype=np.int32), 20)
    x = x + 1_000 * start[:, None]
    columns = confidential_bins(Records.of([Variable(name="pay", role="confidential", level="continuous", values=pay)]))
    reached = max(GroupRequirement.of(columns, [emd.close(columns[0].table(), 0.0)]).excess(start))
    for short in (1e-9, 9e-4):
        required = GroupRequirement.of(columns, [emd.close(columns[0].table(), reached - short)])
        found = refine(x, required.check, start, near_lists(x), 20, seed=1, moves=0)
        assert found.held and max(required.excess(found.labels)) <= 0
