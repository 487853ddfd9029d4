"""Sequential synthesis by forests."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition


def test_a_forest_keeps_what_goes_together_and_copies_less_than_a_tree() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=2000)
    frame = pl.DataFrame({"x": x, "y": x**2 + 0.2 * rng.normal(size=2000), "noise": rng.normal(size=2000)})
    table = Microdata.of(frame, dict.fromkeys(frame.columns, "quasi-identifier")).records
    whole = Partition(labels=np.zeros(2000, dtype=np.int32))

    def fit(method: object) -> float:
        after = method.apply(table, table.names(), whole, np.random.default_rng(2)).records
        return float(np.corrcoef(after["x"].values ** 2, after["y"].values)[0, 1])

    tree, forest = fit(shoal.Cart(order=["x", "noise", "y"])), fit(shoal.Forest(order=["x", "noise", "y"], trees=10))
    assert tree > 0.9
    assert 0.3 < forest < tree


def test_a_forest_has_at_least_two_trees() -> None:
    with pytest.raises(shoal.ParameterError, match="trees must be"):
        shoal.Forest(trees=1)
