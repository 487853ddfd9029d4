"""Whole numbers that nobody can foresee who does not know the seed, for noise on which a proof rests.

A statistical generator's state can be computed from its output, and with it the noise of every other cell. Here
numbers come from SHAKE-256 (FIPS 202), an extendable-output hash, of a key and a counter: telling them from true
random ones is telling SHAKE-256 from a random function. The key holds the entropy of the release's seed, by default
128 bits from the operating system, and the state of the step's generator, so that no two steps share a key.
"""

from hashlib import shake_256

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Longs

WORD = 8
"""Bytes of a number before it is reduced to its range."""

LARGEST_RANGE = 2**62
"""At most a quarter of the words is then drawn again."""


class SecretStream:
    """A source of uniform whole numbers.

    `rng`: the step's generator; it moves on, so that a second stream from it has another key.
    """

    def __init__(self, rng: Generator) -> None:
        seed = rng.bit_generator.seed_seq
        origin = f"{getattr(seed, 'entropy', None)} {getattr(seed, 'spawn_key', None)} ".encode()
        self._key = shake_256(origin + rng.bytes(32)).digest(32)
        self._drawn = 0

    def integers(self, below: int, size: int) -> Longs:
        """Shape (size,); uniform on 0 to below - 1, exactly, for 1 <= below <= 2^62."""
        if not 1 <= below <= LARGEST_RANGE:
            raise ValueError(f"the range of a draw must be 1 to {LARGEST_RANGE}")
        fair = np.uint64(2**64 - 2**64 % below - 1)  # words up to this hold every remainder equally often
        words = self._words(size)
        while len(again := np.flatnonzero(words > fair)):
            words[again] = self._words(len(again))
        return (words % np.uint64(below)).astype(np.int64)

    def _words(self, size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        self._drawn += 1
        drawn = shake_256(self._key + self._drawn.to_bytes(WORD, "little")).digest(WORD * size)
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64)
