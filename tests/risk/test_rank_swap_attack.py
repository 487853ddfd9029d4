import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.data.records import Records
from shoal.mask.rank_swap import RankSwap
from shoal.risk.rank_swap_attack import RankSwapAttack


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
    assert "not rank swapped with this p" in finding.sentence


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
