"""Targeted record swapping: households at risk change places across geography."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Bools, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.prelude import Columns, Count, DataError, Ge, Le, ParameterError, Setting, method


@method(
    "targeted-swap", title="Targeted record swapping", source="Shlomo, Tudor & Groom (2010)", example_columns=("sex",)
)
class TargetedSwap(Mask):
    """Households whose members are rare where they live exchange their geography with alike households.

    The step's columns are the geography, from coarse to fine. Level by level, each household with a member
    who shares `by` with fewer than k persons in its area swaps its whole geography with a household of the
    same size that agrees on `similar` and lives in another area of that level (and, from the second level
    on, in the same area of the level above). Tables of households and persons by geography, size and
    `similar` stay exactly what they were, as does every table without geography.

    Parameters
    ----------
    by
        Columns by which a person may be recognised; by default the quasi-identifiers that are no geography.
    similar
        Columns that partners must agree on, member by member (in sorted order).
    k
        Persons who must share `by` in an area for a household not to be at risk.
    share
        Least share of the households that swap in all; if those at risk are fewer, more are drawn at random
        and swapped at the finest level.

    Notes
    -----
    Without a household column each record is a household. Households at risk without a partner stay and are
    counted in the record, so that a coarser `similar` can be tried.
    """

    scales = "memory"

    by: Annotated[tuple[str, ...] | None, Columns()] = None
    similar: Annotated[tuple[str, ...], Columns()] = ()
    k: Annotated[int, Ge(2)] = 3
    share: Annotated[float, Ge(0), Le(1), Setting()] = 0.05

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        geography = tuple(columns)
        if not geography:
            raise ParameterError("targeted-swap needs the geography as the step's columns, from coarse to fine.")
        home = records.households
        unit = np.arange(len(records), dtype=np.int64) if home is None else home
        _, first = np.unique(unit, return_index=True)
        areas = [records.classes(geography[: level + 1]).ids for level in range(len(geography))]
        if any((area[first][unit] != area).any() for area in areas):
            raise DataError("targeted-swap: all members of a household must have the same geography.")
        by = self.by or tuple(name for name in records.quasi_identifiers if name not in geography)
        if both := [name for name in (*by, *self.similar) if name in geography]:
            raise ParameterError(f"targeted-swap: '{both[0]}' is geography and cannot stand in by or similar.")
        profile = _profiles(records.classes(self.similar).ids, unit)
        partner = np.full(len(first), -1, dtype=np.int64)
        at_risk = np.zeros(len(first), dtype=bool)
        inside = np.zeros(len(first), dtype=np.int64)
        for level, area in enumerate(areas):
            rare = records.classes((*by, *geography[: level + 1])).of_record < self.k
            now = np.bincount(unit, weights=rare, minlength=len(first)) > 0
            at_risk |= now
            _swap(now, profile, inside, area[first], partner, rng)
            inside = area[first]
        risky = int((partner >= 0).sum())
        wanted = int(np.ceil(self.share * len(first)))
        above = areas[-2][first] if len(areas) > 1 else np.zeros(len(first), dtype=np.int64)
        everyone = np.ones(len(first), dtype=bool)
        _swap(everyone, profile, above, areas[-1][first], partner, rng, enough=wanted)
        place = np.where(partner >= 0, partner, np.arange(len(first)))
        rows = first[place][unit]
        facts = {
            "households": Count(n=len(first), unit="households", influence=1),
            "at risk": Count(n=int(at_risk.sum()), unit="households"),
            "at risk without a partner": Count(n=int((at_risk & (partner < 0)).sum()), unit="households"),
            "swapped for risk": Count(n=risky, unit="households"),
            "swapped": Count(n=int((partner >= 0).sum()), unit="households"),
        }
        return StepResult(
            records=records.with_variables(*(records[name].take(rows) for name in geography)), facts=facts
        )


def _profiles(similar: Longs, unit: Longs) -> Longs:
    """Shape (households,); equal where size and the members' `similar` values in sorted order are equal."""
    order = np.lexsort((similar, unit))
    sizes = np.bincount(unit)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    codes = sizes.astype(np.int64)
    for position in range(int(sizes.max(initial=0))):
        has = sizes > position
        value = np.full(len(sizes), -1, dtype=np.int64)
        value[has] = similar[order[starts[has] + position]]
        codes = np.unique(np.column_stack([codes, value]), axis=0, return_inverse=True)[1].astype(np.int64).ravel()
    return codes


def _swap(
    wanting: Bools, profile: Longs, above: Longs, area: Longs, partner: Longs, rng: Generator, enough: int | None = None
) -> None:
    """Pair each wanting household with an unswapped one alike in another area under the same area above.

    Stops as soon as `enough` households have a partner.
    """
    pools: dict[tuple[int, int], list[int]] = {}
    for h in rng.permutation(np.flatnonzero(partner < 0)).tolist():
        pools.setdefault((int(profile[h]), int(above[h])), []).append(h)
    paired = int((partner >= 0).sum())
    for h in rng.permutation(np.flatnonzero(wanting & (partner < 0))).tolist():
        if enough is not None and paired >= enough:
            return
        pool = pools[int(profile[h]), int(above[h])]
        for place in range(len(pool) - 1 if partner[h] < 0 else -1, -1, -1):
            other = pool[place]
            if partner[other] >= 0:
                pool.pop(place)
            elif area[other] != area[h]:
                partner[h], partner[other] = other, h
                paired += 2
                break
