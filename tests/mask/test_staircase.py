from fractions import Fraction

import numpy as np
import pytest

import shoal
from mask.test_private_noise import N, fits, noisy, stream
from shoal.mask.private_noise import staircase


def test_staircase_law_by_hand():
    """Sensitivity 4, first part 1 step, exp(-epsilon) = e^-1: weights 1 b b b | b b^2 b^2 b^2 | ... on |x|."""
    x = staircase(N, 4, 1, Fraction(1), stream(0))
    b = np.exp(-1)
    weight = np.array([b ** (j // 4 + (j % 4 >= 1)) for j in range(200)])
    total = weight[0] + 2 * weight[1:].sum()
    for value in (0, 1, 3, 4, 5, -1, -4):
        p = weight[abs(value)] / total
        assert (x == value).mean() == pytest.approx(p, abs=5 * np.sqrt(p / N))


def test_staircase_beats_laplace_for_large_epsilon():
    errors = [np.abs(noisy(cls, 5, 0, epsilon=6) - 5).mean() for cls in (shoal.Laplace, shoal.Staircase)]
    assert errors[0] == pytest.approx(10 / 6, rel=0.03) and errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize(("sensitivity", "width", "epsilon"), [(12, 3, 1), (64, 5, 4), (50, 1, 8), (7, 7, 2)])
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 3)])
def test_staircase_passes_chi_square(sensitivity, width, epsilon, part):
    law = Fraction(epsilon) + part

    def weight(j):
        return np.exp(-float(law) * (j // sensitivity + (j % sensitivity >= width)))

    assert fits(staircase(N, sensitivity, width, law, stream(6)), weight)


@pytest.mark.parametrize("epsilon", [50, 100])
def test_staircase_of_a_large_epsilon_ends_at_once(epsilon):
    """Nearly all of the mass is the first step of the first block: noise 0 in most cells."""
    x = staircase(N, 2**17, 1, Fraction(epsilon), stream(0))
    assert (x == 0).mean() > 1 - 1e-4
    assert np.abs(noisy(shoal.Staircase, 5, 0, epsilon=epsilon) - 5).max() < 1e-3
