"""Groups replaced window by window."""

import numpy as np
import pytest

from by_night import by_night
from shoal.kernels.partition import partition_loss, windows
from shoal.kernels.partition.windows import better_in_windows


@pytest.mark.parametrize("kind", ["grid", "normal"][: by_night(1, 2)])
def test_windows_find_what_no_single_move_does(kind, monkeypatch):
    """Fours of neighbours in the order of the first column, far from the best; some records are alike on the grid."""
    monkeypatch.setattr(windows, "LEAST_RECORDS", by_night(12, 24))
    monkeypatch.setattr(windows, "GROUPS", by_night(3, 6))
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 2)) if kind == "normal" else rng.integers(0, 6, (40, 2)) * 1.0
    start = np.minimum(np.argsort(np.argsort(x[:, 0], kind="stable"), kind="stable") // 4, 9)
    heard = []
    better = better_in_windows(x, start, 4, heard.append)
    assert np.bincount(better).min() >= 4 and (np.bincount(better) > 0).all()
    assert partition_loss(x, None, better) < 0.7 * partition_loss(x, None, start)
    again = better_in_windows(x, better, 4)
    assert partition_loss(x, None, again) <= partition_loss(x, None, better)
    assert heard == sorted(heard) and heard[0] == 0.0


def test_a_group_alone_stays():
    labels = np.zeros(5, dtype=np.int32)
    np.testing.assert_array_equal(better_in_windows(np.arange(10.0).reshape(5, 2), labels, 3), labels)
