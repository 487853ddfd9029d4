"""Staircase noise for differential privacy (Geng & Viswanath 2014): less error than Laplace for large epsilon."""

from fractions import Fraction
from math import exp
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shoal.kernels.arrays import Longs
from shoal.mask.private_noise import PrivateNoise, fine_grid, staircase
from shoal.methods import method


@method("staircase", title="Staircase noise (differential privacy)", source="Geng & Viswanath (2014)")
class Staircase(PrivateNoise):
    """Noise whose density falls by exp(-epsilon) in steps of the sensitivity: the least mean absolute error.

    Block j of the density, j <= |e| / sensitivity < j + 1, is flat at a exp(-epsilon j) over its first part
    and at a exp(-epsilon (j + 1)) over the rest; the first part is 1 / (1 + exp(epsilon / 2)) of the block, the
    optimum for the mean absolute error. The guarantee is that of laplace.

    Parameters
    ----------
    epsilon
        Privacy loss of a person through all columns of the step; each column gets an equal part.
    bounds
        [lowest, highest] value by column, stated from knowledge of the subject. Values outside count as the
        bound. Their distance is the sensitivity.
    records_per_person
        Records that one person may have in the table: epsilon is shared out among them.
    clamp
        Move noisy values back inside the bounds. It costs no privacy and biases means.
    grid
        Step of the grid on which values and noise lie; by default a power of two that divides the range of
        the bounds into 65 536 steps or more.

    Notes
    -----
    Drawn exactly on the grid with integers; the first part of a block is rounded to whole grid steps, which
    moves the optimum a little and the guarantee not at all. Closes the attack of Mironov (2012) on
    floating-point noise.
    """

    epsilon: Annotated[float, Gt(0)]
    bounds: dict[str, tuple[float, float]]
    records_per_person: Annotated[int, Ge(1)] = 1
    clamp: bool = False
    grid: Annotated[float, Gt(0)] | None = None

    def __post_init__(self) -> None:
        self.check()

    def grid_of(self, low: float, high: float) -> float:
        return self.grid if self.grid is not None else fine_grid(low, high)

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, rng: np.random.Generator) -> Longs:
        first = min(max(round(sensitivity / (1 + exp(min(float(epsilon), 1400.0) / 2))), 1), sensitivity)
        return staircase(n, sensitivity, first, epsilon, rng)
