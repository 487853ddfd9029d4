"""Change of means within subgroups."""

from typing import Annotated

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, Longs, TablePair, Variable
from shoal.judges.table_pair import ROUNDING, codes_like
from shoal.utility.base import OfColumns
from shoal.vocabulary.prelude import Ge, NoFigure, in_digits, method, of_original


@method("subgroup-means", title="Change of means in subgroups", source="Hundepool et al. (2012)")
class SubgroupMeans(OfColumns):
    """Mean absolute change of subgroup means, in standard deviations of the column, weighted by subgroup size.

    Subgroups are the original's categories of every nominal and ordinal column with at least `smallest` records; the
    means are those of every continuous column. A subgroup that is not in the release any more has the overall
    released mean there, which is what its user would be left with; such subgroups are counted.

    Parameters
    ----------
    smallest
        Fewest records of a subgroup in the original.
    """

    unchanged = 0.0

    smallest: Annotated[int, Ge(1)] = 10

    cheap = True

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names = pair.common(self.columns, "quasi-identifier", "confidential")
        numbers = [n for n in names if original[n].continuous and released[n].continuous and _varies(original[n])]
        groups = [n for n in names if not original[n].continuous and not released[n].continuous]
        pairs, lost = [], 0
        for group in groups:
            before = original[group].values.astype(np.int64)
            after = codes_like(original[group], released[group])
            sizes = np.bincount(before[before >= 0])
            chosen = np.flatnonzero(sizes >= self.smallest)
            lost += int((~np.isin(chosen, after)).sum())
            for number in numbers:
                x, y = _scaled(original[number].values, released[number].values)
                if np.isnan(y).all():
                    raise NoFigure(f"Column '{number}' has no value left in the release.")
                change = np.abs(_means(y, after, len(sizes)) - _means(x, before, len(sizes)))[chosen]
                usable = ~np.isnan(change)  # a subgroup without any original value of the column has no mean
                pairs += [(float(c), float(s), group, number) for c, s in zip(change[usable], sizes[chosen][usable])]
        if not pairs:
            raise NoFigure(
                f"There is no continuous column that varies, or no subgroup of {self.smallest} records or more."
            )
        changes, sizes = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        changes[changes < ROUNDING] = 0.0
        worst = pairs[int(changes.argmax())]
        value, largest = float((changes * sizes).sum() / sizes.sum()), float(changes.max())
        return self.finding(
            value,
            f"Means of subgroups move by {in_digits(value, 3)} standard deviations on average; most, by "
            f"{in_digits(largest, 3)}, that of '{worst[3]}' in a subgroup of '{worst[2]}'."
            if value
            else "No mean of a subgroup moves.",
            facts=of_original({"means compared": len(pairs), "largest": largest, "subgroups lost": lost}),
        )


def _varies(variable: Variable) -> bool:
    present = variable.values[~variable.missing]
    return len(present) > 1 and bool(np.ptp(present) > 0)


def _scaled(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    present = x[~np.isnan(x)]
    middle = float(np.median(present))
    spread = float((present - middle).std(ddof=1))
    return (x - middle) / spread, (y - middle) / spread


def _means(values: Floats, codes: Longs, count: int) -> Floats:
    """Shape (count,); mean of each subgroup, the overall one where a subgroup has no value."""
    present = (codes >= 0) & ~np.isnan(values)
    sizes = np.bincount(codes[present], minlength=count)[:count]
    sums = np.bincount(codes[present], weights=values[present], minlength=count)[:count]
    overall = float(values[~np.isnan(values)].mean())
    return np.asarray(np.where(sizes > 0, sums / np.maximum(sizes, 1), overall))
