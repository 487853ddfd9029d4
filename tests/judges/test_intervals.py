"""Evidence: intervals for shares, and what is published of it."""

import pytest
from scipy.stats import binom, binomtest

from shoal.judges.intervals import cautious_interval, proportion_interval


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (5, 10), (10, 10), (3, 1000), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_equals_scipy(hits: int, trials: int, confidence: float) -> None:
    ours = proportion_interval(hits, trials, confidence)
    theirs = binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 60), (2, 60), (5, 10), (10, 10), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_interval_corrected_for_continuity_equals_scipy(hits: int, trials: int, confidence: float) -> None:
    ours = cautious_interval(hits, trials, confidence)
    theirs = binomtest(hits, trials).proportion_ci(confidence, method="wilsoncc")
    assert (ours.low, ours.high) == pytest.approx(theirs, abs=1e-12)


def test_parts_of_a_hit_lie_in_their_interval() -> None:
    for hits in (0.01, 0.3, 1.5, 59.7):
        interval = cautious_interval(hits, 60)
        assert interval.low <= hits / 60 <= interval.high


@pytest.mark.parametrize("truth", [1 / 160, 0.02, 0.3, 0.98])
def test_it_covers_rare_and_frequent_hits_in_95_percent_of_all_outcomes(truth: float) -> None:
    ends = [cautious_interval(hits, 60) for hits in range(61)]
    covered = sum(binom.pmf(hits, 60, truth) for hits, end in enumerate(ends) if end.low <= truth <= end.high)
    assert covered >= 0.95
