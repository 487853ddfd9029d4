import numpy as np
import pytest

from shoal.utility.eigenvalues import Eigenvalues


def test_eigenvalues_by_hand():
    # Correlation 0.6: eigenvalues 1.6 and 0.4; correlation 0: 1 and 1. |1 - 1.6| / 1.6 + |1 - 0.4| / 0.4.
    base = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    root = np.linalg.cholesky(np.array([[1, 0.6], [0.6, 1]]))
    assert Eigenvalues(figure="sum").measure(base @ root.T, base).value == pytest.approx(0.6 / 1.6 + 0.6 / 0.4)


def test_eigenvalues_of_columns_that_determine_one_another(rng):
    x = rng.normal(size=(50, 2))
    x = np.column_stack([x, x.sum(axis=1)])
    finding = Eigenvalues().measure(x, x + 0.1 * rng.normal(size=x.shape))
    assert 0 < finding.value < 1
    assert finding.details["eigenvalues left out"] == 1
    assert "'x0'" in Eigenvalues().measure(x, np.column_stack([np.ones(50), x[:, 1:]])).reason


def test_tables_of_other_lengths_have_eigenvalues_too():
    # A correlation of r has the eigenvalues 1 + r and 1 - r: from r = 0.6 to r = 0 they go from 1.6 and 0.4 to 1.
    x = np.array([[1.0, 1], [1, 1], [1, 1], [1, 1], [-1, -1], [-1, -1], [-1, -1], [-1, -1], [1, -1], [-1, 1]])
    y = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert Eigenvalues(figure="sum").measure(x, y).value == pytest.approx(0.6 / 1.6 + 0.6 / 0.4)


def test_the_mean_does_not_grow_with_the_columns(rng):
    wide = rng.normal(size=(200, 8))
    noisy = wide + 0.1 * rng.normal(size=wide.shape)
    mean, total = Eigenvalues().measure(wide, noisy).value, Eigenvalues(figure="sum").measure(wide, noisy).value
    assert total == pytest.approx(8 * mean)
