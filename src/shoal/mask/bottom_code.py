"""Bottom coding: the lower tail of a column gets one value."""

from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Lt

from shoal.mask.tails import TailCode
from shoal.methods import method


@method("bottom-code", title="Bottom coding", source="Hundepool et al. (2012), section 3.2.3")
class BottomCode(TailCode):
    """All values at or below a bound become one, so that the lowest ones cannot be told apart.

    The bound is a given value, a quantile, or as far out as leaves at least k records in the tail. Ties with
    the bound belong to the tail. Missing cells stay missing.

    Parameters
    ----------
    value
        The bound itself, in the column's units.
    quantile
        The bound as a quantile of the column, in (0, 1); a value that occurs.
    k
        Alone: the tail is the smallest that holds k records. With a value or a quantile: a tail of fewer
        than k records (but not none) is refused.
    replace
        What tail values become: the bound, the tail's mean (which keeps the column's mean and total), or a
        label, which makes the column ordinal.
    label
        The label; by default "at most" and the bound.
    together
        Several columns at once: a record beyond the bound of any target is coded in all of them, so that the
        records of the tail cannot be told apart by any target. With k alone, bounds move inwards in step,
        rank by rank, until the tail holds k records.
    weighted
        Sampling weights enter quantiles and means.
    """

    sign: ClassVar[float] = -1.0
    side: ClassVar[str] = "at most"

    value: float | None = None
    quantile: Annotated[float, Gt(0), Lt(1)] | None = None
    k: Annotated[int, Ge(1)] | None = None
    replace: Literal["bound", "mean", "label"] = "bound"
    label: str | None = None
    together: bool = False
    weighted: bool = False

    def __post_init__(self) -> None:
        self.check()
