"""Compositions of small classes, beside all of them written out."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.judges.compositions import chance_of_few, guess_at_random, guess_of_few, guess_of_named, guess_of_several


def chances(shares, size):
    """Every composition with its multinomial probability."""
    out = {}
    for counts in product(range(size + 1), repeat=len(shares)):
        if sum(counts) == size:
            ways = math.factorial(size) / math.prod(map(math.factorial, counts))
            out[counts] = ways * math.prod(p**n for p, n in zip(shares, counts))
    return out


def best(weights):
    whole = sum(weights.values())
    return max(weights.values()) / whole if whole > 0 else None


weights = st.lists(st.integers(0, 20), min_size=2, max_size=4).filter(lambda w: sum(w) > 0)


@given(weights=weights, size=st.integers(1, 7), k=st.integers(1, 4), others=st.sampled_from([0.0, 0.3, 1.0]))
def test_guesses_are_those_of_all_compositions_written_out(weights, size, k, others):
    shares = np.array(weights) / sum(weights)
    every = chances(shares.tolist(), size)
    named = np.arange(len(shares)) == 1
    few = {c: any(0 < n < k for n in c) for c in every}
    chance = chance_of_few(shares, size, k)
    assert chance == pytest.approx(sum(p for c, p in every.items() if few[c]), abs=1e-12)
    expected = [
        (guess_at_random(shares, size), every),
        (guess_of_several(shares, size), {c: p for c, p in every.items() if sum(n > 0 for n in c) > 1}),
        (guess_of_named(shares, size, named), {c: p for c, p in every.items() if c[1] > 0}),
        (guess_of_few(shares, size, k, chance, others), {c: p * (1 if few[c] else others) for c, p in every.items()}),
    ]
    for guess, allowed in expected:
        chance_of_best = best(allowed)
        if not chance_of_best:
            assert guess is None or guess.chance == pytest.approx(0, abs=1e-9)
            continue
        assert guess.chance == pytest.approx(chance_of_best, rel=1e-9)
        whole = sum(allowed.values())
        assert allowed[tuple(guess.counts.tolist())] / whole == pytest.approx(chance_of_best, rel=1e-9)


def test_a_pair_under_two_leaves_holds_one_of_each_for_certain():
    guess = guess_of_several(np.array([0.99, 0.01]), 2)
    assert guess.counts.tolist() == [1, 1] and guess.chance == pytest.approx(1)


def test_large_classes_have_few_of_a_part_as_if_parts_were_independent():
    """Of 1000 records, 2 expected of a rare part: the chance of 1 to 4 is that of a Poisson count, .812."""
    poisson = sum(math.exp(-2) * 2**n / math.factorial(n) for n in range(1, 5))
    assert chance_of_few(np.array([0.998, 0.002]), 1000, 5) == pytest.approx(poisson, abs=0.002)
