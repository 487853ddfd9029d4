import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.kernels.classes import distinct


@given(arrays(np.int64, st.integers(0, 60), elements=st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))))
def test_equals_numpy(values):
    held, where = distinct(values)
    expected, inverse = np.unique(values, return_inverse=True)
    assert held.tolist() == expected.tolist()
    assert where.tolist() == inverse.tolist()


@pytest.mark.parametrize("most", [10, 10_000, 2**60])
def test_equals_numpy_beyond_the_first_table(most):
    values = np.random.default_rng(1).integers(-most, most, 20_000)
    held, where = distinct(values)
    expected, inverse = np.unique(values, return_inverse=True)
    assert (held == expected).all() and (where == inverse).all()
