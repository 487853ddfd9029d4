import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.people_with_roles import records
from shoal.vocabulary.errors import InputError


@given(fraction=st.floats(0.1, 1.0), seed=st.integers(0, 99))
def test_sample_keeps_proportions_and_weighted_totals(fraction, seed):
    before = records({"hid": "other"})
    after = shoal.Sample(fraction=fraction).apply(before, before.quasi_identifiers, np.random.default_rng(seed)).records
    assert len(after) == max(1, round(fraction * len(before)))
    assert (np.diff(after.rows) > 0).all()
    if len(after) >= 3:
        assert after.weights.sum() == pytest.approx(len(before))
        sizes, kept = np.bincount(before.strata), np.bincount(after.strata)
        assert (np.abs(kept - sizes * len(after) / len(before)) <= 1 + 1e-9).all()


def test_households_are_kept_or_left_out_whole():
    before = records({"region": "other"})
    after = shoal.Sample(size=7).apply(before, before.quasi_identifiers, np.random.default_rng(0)).records
    assert len(after) == 21 and (np.bincount(after.households) == 3).all()


def test_bad_input_refused():
    with pytest.raises(InputError, match="exactly one"):
        shoal.Sample()
    with pytest.raises(InputError, match="exactly one"):
        shoal.Sample(fraction=0.5, size=3)
    with pytest.raises(InputError, match=r"size must be at most 20, the number of units; got 61\."):
        shoal.Sample(size=61).apply(data := records(), data.quasi_identifiers, np.random.default_rng(0))
