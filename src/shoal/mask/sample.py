"""Release of a random sample instead of the whole file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from shoal.mask.base import Mask
from shoal.table.prelude import Bools, Floats, Generator, Longs, Progress, Records, StepResult
from shoal.table.schema import default_unit
from shoal.vocabulary.prelude import Count, Facts, Ge, Gt, Le, OfPlan, ParameterError, Setting, method


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DrawnUnits:
    """Units that were drawn."""

    chosen: Bools  # Shape (m,); which units
    factors: Floats  # Shape (s,); what a weight is multiplied by, in each stratum


@method("sample", title="Sampling", source="Hundepool et al. (2012), section 3.3.1", example={"fraction": 0.5})
class Sample(Mask):
    """Keeps a simple random sample without replacement; in proportion inside each stratum.

    Where the table has a household or person column, whole households, or else persons, are drawn. A weight column is
    multiplied by the inverse sampling fraction of its stratum, so that weighted totals stay unbiased. The order of the
    records stays.

    Parameters
    ----------
    fraction
        Share of the units (records, persons or households) to keep.
    size
        Number of units to keep, instead of a fraction.

    Notes
    -----
    Shares of strata are rounded by largest remainders, each stratum keeping at least one unit where the size
    allows it.
    """

    scales = "rows"
    reads_others = False
    draws_units = True

    fraction: Annotated[Annotated[float, Gt(0), Le(1)] | None, Setting()] = None
    size: Annotated[int, Ge(1)] | None = None

    def __post_init__(self) -> None:
        if (self.fraction is None) == (self.size is None):
            raise ParameterError("sample needs one of the parameters 'fraction' and 'size'; give exactly one.")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        units, stratum = self._units(records)
        drawn = self.draw(stratum, rng)
        sampled = self.kept_of(records, drawn.chosen[units], drawn.factors[stratum][units])
        facts = self.facts_of(drawn, len(sampled), unit=default_unit(records.names))
        return StepResult(records=sampled, facts=facts)

    def draw(self, stratum: Longs, rng: Generator) -> DrawnUnits:
        """Draw units. `stratum`, shape (m,): of each unit of the table."""
        total = len(stratum)
        wanted = self.size if self.size is not None else max(min(1, total), round((self.fraction or 0.0) * total))
        if wanted > total:
            raise ParameterError(f"sample: size must be at most {total:,}, the number of units; got {wanted:,}.")
        sizes = np.bincount(stratum)
        shares = _largest_remainders(sizes, wanted)
        chosen = np.zeros(total, dtype=bool)
        for number, share in enumerate(shares):
            chosen[rng.choice(np.flatnonzero(stratum == number), int(share), replace=False)] = True
        return DrawnUnits(chosen=chosen, factors=sizes / np.maximum(shares, 1))

    def kept_of(self, records: Records, kept: Bools, factors: Floats) -> Records:
        """Take the records that are kept; their weights are multiplied by the factors."""
        weights = [records[name] for name in records.names("weight")[:1]]
        reweighted = records.with_variables(*(weight.with_values(weight.values * factors) for weight in weights))
        return reweighted.take(np.flatnonzero(kept))

    def facts_of(self, drawn: DrawnUnits, kept: int, *, unit: str) -> Facts:
        """Facts about a sample of so many records."""
        of_units = 1 if self.size is None else 0  # of the number kept: given, or a share of all
        return {
            "unit": OfPlan(unit),
            "units": Count(n=len(drawn.chosen), unit=f"{unit}s", influence=1),
            "units kept": Count(n=int(drawn.chosen.sum()), unit=f"{unit}s", influence=of_units),
            "records kept": Count(n=kept, influence=of_units if unit == "record" else None),
        }

    def _units(self, records: Records) -> tuple[Longs, Longs]:
        """Unit of each record, and stratum of each unit (that of its first record)."""
        strata = records.strata
        stratum = np.zeros(len(records), dtype=np.int64) if strata is None else strata
        units = records.largest_units
        if units is None:
            return np.arange(len(records), dtype=np.int64), stratum
        _, first = np.unique(units, return_index=True)
        return units, stratum[first]


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
