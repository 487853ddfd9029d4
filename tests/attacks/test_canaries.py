"""Private marginals audited with canaries: no bound above epsilon, one near it, and broken promises found."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import shoal
from attacks.canaries import audited, bounds, epsilon_of_mu
from by_night import by_night

PAIRS = by_night(20, 60)
PROVED = by_night(1, 8 / 3)
"""What an attacker proves of an epsilon of 8 who hears the answers on so many pairs."""
DOUBT = 0.01


@pytest.fixture(scope="module")
def honest() -> dict[str, Any]:
    return audited(8.0, 1e-6, PAIRS)


def test_no_attacker_proves_more_than_epsilon_and_who_hears_the_answers_a_good_part(honest: dict[str, Any]) -> None:
    limits = {name: bounds(*seen, 1e-6, DOUBT) for name, seen in honest.items()}
    assert PROVED < limits["by_answers"].at_least < 8
    for attacker in limits.values():
        assert attacker.at_least <= 8
        assert attacker.by_threshold <= 8
        assert attacker.at_least <= attacker.at_most
    with_it, without = honest["by_records"]
    assert with_it.mean() > without.mean()  # the release is not blind to a record that nobody is like
    assert limits["by_records"].at_least < limits["by_answers"].at_most


class HalfTheNoise(shoal.PrivateMarginals):
    """Whoever wrote it took the standard deviation for the variance's half."""

    def mechanism(self, codes: Any, shape: Any, stream: Any) -> Any:
        return Quieter(super().mechanism(codes, shape, stream))


class Quieter:
    def __init__(self, mechanism: Any) -> None:
        self.mechanism = mechanism

    def measure(self, columns: Any, rho: Fraction) -> Any:
        answer = self.mechanism.measure(columns, 25 * rho)
        return replace(answer, variance=25 * answer.variance)

    def choose(self, *asked: Any) -> int:
        return int(self.mechanism.choose(*asked))


def test_too_little_noise_and_a_person_of_many_records_are_found() -> None:
    for broken in ({"cls": HalfTheNoise}, {"records": 5}):
        seen = audited(2.0, 1e-6, by_night(12, 30), **broken)  # type: ignore[arg-type]
        assert bounds(*seen["by_answers"], 1e-6, DOUBT).at_least > 2.0


def test_bounds_are_those_of_normal_laws() -> None:
    """Two laws that are mu apart: the bounds enclose their epsilon, and the threshold's is one that is true."""
    rng = np.random.default_rng(0)
    for mu in (0.2, 1.0, 2.5):
        x, y = rng.normal(mu, 1, 4000), rng.normal(0, 1, 4000)
        true = epsilon_of_mu(mu, 1e-6)
        delta = norm.cdf(mu / 2 - true / mu) - np.exp(true) * norm.cdf(-mu / 2 - true / mu)
        assert delta == pytest.approx(1e-6, rel=1e-3)
        limits = bounds(x, y, 1e-6, DOUBT)
        assert limits.at_least < true < limits.at_most
        assert 0 <= limits.by_threshold < true
    assert bounds(y, y, 1e-6).at_least == 0
