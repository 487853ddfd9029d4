"""Distance to the closest record and membership inference, against a holdout."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import shoal
from naive.linkage import nearest_distance
from shoal.data.microdata import Microdata
from shoal.errors import DataError
from shoal.risk.closest_record import ClosestRecord
from shoal.risk.membership_inference import MembershipInference, area_under_curve

RNG = np.random.default_rng(31)
X, HOLDOUT, FRESH = RNG.normal(size=(3, 600, 3))


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_planted_releases(kind):
    copy = kind(holdout=HOLDOUT).measure(X, X)
    assert copy.value == 1
    assert copy.interval.low > 0.98
    innocent = kind(holdout=HOLDOUT).measure(X, FRESH)  # from the true model, without looking at X
    assert innocent.interval.low < 0.5 < innocent.interval.high
    noisy = [kind(holdout=HOLDOUT).measure(X, X + s * RNG.normal(size=X.shape)).value for s in (0.05, 0.5, 5)]
    assert noisy == sorted(noisy, reverse=True)
    assert noisy[-1] == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_one_point_for_all_knows_nobody(kind):
    same = kind(holdout=np.ones((50, 1))).measure(np.ones((50, 1)), np.ones((50, 1)))
    assert same.value == 0.5  # all distances tie


def test_closest_record_by_definition():
    found = ClosestRecord(holdout=HOLDOUT[:, :2]).measure(X[:, :2], FRESH[:, :2])
    s = X[:, :2].std(axis=0, ddof=1)
    own, other = (nearest_distance(a[:, :2] / s, FRESH[:, :2] / s) for a in (X, HOLDOUT))
    assert found.value == pytest.approx((own < other).mean())
    assert found.details["distance at 5 percent, to originals"] == pytest.approx(np.quantile(own, 0.05))


def test_unequal_sets_are_cut_to_one_size():
    found = ClosestRecord(holdout=HOLDOUT[:200]).measure(X, FRESH, seed=1)
    assert found.details["records of each side"] == 200
    assert found.interval.low < 0.5 < found.interval.high


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


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_without_a_holdout_there_is_no_figure(kind):
    found = kind().measure(X, X)
    assert found.value is None
    assert "no holdout" in found.reason


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_mixed_frames_whose_categories_differ(kind):
    def frame(n, letters):
        return pd.DataFrame({"a": RNG.choice(letters, n), "b": RNG.normal(size=n)})

    roles = {"a": "quasi-identifier", "b": "confidential"}
    holdout = Microdata.of(frame(80, ["u", "v", "w"]), roles).records
    original = Microdata.of(frame(80, ["u", "v"]), roles).records
    assert kind(holdout=holdout).measure(original, original).value > 0.9


def test_a_measure_reads_no_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0]})
    path = tmp_path / "holdout.csv"
    frame.write_csv(path)
    for named in (path, str(path)):
        with pytest.raises(DataError, match=r"must be a data frame or an array; got (str|\w*Path)\. Read a file with"):
            shoal.ClosestRecord(holdout=named).measure(frame, frame)
    assert shoal.ClosestRecord(holdout=shoal.read(path)).measure(frame, frame).value is not None
