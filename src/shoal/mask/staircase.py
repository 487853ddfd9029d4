"""Staircase noise for differential privacy (Geng & Viswanath 2014): less error than Laplace for large epsilon."""

from fractions import Fraction

from shoal.kernels.arrays import Longs
from shoal.kernels.elementary import exp
from shoal.mask.private_noise import FineNoise, staircase
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.registry import method


@method(
    "staircase",
    title="Staircase noise (differential privacy)",
    source="Geng & Viswanath (2014)",
    example={"epsilon": 1.0, "bounds": {"age": (0, 100), "size": (0, 20)}},
)
class Staircase(FineNoise):
    """Noise whose density falls by exp(-epsilon) in steps of the sensitivity: the least mean absolute error.

    Block j of the density, j <= |e| / sensitivity < j + 1, is flat at a exp(-epsilon j) over its first part
    and at a exp(-epsilon (j + 1)) over the rest; the first part is 1 / (1 + exp(epsilon / 2)) of the block, the
    optimum for the mean absolute error. The guarantee is that of laplace.

    Notes
    -----
    Drawn exactly on the grid with integers; the first part of a block is rounded to whole grid steps, which
    moves the optimum a little and the guarantee not at all. Closes the attack of Mironov (2012) on
    floating-point noise.
    """

    scales = "memory"

    def steps(self, n: int, sensitivity: int, epsilon: Fraction, stream: SecretStream) -> Longs:
        first = min(max(round(sensitivity / (1 + float(exp(min(float(epsilon), 1400.0) / 2)))), 1), sensitivity)
        return staircase(n, sensitivity, first, epsilon, stream)
