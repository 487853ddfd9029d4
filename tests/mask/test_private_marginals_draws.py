"""Exact draws and their account, against exact probabilities."""

import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare, norm

from shoal.mask._marginals import exact_draws
from shoal.mask._marginals.account import rate_for, rho_of, variance_for
from shoal.mask._marginals.exact_draws import MOST_VARIANCE, bernoulli_exp_of, discrete_gaussian, exponential_choice
from shoal.mask.private_noise import bernoulli_exp, discrete_laplace
from shoal.mask.secret_stream import SecretStream


def stream(seed):
    return SecretStream(np.random.default_rng(seed))


class Enumerated:
    """A stream whose draws are laid down; it stops where they end."""

    def __init__(self, path):
        self.path, self.odds, self.next_range = list(path), Fraction(1), None

    def integers(self, below, size):
        assert size <= 1
        if not size:
            return np.zeros(0, dtype=np.int64)
        if not self.path:
            self.next_range = below
            raise PathEndError
        self.odds /= below
        return np.array([self.path.pop(0)])


class PathEndError(Exception):
    pass


def law_of(draw, least):
    """Every outcome of `draw` with its exact probability, but for paths less likely than `least`."""
    law, left, waiting = Counter(), Fraction(0), [()]
    while waiting:
        path = waiting.pop()
        tried = Enumerated(path)
        try:
            law[draw(tried)] += tried.odds
        except PathEndError:
            if tried.odds / tried.next_range < least:
                left += tried.odds
            else:
                waiting += [(*path, number) for number in range(tried.next_range)]
    return law, left


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 2), (1, 3), (2, 3), (3, 3), (5, 2), (9, 4)])
def test_coins_by_enumeration_of_all_draws(numerator, denominator):
    """All paths of random numbers, with whole numbers: what is cut off bounds the difference to the exact law."""

    def coin(source):
        return bool(bernoulli_exp_of([numerator], denominator, source)[0])

    law, left = law_of(coin, Fraction(1, 10**7))
    assert sum(law.values()) + left == 1
    assert left < Fraction(1, 50)
    assert float(law[True]) == pytest.approx(math.exp(-numerator / denominator), abs=float(left) + 1e-12)


def test_discrete_laplace_by_enumeration_of_all_draws():
    law, left = law_of(lambda source: int(discrete_laplace(1, Fraction(1, 2), source)[0]), Fraction(1, 5_000))
    total = sum(math.exp(-abs(x) / 2) for x in range(-200, 201))
    assert sum(law.values()) + left == 1
    assert left < Fraction(1, 3)
    for x, odds in law.items():
        exact = math.exp(-abs(x) / 2) / total
        assert float(odds) <= exact * (1 + 1e-12) and exact <= float(odds + left) + 1e-12


def test_proposal_and_coin_multiply_to_the_discrete_gaussian(monkeypatch):
    """|x| / t, of the proposal, and the coin's exponent add up to x^2 / (2 variance) and a constant, exactly."""
    for variance in (1, 2, 7, 1000, MOST_VARIANCE):
        at = np.arange(-50, 51)
        seen = []

        def coins(numerators, denominator, source, seen=seen):
            seen.append([Fraction(numerator, denominator) for numerator in numerators])
            return np.ones(len(numerators), dtype=bool)

        def proposals(n, rate, source, seen=seen, at=at):
            seen.append(rate)
            return at

        monkeypatch.setattr(exact_draws, "discrete_laplace", proposals)
        monkeypatch.setattr(exact_draws, "bernoulli_exp_of", coins)
        assert (discrete_gaussian(len(at), variance, stream(0)) == at).all()
        rate, exponents = seen
        beyond = {abs(x) * rate + e - Fraction(x * x, 2 * variance) for x, e in zip(at.tolist(), exponents)}
        assert len(beyond) == 1


@pytest.mark.parametrize("variance", [1, 2, 7, 30, 1000])
def test_the_discrete_gaussian_by_frequencies(variance):
    n = 60_000
    drawn = discrete_gaussian(n, variance, stream(variance))
    reach = math.ceil(2.5 * math.sqrt(variance))
    weights = {x: math.exp(-x * x / (2 * variance)) for x in range(-40 * reach, 40 * reach + 1)}
    total = sum(weights.values())
    exact = np.array([weights[x] / total for x in range(-reach, reach + 1)])
    counts = np.array([(drawn == x).sum() for x in range(-reach, reach + 1)])
    both = np.append(counts, n - counts.sum()), np.append(exact, 1 - exact.sum()) * n
    assert chisquare(*both).pvalue > 1e-5


def test_noise_of_the_wrong_variance_would_be_seen():
    drawn = discrete_gaussian(60_000, 25, stream(1))
    assert drawn.var() == pytest.approx(25, rel=0.04)
    assert abs(drawn.mean()) < 0.1


def test_choices_have_the_law_that_is_stated():
    scores, rate = np.array([5, 0, 3, -2000]), Fraction(1, 2)
    weights = np.exp(0.5 * (scores - 5))
    counts = Counter(exponential_choice(scores, rate, source) for source in map(stream, range(2000)))
    assert counts[3] == 0
    expected = 2000 * weights[:3] / weights.sum()
    assert chisquare([counts[i] for i in range(3)], expected * 2000 / expected.sum()).pvalue > 1e-5


def test_coins_of_large_exponents():
    n = 40_000
    assert bernoulli_exp_of([7] * n, 3, stream(0)).mean() == pytest.approx(math.exp(-7 / 3), abs=0.007)
    assert bernoulli_exp_of([0] * 50, 3, stream(0)).all()
    assert not bernoulli_exp_of([10**30] * 50, 3, stream(0)).any()
    assert (
        bernoulli_exp_of([1] * 500, 3, stream(4)) == bernoulli_exp(np.ones(500, dtype=np.int64), 3, stream(4))
    ).all()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_rho_is_that_of_the_best_order_and_less_than_a_gaussian_alone_would_get(epsilon, delta):
    """By a grid of orders; and by what Gaussian noise alone has exactly (Balle & Wang 2018)."""

    def least_delta(rho):
        orders = 1 + np.logspace(-3, 4, 20_001)
        logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
        return float(np.exp(logs.min()))

    rho = rho_of(Fraction(epsilon), Decimal(delta))
    assert least_delta(float(rho)) == pytest.approx(delta, rel=1e-4)
    assert least_delta(float(rho) * 1.001) > delta
    mu = math.sqrt(2 * float(rho))
    gaussian = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    assert delta / 30 < gaussian < delta


def test_noise_and_rates_cost_no_more_than_their_rho():
    for rho in (Fraction(1, 3), Fraction(1, 5000), Fraction(7, 10**6)):
        for sensitivity in (1, 3):
            variance = variance_for(rho, sensitivity)
            assert Fraction(sensitivity**2, 2 * variance) <= rho
            assert variance == 1 or Fraction(sensitivity**2, 2 * (variance - 1)) > rho
            rate = rate_for(rho, sensitivity)
            assert rho * (1 - Fraction(1, 1000)) < (2 * rate * sensitivity) ** 2 / 8 <= rho


def test_renyi_divergence_of_shifted_noise_is_within_rho():
    """Of counts one apart, at many orders, from the exact laws."""
    variance = variance_for(Fraction(1, 8), 1)
    x = np.arange(-200, 201)
    logs = [-((x - shift) ** 2) / (2 * variance) for shift in (0, 1)]
    p, q = (each - logsumexp(each) for each in logs)
    for order in (1.5, 2, 4, 8):
        divergence = logsumexp(order * p + (1 - order) * q) / (order - 1)
        assert 0.99 * order / 8 < divergence <= order / 8 * (1 + 1e-9)


def test_renyi_divergence_of_choices_is_within_rho():
    rho = Fraction(1, 8)
    rate = float(rate_for(rho, 1))
    scores = np.array([4, 0, 2, 2])
    worst = 0.0
    for moves in np.ndindex(3, 3, 3, 3):
        p, q = (np.exp(rate * s) for s in (scores, scores + np.array(moves) - 1))
        p, q = p / p.sum(), q / q.sum()
        for order in (1.1, 2, 5, 20):
            worst = max(worst, math.log((p**order * q ** (1 - order)).sum()) / (order - 1) / order)
    assert 0.5 / 8 < worst <= 1 / 8
