from fractions import Fraction

import numpy as np
import pytest

from mask.test_private_noise import N, fits, stream
from shoal.mask.private_noise import discrete_laplace


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(7, 2)])
def test_discrete_laplace_has_its_law(rate):
    x = discrete_laplace(N, rate, stream(0))
    q = np.exp(-float(rate))
    for value in range(-3, 4):
        p = (1 - q) / (1 + q) * q ** abs(value)
        assert (x == value).mean() == pytest.approx(p, abs=5 * np.sqrt(p / N))


@pytest.mark.parametrize("rate", [Fraction(1, 30), Fraction(2, 3), Fraction(5, 2)])
def test_discrete_laplace_passes_chi_square(rate):
    assert fits(discrete_laplace(N, rate, stream(5)), lambda j: np.exp(-float(rate) * j))
    assert not fits(discrete_laplace(N, rate, stream(5)), lambda j: np.exp(-1.1 * float(rate) * j))
