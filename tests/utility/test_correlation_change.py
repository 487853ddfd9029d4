import numpy as np
import pytest

from shoal.utility.correlation_change import CorrelationChange
from utility.test_first_set import X


def test_correlation_change_by_hand():
    # Correlation 1 becomes -1.
    assert CorrelationChange().measure([[0.0, 0], [1, 1], [2, 2]], [[0.0, 2], [1, 1], [2, 0]]).value == pytest.approx(2)
    # The release made a column constant: its correlation of 1 is lost.
    assert CorrelationChange().measure([[0.0, 0], [1, 1], [2, 2]], [[0.0, 1], [1, 1], [2, 1]]).value == pytest.approx(1)


def test_correlations_of_a_permuted_column_vanish(rng):
    y = X.copy()
    y[:, 1] = rng.permutation(y[:, 1])
    before, after = np.corrcoef(X.T), np.corrcoef(y.T)
    expected = np.abs(after - before)[np.triu_indices(3, 1)].mean()
    assert CorrelationChange().measure(X, y).value == pytest.approx(expected)
