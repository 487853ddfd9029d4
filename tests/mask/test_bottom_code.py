"""The lower tail, coded."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.test_tail_codes import coded, values


def test_by_hand():
    x = [1.0, 2, 3, 4, 10]
    assert coded(shoal.BottomCode, x, value=2.5)["x0"].values.tolist() == [2.5, 2.5, 3, 4, 10]
    assert coded(shoal.BottomCode, x, k=3)["x0"].values.tolist() == [3, 3, 3, 4, 10]
    assert coded(shoal.BottomCode, x, quantile=0.4, replace="mean")["x0"].values.tolist() == [1.5, 1.5, 3, 4, 10]
    labelled = coded(shoal.BottomCode, x, k=2, replace="label")["x0"]
    assert labelled.level == "ordinal" and labelled.categories == ("at most 2", "3", "4", "10")


def test_a_share_for_each_column():
    x = np.array([[1.0, 100], [2, 200], [3, 300], [4, 400], [5, 500]])
    assert coded(shoal.BottomCode, x, quantile={"x0": 0.4, "x1": 0.2}).raw()[:, 0].tolist() == [2, 2, 3, 4, 5]


@given(values=values, k=st.integers(1, 3), replace=st.sampled_from(["bound", "mean"]))
def test_it_is_the_upper_tail_of_the_table_turned_over(values, k, replace):
    x = np.array(values, dtype=float)
    turned = coded(shoal.TopCode, -x, k=k, replace=replace).raw()
    assert coded(shoal.BottomCode, x, k=k, replace=replace).raw() == pytest.approx(-turned)
