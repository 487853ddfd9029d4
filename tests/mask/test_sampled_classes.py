"""Delta against an independent count of both laws, over many sizes of a class; and what classes are worth."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from by_night import crossed
from shoal.mask.sampled_classes import PARTS, UNIT, Expected, PrivateSample

CASES = [(0.1, 0.9), (0.5, 0.4), (1.0, 0.8), (1.0, 1.0), (2.0, 0.5), (3.0, 0.95), (5.0, 0.3)]
"""Epsilon, and the share of the largest probability."""


def drawing(epsilon, share):
    largest = PrivateSample.largest(Fraction(epsilon))
    return PrivateSample(epsilon=Fraction(epsilon), chance=int(share * largest.chance))


def apart(n, k, epsilon, beta):
    """By how much the laws of a class exceed exp(epsilon) times each other, summed outcome by outcome, both ways."""
    counts = np.arange(n + 1)
    laws = []
    for size in (n, n - 1):
        law = binom.pmf(counts, size, beta)
        laws.append(np.append(law[counts >= k], law[counts < k].sum()))
    return [np.maximum(p - math.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1])]


@pytest.mark.parametrize(("case", "k"), crossed(CASES, [1, 2, 7, 20]))
def test_delta_is_the_largest_excess_of_any_class_with_or_without_a_person(case, k):
    epsilon, share = case
    one = drawing(epsilon, share)
    sizes = [*range(1, 8 * k + 40), *range(8 * k + 40, 4000, 97)]
    with_person, without = zip(*(apart(n, k, epsilon, one.probability) for n in sizes))
    assert one.delta(k) == pytest.approx(max(with_person), rel=1e-6)
    assert max(without) < 1e-12  # a person taken away is never seen beyond epsilon


@pytest.mark.parametrize(("epsilon", "share"), CASES)
@pytest.mark.parametrize("delta", ["1e-2", "1e-5", "1e-9"])
def test_the_least_k_keeps_delta_and_one_less_does_not(epsilon, share, delta):
    one = drawing(epsilon, share)
    k = one.least_k(Decimal(delta))
    assert one.delta(k) <= float(delta)
    assert k == 1 or one.delta(k - 1) > float(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (2.0, 1e-6), (0.5, 1e-6)])
def test_it_needs_no_larger_k_than_the_bound_of_the_source(epsilon, delta):
    """Bild et al. (2018), theorem 2: delta is bounded by the probability that more than gamma n of n are drawn."""
    one = PrivateSample.largest(Fraction(epsilon))
    gamma = 1 - (1 - one.probability) * math.exp(-epsilon)

    def bound(k):
        n = np.arange(max(math.ceil(k / gamma - 1), 1), 40 * k + 400)
        return binom.sf(np.floor(gamma * n), n, one.probability).max()

    theirs = next(k for k in range(1, 1000) if bound(k) <= delta)
    ours = one.least_k(Decimal(delta))
    assert 0.5 * theirs < ours < theirs


def test_the_largest_probability_is_that_of_epsilon_rounded_down():
    for epsilon in (0.01, 1.0, 7.5):
        chance = PrivateSample.largest(Fraction(epsilon)).chance
        assert chance <= -math.expm1(-epsilon) * PARTS < chance + 1 + 1e-3


@settings(max_examples=25)
@given(k=st.integers(1, 25), chance=st.integers(PARTS // 10, PARTS - PARTS // 10))
def test_classes_are_worth_the_records_expected_of_them(k, chance):
    expected = Expected(chance=chance, k=k)
    beta = chance / PARTS
    counts = np.arange(1, len(expected.table))
    worth = beta * counts * binom.sf(k - 2, counts - 1, beta)  # E[B; B >= k] = c beta P[B(c - 1) >= k - 1]
    assert np.abs(expected.table[1:] / UNIT - worth).max() <= len(counts) / UNIT
    assert expected.table[0] == 0
    added = np.diff(expected.table)
    assert (added >= 0).all() and expected.slope >= 0
    assert max(added.max(initial=0), expected.slope) == expected.sensitivity
