"""Entropy fuzzy c-means: memberships are exp(-lambda |x - v|^2), normalised."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import fuzzy as naive
from shoal.partition.entropy_fuzzy_c_means import EntropyFuzzyCMeans
from shoal.table.records import Records


def centres_of(part):
    return np.column_stack(list(part.model.columns.values()))


@settings(max_examples=15)
@given(seed=st.integers(0, 99), crispness=st.sampled_from([0.5, 2.0]))
def test_its_centres_stay_where_they_are(seed, crispness):
    """A fixed point of the formulas as they stand, and the expected sizes are the sums of the memberships."""
    x = np.random.default_rng(seed).normal(size=(30, 2))
    method = EntropyFuzzyCMeans(c=3, lambda1=crispness, lambda2=crispness, tolerance=1e-12, most_steps=5000)
    part = method.partition(Records.from_array(x, "none"), seed=seed)
    if part.n_groups < 3:  # a centre that nobody drew is not handed on
        return
    centres = centres_of(part)
    assert naive.step(x, centres, "entropy", crispness)[0] == pytest.approx(centres, abs=1e-4)
    expected = naive.memberships(x, centres, "entropy", crispness).sum(axis=0)
    assert part.details["expected sizes"] == pytest.approx(expected, abs=2e-3)


def test_a_large_lambda_is_k_means():
    """Two pairs far apart: all of a record's probability goes to its own side, and the centres are the pairs' means."""
    x = np.array([[0.0], [0.2], [5.0], [5.4]])
    part = EntropyFuzzyCMeans(c=2, lambda1=50, lambda2=50).partition(Records.from_array(x, "none"), seed=1)
    assert part.labels[0] == part.labels[1] != part.labels[2] == part.labels[3]
    assert sorted(centres_of(part)[:, 0]) == pytest.approx([0.1, 5.2])
    assert part.details["expected sizes"] == [2.0, 2.0]
