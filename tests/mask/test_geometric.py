"""The geometric mechanism: noise in whole numbers."""

import numpy as np
import pytest

import shoal
from mask.test_private_noise import N, noisy
from shoal.table.records import Records


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 20.0])
def test_its_law_between_two_bounds(epsilon):
    """P[x + j] is (1 - q) / (1 + q) q^|j|, q = exp(-epsilon / 10), 10 being the distance of the bounds."""
    out = noisy(shoal.Geometric, 5, 3, epsilon=epsilon)
    q = np.exp(-epsilon / 10)
    for j in range(-4, 5):
        p = (1 - q) / (1 + q) * q ** abs(j)
        assert (out == 5 + j).mean() == pytest.approx(p, abs=5 * np.sqrt(p / N))


def test_whole_numbers_stay_whole_and_others_become_so():
    values = np.array([0.0, 2.4, 2.6, 10.0])
    records = Records.from_array(values)
    masked = shoal.Geometric(epsilon=50, bounds={"x0": (0, 10)}).apply(records, ["x0"], np.random.default_rng(0))
    out = masked.records.raw()[:, 0]
    assert (out == np.rint(out)).all()
    assert np.abs(out - [0, 2, 3, 10]).max() <= 2
