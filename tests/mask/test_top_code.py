import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.test_tail_codes import coded, values
from shoal.table.records import Records


@given(values=values, k=st.integers(1, 3))
def test_tail_mean_keeps_the_total(values, k):
    x = np.array(values, dtype=float)
    assert coded(shoal.TopCode, x, k=k, replace="mean").raw().sum() == pytest.approx(x.sum())


@given(rows=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=4, max_size=40), k=st.integers(1, 4))
def test_multivariate_tail_holds_k_that_cannot_be_told_apart(rows, k):
    x = np.array(rows, dtype=float)
    records = Records.from_array(x)
    change = shoal.TopCode(k=k, replace="mean", together=True).apply(
        records, records.quasi_identifiers, np.random.default_rng(0)
    )
    size = change.details["by column"]["x0"]["records in the tail"]
    assert size >= k
    above = np.array([[sum(other >= v for other in x[:, j]) for j, v in enumerate(row)] for row in x]).min(axis=1)
    tail = above <= np.sort(above)[k - 1]
    changed = change.records.raw()
    assert tail.sum() == size
    assert np.allclose(changed[tail], x[tail].mean(axis=0)) and len(np.unique(changed[tail], axis=0)) == 1
    assert np.array_equal(changed[~tail], x[~tail])


def test_weights_and_missing_cells():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 9, None], "w": [1.0, 1, 1, 3, 1]})
    records = shoal.Microdata.of(frame, {"x": {"role": "quasi-identifier", "missing": "keep"}, "w": "weight"}).records
    new = (
        shoal.TopCode(k=2, replace="mean", weighted=True)
        .apply(records, records.quasi_identifiers, np.random.default_rng(0))
        .records["x"]
        .values
    )
    assert new[2] == new[3] == (3 + 27) / 4 and np.isnan(new[4])
    half = (
        shoal.TopCode(quantile=0.5, weighted=True)
        .apply(records, records.quasi_identifiers, np.random.default_rng(0))
        .records["x"]
        .values
    )
    assert half[:4].tolist() == [1, 2, 3, 3]  # weights 1 1 1 3: half the mass lies at or below 3


def test_together_with_bounds_of_their_own_codes_whoever_passes_one():
    x = np.array([[1.0, 500], [2, 200], [3, 100], [9, 300]])
    new = coded(shoal.TopCode, x, value={"x0": 9, "x1": 500}, replace="mean", together=True).raw()
    assert new.tolist() == [[5, 400], [2, 200], [3, 100], [5, 400]]


def test_by_hand():
    x = [1.0, 2, 3, 4, 10]
    assert coded(shoal.TopCode, x, value=3.5)["x0"].values.tolist() == [1, 2, 3, 3.5, 3.5]
    assert coded(shoal.TopCode, x, k=2)["x0"].values.tolist() == [1, 2, 3, 4, 4]
    assert coded(shoal.TopCode, x, k=2, replace="mean")["x0"].values.tolist() == [1, 2, 3, 7, 7]
    labelled = coded(shoal.TopCode, x, k=2, replace="label")["x0"]
    assert labelled.level == "ordinal" and labelled.categories == ("1", "2", "3", "at least 4")
