"""Release of a random sample instead of the whole file."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.errors import ParameterError
from shoal.facts import Count, OfPlan
from shoal.kernels.arrays import Floats, Longs
from shoal.mask.base import Mask
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.step_result import StepResult


@method("sample", title="Sampling", source="Hundepool et al. (2012), section 3.3.1", example={"fraction": 0.5})
class Sample(Mask):
    """Keeps a simple random sample without replacement; in proportion inside each stratum.

    Where the table has a household column, whole households are drawn. A weight column is multiplied by the
    inverse sampling fraction of its stratum, so that weighted totals stay unbiased. The order of the records
    stays.

    Parameters
    ----------
    fraction
        Share of the units (records, or households) to keep.
    size
        Number of units to keep, instead of a fraction.

    Notes
    -----
    Shares of strata are rounded by largest remainders, each stratum keeping at least one unit where the size
    allows it.
    """

    scales: ClassVar[Scales] = "memory"

    fraction: Annotated[Annotated[float, Gt(0), Le(1)] | None, Setting()] = None
    size: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.size is None):
            raise ParameterError("sample needs one of the parameters 'fraction' and 'size'; give exactly one.")

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        units, stratum = self._units(records)
        total = len(stratum)
        wanted = self.size if self.size is not None else max(min(1, total), round((self.fraction or 0.0) * total))
        if wanted > total:
            raise ParameterError(f"sample: size must be at most {total:,}, the number of units; got {wanted:,}.")
        sizes = np.bincount(stratum)
        shares = _largest_remainders(sizes, wanted)
        chosen = np.zeros(total, dtype=bool)
        for number, share in enumerate(shares):
            chosen[rng.choice(np.flatnonzero(stratum == number), int(share), replace=False)] = True
        kept = np.flatnonzero(chosen[units])
        factors = (sizes / np.maximum(shares, 1))[stratum][units]
        sampled = _reweighted(records, factors).take(kept)
        unit = "record" if records.households is None else "household"
        of_units = 1 if self.size is None else 0  # of the number kept: given, or a share of all
        facts = {
            "unit": OfPlan(unit),
            "units": Count(n=total, unit=f"{unit}s", influence=1),
            "units kept": Count(n=wanted, unit=f"{unit}s", influence=of_units),
            "records kept": Count(n=len(kept), influence=of_units if records.households is None else None),
        }
        return StepResult(records=sampled, facts=facts)

    def _units(self, records: Records) -> tuple[Longs, Longs]:
        """Unit of each record, and stratum of each unit (that of its first record)."""
        strata = records.strata
        stratum = np.zeros(len(records), dtype=np.int64) if strata is None else strata
        households = records.households
        if households is None:
            return np.arange(len(records), dtype=np.int64), stratum
        _, first = np.unique(households, return_index=True)
        return households, stratum[first]


def _reweighted(records: Records, factors: Floats) -> Records:
    names = records.names("weight")
    if not names:
        return records
    weight = records[names[0]]
    return records.with_variables(weight.with_values(weight.values * factors))


def _largest_remainders(sizes: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """Shares in proportion to sizes that add up to `wanted`."""
    exact = sizes * wanted / max(int(sizes.sum()), 1)
    shares = np.floor(exact).astype(np.int64)
    if wanted >= len(sizes):
        shares = np.maximum(shares, np.minimum(1, sizes))
    while (short := wanted - int(shares.sum())) != 0:
        gap = exact - shares
        if short > 0:
            shares[np.argsort(-gap, kind="stable")[:short]] += 1
        else:
            spare = np.flatnonzero(shares > 1)
            shares[spare[np.argsort(gap[spare], kind="stable")[:-short]]] -= 1
    return shares
