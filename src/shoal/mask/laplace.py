"""Laplace noise for differential privacy (Dwork, McSherry, Nissim & Smith 2006), on a grid."""

from fractions import Fraction
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt

from shoal.kernels.arrays import Longs
from shoal.mask.private_noise import PrivateNoise, discrete_laplace, fine_grid
from shoal.methods import method


@method("laplace", title="Laplace noise (differential privacy)", source="Dwork et al. (2006); Mironov (2012)")
class Laplace(PrivateNoise):
    """Noise with density proportional to exp(-epsilon |e| / sensitivity), so that each cell is private.

    Every record reports its own cells through an epsilon-differentially private mechanism: from what is
    released, any two values inside the bounds remain almost equally likely, by a factor of at most
    exp(epsilon), whatever else an attacker knows. Columns left out of the step are not protected by it.
    Steps add up: the release's epsilon is the sum of its steps'.

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
    The noise is a discrete Laplace distribution on the grid, drawn exactly with integers. That closes the
    attack of Mironov (2012) on floating-point noise, whose low-order bits tell the value it was added to. The
    generator is the release's, seeded from the operating system: keep the seed as secret as the data.
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
        return discrete_laplace(n, epsilon / sensitivity, rng)
