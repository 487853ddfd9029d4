"""Distance to the closest record and membership inference, against a holdout."""

import numpy as np
import pandas as pd
import pytest

from shoal.risk.closest_record import ClosestRecord
from shoal.risk.membership_inference import MembershipInference
from shoal.table.microdata import Microdata

RNG = np.random.default_rng(31)
X, HOLDOUT, FRESH = RNG.normal(size=(3, 600, 3))


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_planted_releases(kind, rng):
    copy = kind(holdout=HOLDOUT).measure(X, X)
    assert copy.value == 1
    assert copy.interval.low > 0.98
    innocent = kind(holdout=HOLDOUT).measure(X, FRESH)  # from the true model, without looking at X
    assert innocent.interval.low < 0.5 < innocent.interval.high
    noisy = [kind(holdout=HOLDOUT).measure(X, X + s * rng.normal(size=X.shape)).value for s in (0.05, 0.5, 5)]
    assert noisy == sorted(noisy, reverse=True)
    assert noisy[-1] == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_one_point_for_all_knows_nobody(kind):
    same = kind(holdout=np.ones((50, 1))).measure(np.ones((50, 1)), np.ones((50, 1)))
    assert same.value == 0.5  # all distances tie


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_without_a_holdout_there_is_no_figure(kind):
    finding = kind().measure(X, X)
    assert finding.value is None
    assert "no holdout" in finding.reason


@pytest.mark.parametrize("kind", [ClosestRecord, MembershipInference])
def test_mixed_frames_whose_categories_differ(kind, rng):
    def frame(n, letters):
        return pd.DataFrame({"a": rng.choice(letters, n), "b": rng.normal(size=n)})

    roles = {"a": "quasi-identifier", "b": "confidential"}
    holdout = Microdata.of(frame(80, ["u", "v", "w"]), roles).records
    original = Microdata.of(frame(80, ["u", "v"]), roles).records
    assert kind(holdout=holdout).measure(original, original).value > 0.9
