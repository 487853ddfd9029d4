import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

import shoal
from mask.swapped import people, run
from shoal.vocabulary.errors import InputError


@given(seed=st.integers(0, 999))
def test_shuffling_keeps_values_and_rank_correlations(seed):
    g = np.random.default_rng(seed)
    s = g.normal(size=600)
    x = np.exp(0.8 * s + 0.6 * g.normal(size=600))
    y = np.round(x + g.normal(size=600), 1)
    frame = pd.DataFrame({"x": x, "y": y, "s": s})
    after, _ = run(shoal.Shuffle(given=("s",)), frame, ["x", "y"], seed)
    for name in ("x", "y"):
        assert sorted(after[name]) == sorted(frame[name])
    assert (after["s"] == frame["s"]).all() and (after["x"] != frame["x"]).mean() > 0.9
    before_r, after_r = (spearmanr(f.to_numpy()).statistic for f in (frame, after))
    assert np.abs(before_r - after_r).max() < 0.12


def test_shuffled_values_tell_nothing_beyond_what_is_given():
    g = np.random.default_rng(1)
    frame = pd.DataFrame({"x": g.normal(size=4000), "s": g.normal(size=4000)})
    after, _ = run(shoal.Shuffle(given=("s",)), frame, ["x"])
    assert abs(spearmanr(frame["x"], after["x"]).statistic) < 0.05
    independent, _ = run(shoal.Shuffle(), frame, ["x"])
    assert abs(spearmanr(frame["x"], independent["x"]).statistic) < 0.05


def test_columns_are_shuffled_or_given_not_both_and_must_have_ranks():
    with pytest.raises(InputError, match="given names 'c'"):
        run(shoal.Shuffle(given=("c",)), people(), ["c"])
    with pytest.raises(InputError, match="Column 'a' is nominal"):
        run(shoal.Shuffle(), people(), ["a"])
    with pytest.raises(InputError, match="no column is to be shuffled"):
        run(shoal.Shuffle(), people(), [])
