"""Top coding: the upper tail of a column gets one value."""

from shoal.mask.tails import TailCode
from shoal.vocabulary.registry import method


@method("top-code", title="Top coding", source="Hundepool et al. (2012), section 3.2.3", example={"k": 5})
class TopCode(TailCode):
    """All values at or above a bound become one, so that the highest ones cannot be told apart.

    The bound is a given value, a quantile, or as far out as leaves at least k records in the tail. Ties with
    the bound belong to the tail. Missing cells stay missing.
    """

    scales = "rows"
    sign = 1.0
    side = "at least"
