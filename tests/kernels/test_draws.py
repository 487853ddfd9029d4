"""Draws are those of NumPy's generators, but for the last digits of values with a logarithm in them."""

import numpy as np
import pytest

from shoal.kernels.draws import BITS, TAIL, chi_squared, dirichlet, standard_normal


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def whole(x: np.ndarray) -> np.ndarray:
    """Whether values have BITS binary digits."""
    share = np.ldexp(np.frexp(x)[0], BITS)
    return share == np.rint(share)


def test_normal_values_are_rounded_in_the_tails_only() -> None:
    x, plain = standard_normal(rng(), (100_000, 2)), rng().standard_normal((100_000, 2))
    tails = np.abs(plain) > TAIL
    assert 10 < tails.sum() < 200
    assert (x[~tails] == plain[~tails]).all()
    assert whole(x[tails]).all() and not whole(plain[tails]).any()
    assert x == pytest.approx(plain, rel=2.0**-BITS, abs=0)


def test_chi_squared_values_are_rounded() -> None:
    freedom = np.repeat([[0.5], [1.0], [2.0], [30.0]], 500, axis=1)
    x = chi_squared(rng(), freedom)
    assert whole(x).all()
    assert x == pytest.approx(rng().chisquare(freedom), rel=2.0**-BITS, abs=0)


def test_dirichlet_values() -> None:
    x = dirichlet(rng(), 4, 200)
    assert x.sum(axis=1) == pytest.approx(np.ones(200))
    assert x == pytest.approx(rng().dirichlet(np.ones(4), 200), rel=1e-7)


def test_a_last_digit_that_differs_does_not_show() -> None:
    """As another processor's logarithm would make it."""

    class Elsewhere(np.random.Generator):
        def standard_normal(self, size: object) -> np.ndarray:  # type: ignore[override]
            return np.nextafter(super().standard_normal(size), np.inf)

        def chisquare(self, freedom: object) -> np.ndarray:  # type: ignore[override]
            return np.nextafter(super().chisquare(freedom), np.inf)

    there = Elsewhere(np.random.PCG64(5))
    here, other = standard_normal(rng(), 100_000), standard_normal(there, 100_000)
    tails = np.abs(here) > TAIL
    assert (here[tails] == other[tails]).all() and tails.any()
    freedom = np.full(1000, 0.7)
    assert (chi_squared(rng(), freedom) == chi_squared(Elsewhere(np.random.PCG64(5)), freedom)).all()
