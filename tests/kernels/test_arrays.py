"""What is least in an array, against a sort of all of it."""

import numpy as np
import pytest

from shoal.kernels.arrays import least


@pytest.mark.parametrize("most", [0, 1, 3, 40, 41, 99])
@pytest.mark.parametrize("distinct", [1, 3, 1000])
def test_the_least_values_are_those_that_a_sort_has_first(most: int, distinct: int) -> None:
    rng = np.random.default_rng(most)
    for kind in (np.int64, np.float64):
        values = rng.integers(0, distinct, 41).astype(kind)
        assert least(values, most).tolist() == np.argsort(values, kind="stable")[:most].tolist()
    assert least(np.empty(0), most).tolist() == []
