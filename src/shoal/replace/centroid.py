"""Replacement by the group's centre: what microaggregation releases."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Lt
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints, ints
from shoal.kernels.elementary import exp, log
from shoal.replace.base import Replacement
from shoal.table.hierarchy import Hierarchy
from shoal.table.prelude import Dealing, Generator, Partition, Progress, Records, StepResult, Variable
from shoal.table.standardisation import check_positive
from shoal.vocabulary.prelude import Count, DataError, Ge, Setting, method

ROUNDING = 1e-12
"""By how much a share of a group's size may miss a whole number: 0.1 times 30 is 3."""


@method("centroid", title="Centroid of the group", source="Domingo-Ferrer & Torra (2005)")
class Centroid(Replacement):
    """Every record gets its group's centre, so that the records of a group cannot be told apart.

    Continuous columns get the mean, the geometric or the trimmed mean, the median or the medoid's value; ordinal ones
    the (lower) median; nominal ones the mode, of equally frequent categories the one most frequent in the whole table,
    or with `ancestors` the nearest common ancestor in the column's hierarchy. Missing cells do not count; they stay
    missing, but for nominal columns that get the mode.

    Parameters
    ----------
    continuous
        Centre of continuous columns. The geometric mean is the mean of logarithms, for positive numbers; with
        `scale: log` for the columns, groups are formed by logarithms, too. The medoid is the member nearest to the
        group's mean over all replaced columns, so its values occur in the data.
    trim
        The trimmed mean leaves out the lowest and the highest values: of a group's this share at each end, rounded
        down.
    ancestors
        Generalise nominal columns that have a hierarchy to the nearest common ancestor; not those in which missing
        is a category, since it has no ancestor.
    weighted
        Sampling weights enter means and modes, and trimmed means by the values left; medians, medoids and ancestors are
        those of the records.
    """

    continuous: Literal["mean", "geometric mean", "trimmed mean", "median", "medoid"] = "mean"
    trim: Annotated[float, Ge(0), Lt(0.5), Setting()] = 0.2
    ancestors: bool = True
    weighted: bool = False

    @property
    def dealing(self) -> Dealing:
        return "records" if self.continuous == "medoid" else "drawn"

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        weights = records.weights if self.weighted else None
        if self.weighted and weights is None:
            raise DataError("centroid: weighted needs a column with the role weight; the table has none.")
        medoids = _medoids(records, columns, partition) if self.continuous == "medoid" else None
        changed = [self._column(records[name], partition, weights, medoids) for name in columns]
        averaged = tuple(v.name for v in changed if v.continuous and medoids is None)
        return StepResult(
            records=records.with_variables(*changed),
            averaged=averaged,
            facts={"groups": Count(n=partition.n_groups, unit="groups")},
        )

    def _column(
        self, variable: Variable, partition: Partition, weights: Floats | None, medoids: Ints | None
    ) -> Variable:
        if variable.continuous and medoids is not None:
            return variable.with_values(variable.values[medoids][partition.labels])
        if variable.continuous and self.continuous == "geometric mean":
            check_positive(variable.values, variable.name, "the geometric mean")
            logs = variable.with_values(log(variable.values))
            return variable.with_values(exp(_of_known_cells(logs, partition, "mean", weights)))
        if variable.continuous:
            return variable.with_values(_of_known_cells(variable, partition, self.continuous, weights, self.trim))
        ancestors = variable.hierarchy is not None and self.ancestors and None not in variable.categories
        if variable.level == "ordinal":
            return variable.with_values(_of_known_cells(variable, partition, "lower median", None))
        if variable.hierarchy is not None and ancestors:
            return _ancestors_of_known_cells(variable, variable.hierarchy, partition)
        return variable.with_values(_modes(variable, partition, weights)[partition.labels])


def _of_known_cells(
    variable: Variable, partition: Partition, centre: str, weights: Floats | None, trim: float = 0.0
) -> NDArray[Any]:
    """Shape (n,); the centres of the known cells of each group, where a cell is known."""
    if variable.complete:
        return _centres(variable.values, partition, centre, weights, trim)
    present = np.flatnonzero(~variable.missing)
    values = variable.values.copy()
    if len(present):
        part = Partition.of(partition.labels[present])
        values[present] = _centres(values[present], part, centre, None if weights is None else weights[present], trim)
    return values


def _centres(
    values: NDArray[Any], partition: Partition, centre: str, weights: Floats | None, trim: float
) -> NDArray[Any]:
    """Shape (n,); each group's mean, trimmed or not, or median: the middle of the two middle values, or the lower."""
    if centre == "mean":
        return partition.means(values[:, None], weights)[:, 0][partition.labels]
    order = np.lexsort((values, partition.labels))
    starts = np.concatenate([[0], np.cumsum(partition.sizes)[:-1]])
    if centre == "trimmed mean":
        cut = np.floor(trim * partition.sizes * (1 + ROUNDING)).astype(np.int64)[partition.labels[order]]
        place = np.arange(len(values)) - starts[partition.labels[order]]
        middle = (place >= cut) & (place < partition.sizes[partition.labels[order]] - cut)
        kept = np.zeros(len(values))
        kept[order[middle]] = 1.0 if weights is None else weights[order[middle]]
        return partition.means(values[:, None], kept)[:, 0][partition.labels]
    low = values[order[starts + (partition.sizes - 1) // 2]]
    if centre == "median":
        high = values[order[starts + partition.sizes // 2]]
        low = low + (high - low) / 2
    return np.asarray(low[partition.labels])


def _modes(variable: Variable, partition: Partition, weights: Floats | None) -> Ints:
    """Most frequent code of each group; ties go to the category more frequent overall, then the first.

    Missing cells do not count; a group that has no others is missing, -1.
    """
    m, present = len(variable.categories), variable.values >= 0
    overall = np.bincount(variable.values[present], minlength=m)
    rank = np.empty(m, dtype=np.int64)
    rank[np.lexsort((np.arange(m), -overall))] = np.arange(m)
    cells = partition.labels[present].astype(np.int64) * m + rank[variable.values[present]]
    pairs, where = np.unique(cells, return_inverse=True)
    counts = np.bincount(where, weights=None if weights is None else weights[present])
    groups = pairs // m
    best = np.lexsort((pairs % m, -counts, groups))
    some, first = np.unique(groups[best], return_index=True)
    modes = np.full(partition.n_groups, -1, dtype=np.int32)
    modes[some] = np.argsort(rank)[pairs[best[first]] % m]
    return modes


def _ancestors_of_known_cells(variable: Variable, hierarchy: Hierarchy, partition: Partition) -> Variable:
    """The nearest common ancestor of the known cells of each group, where a cell is known."""
    present = np.flatnonzero(~variable.missing)
    if not len(present):
        return variable
    known = replace(variable, values=variable.values[present])
    changed = _ancestors(known, hierarchy, Partition.of(partition.labels[present]))
    values = np.full(len(variable), -1, dtype=np.int32)
    values[present] = changed.values
    return replace(changed, values=values)


def _ancestors(variable: Variable, hierarchy: Hierarchy, partition: Partition) -> Variable:
    """The nearest common ancestor of each group: the lowest level at which its first and last label agree."""
    labels, nodes = [str(c) for c in variable.categories], hierarchy.nodes()
    hierarchy.codes([label for label in labels if label not in nodes])  # refuses labels that it lacks
    first = [min(nodes[label]) for label in labels]
    own = np.array([hierarchy.paths[row].index(text) for row, text in zip(first, labels)], dtype=np.int64)
    leaf = ints(first)[variable.values]
    least = np.zeros(partition.n_groups, dtype=np.int64)  # an earlier step may have left nodes: no cell becomes finer
    np.maximum.at(least, partition.labels, own[variable.values])
    level = np.full(partition.n_groups, hierarchy.height)
    label = np.array([hierarchy.paths[0][-1]] * partition.n_groups, dtype=object)
    for lvl in reversed(range(hierarchy.height)):
        codes, names = hierarchy.level_codes(lvl)
        order = np.lexsort((codes[leaf], partition.labels))
        starts = np.concatenate([[0], np.cumsum(partition.sizes)[:-1]])
        lowest, highest = codes[leaf[order[starts]]], codes[leaf[order[starts + partition.sizes - 1]]]
        alike = (lowest == highest) & (lvl >= least)
        level[alike], label[alike] = lvl, np.array(names, dtype=object)[lowest[alike]]
    category_of = {str(c): c for c in variable.categories}
    label = np.array(
        [category_of.get(text, text) if lvl == 0 else text for lvl, text in zip(level, label)], dtype=object
    )
    categories = tuple(dict.fromkeys([*variable.categories, *label.tolist()]))
    place = {category: i for i, category in enumerate(categories)}
    codes_of_group = np.array([place[text] for text in label], dtype=np.int32)
    return replace(variable, values=codes_of_group[partition.labels], categories=categories)


def _medoids(records: Records, columns: Sequence[str], partition: Partition) -> Ints:
    for name in columns:
        counts = np.bincount(partition.labels, weights=~records[name].missing, minlength=partition.n_groups)
        if ((counts > 0) & (counts < partition.sizes)).any():
            raise DataError(
                f"Column '{name}' has missing values in groups that have known ones, too; a medoid needs groups of one "
                f"kind. Form groups by the column, take continuous: mean, or set missing: drop or impute for it."
            )
    x = np.nan_to_num(records.matrix(columns))  # what a whole group lacks keeps none of its records apart
    far = ((x - partition.means(x)[partition.labels]) ** 2).sum(axis=1)
    order = np.lexsort((np.arange(len(x)), far, partition.labels))
    return order[np.searchsorted(partition.labels[order], np.arange(partition.n_groups))].astype(np.int32)
