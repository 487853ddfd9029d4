"""Two-sided geometric noise for differential privacy of whole numbers (Ghosh, Roughgarden & Sundararajan 2012)."""

from shoal.mask.private_noise import PrivateNoise
from shoal.vocabulary.prelude import ParameterError, method


@method(
    "geometric",
    title="Geometric noise (differential privacy)",
    source="Ghosh, Roughgarden & Sundararajan (2012)",
    example={"epsilon": 1.0, "bounds": {"age": (0, 100), "size": (0, 20)}},
)
class Geometric(PrivateNoise):
    """Whole-number noise with P[e] proportional to exp(-epsilon |e| / sensitivity), for counts and codes.

    The guarantee is that of laplace; released values are whole numbers. Values that are no whole numbers
    are rounded first.

    Notes
    -----
    Drawn exactly with integers (Canonne, Kamath & Steinke 2020), so that the attack of Mironov (2012) on the
    low-order bits of floating-point noise finds nothing.
    """

    scales = "memory"

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(low != int(low) or high != int(high) for low, high in self.bounds.values()):
            raise ParameterError("geometric: bounds must be whole numbers.")

    def grid_of(self, low: float, high: float) -> float:
        return 1.0
