"""Membership inference: the area under its curve."""

import numpy as np
import pytest

from shoal.judges.membership_curve import area_under_curve


def test_area_by_hand():
    # Scores 3, 1 against 2, 1: 3 beats both, 1 ties once and loses once: (2 + 0.5) / 4.
    area, interval = area_under_curve(np.array([3.0, 1]), np.array([2.0, 1]))
    assert area == pytest.approx(2.5 / 4)
    assert interval.low < area < interval.high


def test_area_interval_by_hand():
    # Members 3, 1 lie above 2/3 and 1/3 of the others 2, 0, 5; these lie below 1/2, 1 and 0 of the members. The
    # variance of the area is 1/18 over 2 members and 1/4 over 3 others (DeLong et al. 1988).
    area, interval = area_under_curve(np.array([3.0, 1]), np.array([2.0, 0, 5]))
    half = 1.959964 * np.sqrt(1 / 18 / 2 + 1 / 4 / 3)
    assert (area, interval.low) == (pytest.approx(0.5), pytest.approx(max(0.5 - half, 0)))
    # Ten members above ten others: by the rule of three the area may still be as low as 1 + ln(.05) / 10.
    area, interval = area_under_curve(np.arange(10.0) + 20, np.arange(10.0))
    assert (area, interval.low, interval.high) == (1, pytest.approx(1 + np.log(0.05) / 10), 1)


def test_area_interval_covers():
    # 400 repetitions of a true area of Phi(1 / sqrt 2) = 0.7602; 95 % should cover, 91 % is 4 standard errors below.
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(400):
        _, interval = area_under_curve(rng.normal(1, 1, 60), rng.normal(0, 1, 60))
        hits += interval.low < 0.76025 < interval.high
    assert hits / 400 > 0.91
