"""Distance to the closest record, against a holdout."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from naive.linkage import nearest_distance
from risk.test_holdout_attacks import FRESH, HOLDOUT, X
from shoal.risk.closest_record import ClosestRecord
from shoal.vocabulary.errors import DataError


def test_closest_record_by_definition():
    finding = ClosestRecord(holdout=HOLDOUT[:, :2]).measure(X[:, :2], FRESH[:, :2])
    s = X[:, :2].std(axis=0, ddof=1)
    own, other = (nearest_distance(a[:, :2] / s, FRESH[:, :2] / s) for a in (X, HOLDOUT))
    assert finding.value == pytest.approx((own < other).mean())
    assert finding.details["distance at 5 percent, to originals"] == pytest.approx(np.quantile(own, 0.05))


def test_unequal_sets_are_cut_to_one_size():
    finding = ClosestRecord(holdout=HOLDOUT[:200]).measure(X, FRESH, seed=1)
    assert finding.details["records of each side"] == 200
    assert finding.interval.low < 0.5 < finding.interval.high


def test_a_measure_reads_no_file(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0]})
    path = tmp_path / "holdout.csv"
    frame.write_csv(path)
    for named in (path, str(path)):
        with pytest.raises(DataError, match=r"must be a data frame or an array; got (str|\w*Path)\. Read a file with"):
            shoal.ClosestRecord(holdout=named).measure(frame, frame)
    assert shoal.ClosestRecord(holdout=shoal.read(path)).measure(frame, frame).value is not None
