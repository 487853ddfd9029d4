"""Microaggregation by groups of attributes (Hundepool et al. 2012, section 3.3.2)."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from shoal.kernels import linear
from shoal.mask.base import Mask
from shoal.table.prelude import Floats, Generator, Partition, Progress, Records, StepResult, tracked
from shoal.vocabulary.errors import DataError, ParameterError, Refused, plural, quoted
from shoal.vocabulary.prelude import Columns, Count, Ge, Nested, OfPlan, method, nested, of_original
from shoal.vocabulary.registry import build

CLOSURE = 1e-9
"""Relative error of rounding within which SST = SSA + SSE must close."""


@method(
    "microaggregate-columns",
    title="Microaggregation by groups of columns",
    source="Hundepool et al. (2012), section 3.3.2",
    example={"grouping": {"method": "mdav", "k": 3}, "size": 1},
)
class MicroaggregateColumns(Mask):
    """Partitions the columns into groups and microaggregates each group of columns on its own.

    The fewer columns are grouped at once, the less information is lost, and the less is protected:
    **records share their values with k - 1 others only within each group of columns**. Whoever knows columns
    of two groups may single a record out. The result proves k-anonymity for each group of columns, and for no
    more; state requirements with `columns` to match.

    Parameters
    ----------
    grouping
        The partition method for each group of columns, as `{method: mdav, k: 5}`.
    groups
        The groups of columns, by hand; every column of the step once.
    size
        Instead: largest number of columns in a group. Groups are joined by correlation: the two groups with
        the largest mean absolute correlation of their columns first, as long as they fit.
    replacement
        What records get in place of their values.

    Notes
    -----
    For each group of columns the record holds SSE, SSA and SST in the standardised columns without missing cells, with
    SST = SSA + SSE checked, and the information loss 100 SSE / SST.
    """

    scales = "memory"

    grouping: Annotated[Any, nested("partition")]
    groups: Annotated[tuple[tuple[str, ...], ...] | None, Columns()] = None
    size: Annotated[int, Ge(1)] | None = None
    replacement: Annotated[Any, nested("replace")] = None

    def __post_init__(self) -> None:
        if (self.groups is None) == (self.size is None):
            raise ParameterError(
                "microaggregate-columns needs one of the parameters 'groups' and 'size'; give exactly one."
            )

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        k = int(self.grouping.smallest)
        replacement = self.replacement or build("replace", "centroid")
        out = records
        facts: dict[str, Nested] = {}
        averaged: list[str] = []
        groups = self._groups(records, columns) if len(records) else ()
        for names in tracked(groups, progress):
            part = self.grouping.partition(records, columns=names, seed=rng)
            change = replacement.apply(records, names, part, rng)
            out = out.with_variables(*(change.records[name] for name in names))
            averaged += change.averaged
            shared = change.records.matching(names)
            if self.replacement is None and (short := int((shared < k).sum())):
                raise Refused(
                    f"microaggregate-columns: {plural(short, 'record')} would share the values of {quoted(names)} "
                    f"with fewer than {k - 1:,} others. Nothing is released."
                )
            facts[", ".join(names)] = Nested(
                {
                    "groups": Count(n=part.n_groups, unit="groups"),
                    "smallest group": Count(n=part.k),
                    **of_original(
                        _sums_of_squares(records.matrix(name for name in names if records[name].complete), part)
                    ),
                    "records that share their values, at least": Count(n=int(shared.min())),
                }
            )
        return StepResult(
            records=out,
            averaged=tuple(averaged),
            facts={
                "column groups": Nested(facts),
                "warning": OfPlan("k-anonymity holds within each group of columns only"),
            },
        )

    def _groups(self, records: Records, columns: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        if self.groups is None:
            return _by_correlation(records, columns, int(self.size or 1))
        named = [name for group in self.groups for name in group]
        if sorted(named) != sorted(columns):
            raise ParameterError("microaggregate-columns: groups must name every column of the step once.")
        return tuple(group for group in self.groups if group)


def _by_correlation(records: Records, columns: Sequence[str], size: int) -> tuple[tuple[str, ...], ...]:
    """Groups of at most `size` columns, joined by mean absolute correlation, greedily."""
    for name in columns:
        if not records[name].continuous:
            raise DataError(
                f"Column '{name}' is {records[name].level}; groups by correlation need continuous columns. "
                f"Name the groups by hand."
            )
    if size == 1:
        return tuple((name,) for name in columns)
    r = np.abs(_correlations(records.raw(columns)))
    groups = [[j] for j in range(len(columns))]
    while True:
        pairs = [
            (float(r[np.ix_(a, b)].mean()), i, j)
            for i, a in enumerate(groups)
            for j, b in enumerate(groups)
            if i < j and len(a) + len(b) <= size
        ]
        if not pairs:
            return tuple(tuple(columns[j] for j in sorted(group)) for group in groups)
        _, i, j = max(pairs, key=lambda pair: (pair[0], -pair[1], -pair[2]))
        groups[i] += groups.pop(j)


def _correlations(x: Floats) -> Floats:
    """Shape (d, d); correlations, each over the records that know both columns, about the means of all known cells."""
    known = ~np.isnan(x)
    counts = known.sum(axis=0)
    middle = np.where(known, x, 0.0).sum(axis=0) / np.where(counts > 0, counts, 1)
    centred = np.where(known, x - middle, 0.0)
    squares = linear.cross_product(centred**2, known.astype(np.float64))
    spread = np.sqrt(squares * squares.T)
    return np.asarray(linear.cross_product(centred, centred) / np.where(spread > 0, spread, 1.0))


def _sums_of_squares(x: Floats, part: Partition) -> dict[str, float]:
    centre = x.mean(axis=0)
    sse = part.sse(x)
    ssa = float((part.sizes[:, None] * (part.means(x) - centre) ** 2).sum())
    sst = float(((x - centre) ** 2).sum())
    if abs(sst - ssa - sse) > CLOSURE * max(sst, 1.0):
        raise Refused("microaggregate-columns: SST = SSA + SSE does not close; the columns span too many magnitudes.")
    return {"SSE": sse, "SSA": ssa, "SST": sst, "information loss in percent": 100 * sse / sst if sst > 0 else 0.0}
