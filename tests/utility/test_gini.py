import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.utility.gini import Gini, gini
from shoal.vocabulary.errors import DataError
from utility.test_second_set import records


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 5)), min_size=1, max_size=30))
def test_gini_equals_its_definition(people):
    # Half the mean absolute difference over the mean, a weight standing for so many equal people.
    x = np.repeat([p[0] for p in people], [p[1] for p in people]).astype(float)
    coefficient = gini(np.array([p[0] for p in people], dtype=float), np.array([p[1] for p in people], dtype=float))
    if x.sum() == 0:
        assert coefficient is None
    else:
        expected = np.abs(x[:, None] - x[None]).mean() / 2 / x.mean()
        assert coefficient == pytest.approx(expected, abs=1e-12)
        assert coefficient == pytest.approx(gini(x), abs=1e-12)


def test_gini_measure():
    assert Gini().measure(np.array([0.0, 1]), np.array([1.0, 1])).value == pytest.approx(0.5)
    assert "Only the release has negative values" in Gini().measure(np.array([0.0, 1]), np.array([-1.0, 1])).reason
    assert "without negative values" in Gini().measure(np.array([-1.0, 1]), np.array([0.0, 1])).reason
    with pytest.raises(DataError, match="not continuous"):
        Gini(columns=("sex",)).measure(records(), records())
