"""Laplace noise for differential privacy (Dwork, McSherry, Nissim & Smith 2006), on a grid."""

from shoal.mask.private_noise import FineNoise
from shoal.vocabulary.registry import method


@method(
    "laplace",
    title="Laplace noise (differential privacy)",
    source="Dwork et al. (2006); Mironov (2012)",
    example={"epsilon": 1.0, "bounds": {"age": (0, 100), "size": (0, 20)}},
)
class Laplace(FineNoise):
    """Noise with density proportional to exp(-epsilon |e| / sensitivity), so that each cell is private.

    Every record reports its own cells through an epsilon-differentially private mechanism: whatever is
    released changes the odds between any two values of a person's cells by a factor of at most exp(epsilon),
    whatever else is known but the seed. Columns left out of the step are not protected by it, nor does it hide
    which cells are missing: they stay missing. Steps add up: the release's epsilon is the sum of its steps'. The noise
    comes before all other steps of a plan.

    Notes
    -----
    The noise is a discrete Laplace distribution on the grid, drawn exactly with integers. That closes the
    attack of Mironov (2012) on floating-point noise, whose low-order bits tell the value it was added to. The
    random numbers are cryptographic, from a seed by the operating system: keep the seed as secret as the data.
    """

    scales = "memory"
