"""Intervals from combined copies hold the truth as often as they say; bench/interval_coverage.py takes 1000 samples."""

import math
from pathlib import Path

import pytest

import shoal
from by_night import by_night

BENCH = str(Path(__file__).parents[1] / "bench")


@pytest.mark.slow
def test_combined_intervals_hold_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals of 95 % hold it as often, within three standard errors of the share of samples."""
    monkeypatch.syspath_prepend(BENCH)
    import interval_coverage

    samples = by_night(60, 200)
    shares = interval_coverage.coverage(shoal.SequentialRegression(given=("x",)), samples, 5)
    assert ((shares > 0.95 - 3 * math.sqrt(0.95 * 0.05 / samples)) & (shares < 0.995)).all()
