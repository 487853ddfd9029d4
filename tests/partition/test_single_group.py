import numpy as np
import polars as pl

import shoal
from shoal.data.microdata import Microdata


def test_one_group():
    part = shoal.Whole().partition(np.arange(5.0))
    assert part.labels.tolist() == [0] * 5
    assert part.k == 5


def test_one_group_a_stratum():
    frame = pl.DataFrame({"a": [1.0, 2, 3, 4], "s": ["u", "v", "u", "v"]})
    part = shoal.Whole().partition(Microdata.of(frame, {"a": "quasi-identifier", "s": "stratum"}))
    assert part.labels.tolist() == [0, 1, 0, 1]
