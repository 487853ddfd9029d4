"""Intervals from combined copies hold the truth as often as they say; bench/interval_coverage.py takes 1000 samples."""

from pathlib import Path

import pytest

import shoal

BENCH = str(Path(__file__).parents[1] / "bench")


@pytest.mark.slow
def test_combined_intervals_hold_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    """200 samples: the standard error of a coverage of 95 % is 1.5 %."""
    monkeypatch.syspath_prepend(BENCH)
    import interval_coverage

    shares = interval_coverage.coverage(shoal.SequentialRegression(given=("x",)), 200, 5)
    assert ((shares > 0.9) & (shares < 0.995)).all()
