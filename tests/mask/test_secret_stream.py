"""Uniform whole numbers from a hash: their law, their freshness, and what they depend on."""

import numpy as np
import pytest
from scipy.stats import chisquare

from shoal.mask.secret_stream import SecretStream


@pytest.mark.parametrize("below", [1, 2, 3, 10, 2**16 + 1])
def test_numbers_are_uniform(below: int) -> None:
    x = SecretStream(np.random.default_rng(0)).integers(below, 60_000)
    assert x.min() >= 0
    assert x.max() < below
    cells = np.bincount(x * min(below, 50) // below)
    assert (
        len(cells) == 1
        or chisquare(
            cells, [np.sum(np.arange(below) * min(below, 50) // below == c) * 60_000 / below for c in range(len(cells))]
        ).pvalue
        > 1e-4
    )


def test_the_largest_range_is_exact() -> None:
    x = SecretStream(np.random.default_rng(0)).integers(2**62, 20_000)
    assert x.min() >= 0 and abs(float((x / 2**62).mean()) - 0.5) < 0.01
    x = SecretStream(np.random.default_rng(0)).integers(3 * 2**60, 60_000)  # a word in four is drawn again
    thirds = np.bincount(x // 2**60)
    assert chisquare(thirds).pvalue > 1e-4
    with pytest.raises(ValueError, match="range"):
        SecretStream(np.random.default_rng(0)).integers(2**62 + 1, 1)


def test_one_seed_gives_one_stream_and_two_streams_of_one_generator_differ() -> None:
    def numbers(rng: np.random.Generator) -> list[int]:
        return SecretStream(rng).integers(2**40, 5).tolist()

    assert numbers(np.random.default_rng(1)) == numbers(np.random.default_rng(1))
    assert numbers(np.random.default_rng(1)) != numbers(np.random.default_rng(2))
    rng = np.random.default_rng(1)
    assert numbers(rng) != numbers(rng)
    stream = SecretStream(np.random.default_rng(1))
    assert stream.integers(2**40, 5).tolist() != stream.integers(2**40, 5).tolist()


def test_the_key_holds_more_than_the_state_of_the_statistical_generator() -> None:
    """Two seeds whose generators are set to one state: whoever reconstructs the state has not got the stream."""
    one, two = np.random.default_rng(1), np.random.default_rng(2)
    two.bit_generator.state = one.bit_generator.state
    assert SecretStream(one).integers(2**40, 5).tolist() != SecretStream(two).integers(2**40, 5).tolist()
