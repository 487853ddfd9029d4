from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.mask.rank_swap import RankSwap
from shoal.risk.rank_swap_attack import RankSwapAttack
from shoal.table.microdata import Microdata
from shoal.table.records import Records


def swapped(x, p, seed):
    records = Records.from_array(x)
    return records, RankSwap(p=p).apply(records, records.quasi_identifiers, np.random.default_rng(seed)).records


def naive(x, y, p):
    """Candidates of each record: all whose ranks lie in all windows, ranks of ties as near as they can be."""
    n, d = x.shape
    reach = int(np.floor(p * n * (1 + 1e-12)))
    chances = []
    for i in range(n):
        inside = np.ones(n, dtype=bool)
        for j in range(d):
            ordered = np.sort(y[:, j])
            ranks = np.flatnonzero(ordered == x[i, j])
            low, high = max(ranks[0] - reach, 0), min(ranks[-1] + reach, n - 1)
            inside &= (y[:, j] >= ordered[low]) & (y[:, j] <= ordered[high])
        chances.append(inside[i] / max(inside.sum(), 1))
    return np.array(chances)


@given(st.integers(12, 60), st.integers(1, 4), st.sampled_from([0.1, 0.25, 0.5]), st.booleans(), st.integers(0, 2**32))
def test_equals_the_naive_attack_and_never_misses(n, d, p, ties, seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, (n, d)).astype(float) if ties else rng.normal(size=(n, d))
    original, released = swapped(x, p, seed)
    finding = RankSwapAttack(p=p).measure(original, released)
    np.testing.assert_allclose(finding.record_risk, naive(x, released.raw(original.names()), p))
    assert finding.details["share outside the windows"] == 0  # whoever knows p never excludes the truth


def test_more_columns_find_more_people():
    # With d independent columns a window of w = 2 p on each holds n w^d others on average.
    x = np.random.default_rng(4).normal(size=(1500, 5))
    original, released = swapped(x, 0.05, 1)
    shares = [
        RankSwapAttack(p=0.05, columns=tuple(f"x{j}" for j in range(d))).measure(original, released).value
        for d in (1, 3, 5)
    ]
    assert shares == sorted(shares)
    assert shares[0] == pytest.approx(1 / 150, rel=0.3)
    assert shares[2] > 0.9


def test_a_wrong_window_can_miss():
    x = np.random.default_rng(4).normal(size=(400, 3))
    original, released = swapped(x, 0.2, 1)
    finding = RankSwapAttack(p=0.02).measure(original, released)
    assert finding.details["share outside the windows"] > 0.5
    assert "% the true record lies outside the windows, and is missed." in finding.sentence


def with_strata(x, place, role):
    """Numbers as records, beside a column of strata that has a role."""
    frame = pl.DataFrame({f"x{j}": x[:, j] for j in range(x.shape[1])} | {"place": place})
    roles = dict.fromkeys(frame.columns, "quasi-identifier") | {"place": role}
    return Microdata.of(frame, roles).records


@given(st.integers(30, 60), st.integers(1, 3), st.booleans(), st.integers(0, 2**32))
def test_with_strata_it_is_the_attack_on_each(n, d, ties, seed):
    # The strata lie far apart or on top of one another, and one is a single record that nothing is swapped with.
    rng = np.random.default_rng(seed)
    place = np.r_[2, rng.integers(0, 2, n - 1)]
    x = (
        rng.integers(0, 6, (n, d)).astype(float)
        if ties
        else rng.normal(size=(n, d)) + rng.choice([0, 5]) * place[:, None]
    )
    original = with_strata(x, place, "stratum")
    released = RankSwap(p=0.25).apply(original, original.quasi_identifiers, rng).records
    finding = RankSwapAttack(p=0.25).measure(original, released)
    expected = np.zeros(n)
    for one in np.unique(place):
        rows = np.flatnonzero(place == one)
        expected[rows] = naive(x[rows], released.raw(original.quasi_identifiers)[rows], 0.25)
    np.testing.assert_allclose(finding.record_risk, expected)
    assert finding.details["share outside the windows"] == 0
    assert "and the stratum, and that ranks moved" in finding.sentence
    assert finding.details["by chance"] == pytest.approx(len(np.unique(place)) / n)


def test_a_swap_inside_strata_leaves_the_windows_of_the_whole_table():
    rng = np.random.default_rng(4)
    place = np.repeat([0, 1], [300, 100])
    x = np.where(place[:, None] == 0, rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) * 30)
    original = with_strata(x, place, "stratum")
    released = RankSwap(p=0.1).apply(original, original.quasi_identifiers, rng).records
    whole = with_strata(released.raw(original.quasi_identifiers), place, "other")
    assert RankSwapAttack(p=0.1).measure(with_strata(x, place, "other"), whole).details["share outside the windows"] > 0
    assert RankSwapAttack(p=0.1).measure(original, released).details["share outside the windows"] == 0


def test_of_a_sample_of_a_swapped_table_a_few_are_missed_and_the_sentence_blames_nobody():
    x = np.random.default_rng(4).normal(size=(3000, 3))
    original, released = swapped(x, 0.1, 1)
    drawn = np.sort(np.random.default_rng(5).choice(3000, 600, replace=False))
    finding = RankSwapAttack(p=0.1).measure(original.take(drawn), released.take(drawn))
    assert 0 < finding.details["share outside the windows"] < 0.15
    assert "swapped" not in finding.sentence


def test_ordinal_codes_are_those_of_the_original():
    # The release lost a category, so that it numbers the others otherwise.
    grades = pl.Series("grade", ["a", "b", "c", "d"] * 10)
    described = {"grade": {"role": "quasi-identifier", "level": "ordinal"}}
    original = Microdata.of(grades.to_frame(), described).records
    kept = Microdata.of(grades.to_frame().filter(grades != "a"), described).records
    released = replace(kept, rows=np.flatnonzero(grades.to_numpy() != "a"))
    finding = RankSwapAttack(p=0.01).measure(original, released)
    assert finding.value == pytest.approx(1 / 10)  # its own category, and no other
    recoded = Microdata.of(grades.replace("d", "d or more").to_frame(), described).records
    assert "holds other kinds of values" in RankSwapAttack(p=0.01).measure(original, recoded).reason


def test_an_unswapped_table_of_different_records_is_found():
    x = np.random.default_rng(4).normal(size=(200, 4))
    assert RankSwapAttack(p=0.005).measure(x, x).value > 0.99


def test_not_computable():
    x = np.random.default_rng(4).normal(size=(20, 2))
    original = Records.from_array(x)
    holes = original.with_variables(original["x0"].with_values(np.r_[np.nan, x[1:, 0]]))
    assert "missing values" in RankSwapAttack().measure(original, holes).reason
    assert RankSwapAttack().measure(original, original.without(["x0", "x1"])).value is None
    assert RankSwapAttack().measure(x, x[:5]).value is None
