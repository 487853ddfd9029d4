"""Replacement by the centre that a fuzzy clustering found, not by the mean of those who drew it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.replace.base import Replacement
from shoal.replace.centroid import Centroid
from shoal.table.group_models import Centres
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult, Variable
from shoal.vocabulary.prelude import Count, DataError, method


@method("fuzzy-centre", title="Centre of the fuzzy cluster", source="Torra (2017, 2020)")
class FuzzyCentre(Replacement):
    """Every record gets the centre that it drew, as step 3 of Algorithm 1 of Torra (2020) has it.

    The centre is that of the fuzzy clustering, in which every record of the table has a part; it satisfies the
    constraints that the clustering was given. (The mean of the records that drew it, which `centroid` would
    release, need not.) Needs a partition by fuzzy-c-means or entropy-fuzzy-c-means. Records that lack the same columns,
    and are too few for two groups, get their mean.
    """

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        centres = _centres(partition)
        if missing := [name for name in columns if name not in centres]:
            raise DataError(
                f"fuzzy-centre replaces the columns that were grouped by; '{missing[0]}' was not. "
                f"Leave it out, or partition by fuzzy-c-means or entropy-fuzzy-c-means over it."
            )
        means = Centroid(ancestors=False).apply(records, columns, partition, rng).records
        changed = [_changed(records[name], centres[name][partition.labels], means[name]) for name in columns]
        averaged = tuple(v.name for v in changed if v.continuous)
        return StepResult(
            records=records.with_variables(*changed),
            averaged=averaged,
            facts={"groups": Count(n=partition.n_groups, unit="groups")},
        )


def _changed(variable: Variable, centres: NDArray[Any], mean: Variable) -> Variable:
    """The column with its centres; known cells of a group that is too small to have one get its mean."""
    changed = variable.with_values(centres)
    without = changed.missing & ~variable.missing
    return changed.with_values(np.where(without, mean.values, centres))


def _centres(partition: Partition) -> Mapping[str, NDArray[Any]]:
    """The centres of all groups; those of a partition by strata stand one stratum after the other."""
    model = partition.model
    if isinstance(model, Centres):
        return model.columns
    parts = list(model.values()) if isinstance(model, dict) else []
    fitted = [part.columns for part in parts if isinstance(part, Centres)]
    names = dict.fromkeys(name for columns in fitted for name in columns)
    return {name: np.concatenate([_of_part(part, name, fitted) for part in parts]) for name in names}


def _of_part(part: Centres | None, name: str, fitted: Sequence[Mapping[str, NDArray[Any]]]) -> NDArray[Any]:
    """A column's centres in a part; missing if its records lack the column. A part without centres is one group."""
    if part is not None and name in part.columns:
        return part.columns[name]
    groups = 1 if part is None else len(next(iter(part.columns.values())))
    numbers = next(columns[name] for columns in fitted if name in columns).dtype.kind == "f"
    return np.full(groups, np.nan) if numbers else np.full(groups, -1, dtype=np.int32)
