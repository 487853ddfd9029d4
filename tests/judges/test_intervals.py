"""Evidence: intervals for shares, and what is published of it."""

import pytest
from scipy.stats import binomtest

from shoal.judges.intervals import proportion_interval


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (5, 10), (10, 10), (3, 1000), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_equals_scipy(hits: int, trials: int, confidence: float) -> None:
    ours = proportion_interval(hits, trials, confidence)
    theirs = binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)
