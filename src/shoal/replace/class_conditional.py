"""Categorical columns drawn from latent classes, continuous ones from their group.

Local synthesis of mixed data (Oganian & Domingo-Ferrer 2017, sections 6 and 7) has two steps: continuous columns
are drawn inside the groups of a mixture, then each record gets a latent class by the regression of the classes on
its new continuous values, and its categories from that class, independently of each other given the class.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Annotated, Any, Literal

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs
from shoal.replace.base import Replacement
from shoal.replace.multivariate_t import HasTails
from shoal.replace.normal import Normal
from shoal.table.group_models import LatentClasses
from shoal.table.prelude import Dealing, Generator, Partition, Progress, Records, StepResult, Variable
from shoal.vocabulary.errors import DataError, ParameterError, quoted
from shoal.vocabulary.prelude import ByColumn, Count, Fact, Ge, Nested, OfOriginal, Share, method, nested


@method(
    "class-conditional",
    title="Draw from latent classes, continuous columns from their group",
    source="Oganian & Domingo-Ferrer (2017), sections 6 and 7",
)
class ClassConditional(Replacement):
    """Categories drawn from the record's latent class, after the continuous columns were drawn in their group.

    After `latent-class` the class is the record's group. After `local-synthesis` it is drawn from the latent class
    regression at the record's new continuous values. After any other partition each group's own shares are used,
    with one more record that answers like the whole table; a missing cell is drawn there as a category is.

    Parameters
    ----------
    continuous
        How continuous columns are replaced inside the groups; by default by `normal`, with the group's mean and
        covariance and within the observed range of the table.
    balanced
        Draw so that in every class each category of a column occurs as often as expected, up to one record,
        instead of independently.
    rare
        What to do with categories that fewer than `rare_below` records of the table hold: to release one tells
        something about those few. "report" counts them in the facts, "suppress" never draws them.
    rare_below
        By default the size of the partition's smallest group.

    Notes
    -----
    With the default for `continuous` the released records of a group are draws that depend on the group's records
    only through its mean and covariance, through the range of the table, whose ends are single records' values, and
    through the classes' parameters. Of these the tables of categories are means over at least k records' worth of
    posterior probability wherever the prevalences reached k/n, as the partition's facts tell.
    """

    continuous: Annotated[Replacement, nested("replace")] = field(default_factory=lambda: Normal(support=("range",)))
    balanced: bool = True
    rare: Literal["report", "suppress"] = "report"
    rare_below: Annotated[int, Ge(1)] | None = None

    @property
    def dealing(self) -> Dealing | None:
        return self.continuous.dealing

    @property
    def anew(self) -> bool:
        return self.continuous.anew

    @property
    def predictors(self) -> tuple[str, ...] | None:
        return self.continuous.predictors

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        numeric = [name for name in columns if records[name].continuous]
        categorical = [name for name in columns if not records[name].continuous]
        facts: dict[str, Fact] = {"groups": Count(n=partition.n_groups, unit="groups")}
        released = records
        if numeric:
            change = self.continuous.apply(records, numeric, partition, rng, progress)
            released = change.records
            facts["continuous"] = Nested(change.facts)
        if not categorical:
            return StepResult(records=released, facts=facts)
        rare = self._rare_categories(records, categorical, partition.k)
        new = {name: records[name].values.copy() for name in categorical}
        for rows, labels, model in _models(records, categorical, partition):
            drawn = model.classes(released.take(rows), records.take(rows), labels, rng)
            for name in model.columns:
                if name not in new:
                    continue
                table = _without(model.tables[model.columns.index(name)], rare[name], self.rare, name)
                codes = _draw(table, drawn, self.balanced, rng)
                new[name][rows] = np.where(codes == len(records[name].categories), -1, codes)
        changed = [records[name].with_values(new[name]) for name in categorical]
        few = {name: Count(n=int(codes.size), unit="categories") for name, codes in rare.items() if codes.size}
        fate = {"report": "drawn all the same", "suppress": "never drawn"}[self.rare]
        facts |= {
            "categories held by too few records": ByColumn(few),
            "these categories were": OfOriginal(fate if few else None),
            "largest change of a category's share": Share(value=_largest_change(records, changed)),
        }
        return StepResult(records=released.with_variables(*changed), facts=facts)

    def _rare_categories(self, records: Records, names: list[str], k: int) -> dict[str, Longs]:
        """Codes of the categories that some but fewer than k records hold."""
        below = k if self.rare_below is None else self.rare_below
        counts = {name: _counts(records[name]) for name in names}
        return {name: np.flatnonzero((sizes > 0) & (sizes < below)) for name, sizes in counts.items()}


def balanced_draw(shares: Floats, size: int, rng: Generator) -> Longs:
    """Shape (size,); codes in random order, code c occurring floor(size p_c) or once more often, p_c on average.

    Systematic sampling of the fractional parts (Madow 1949).
    """
    expected = size * shares
    counts = np.floor(expected + 1e-9)
    rest = np.maximum(expected - counts, 0.0)
    ends = rest.cumsum()
    points = (rng.random() + np.arange(size - int(counts.sum()))) * (ends[-1] / max(size - counts.sum(), 1))
    counts += np.bincount(np.searchsorted(ends, points, side="right").clip(0, len(shares) - 1), minlength=len(shares))
    return rng.permutation(np.repeat(np.arange(len(shares)), counts.astype(np.int64)))


def _draw(table: Floats, classes: Ints, balanced: bool, rng: Generator) -> Longs:
    codes = np.empty(len(classes), dtype=np.int64)
    for g in range(table.shape[1]):
        rows = np.flatnonzero(classes == g)
        if not balanced:
            codes[rows] = rng.choice(len(table), size=len(rows), p=table[:, g])
        elif rows.size:
            codes[rows] = balanced_draw(table[:, g], len(rows), rng)
    return codes


def _without(table: Floats, rare: Longs, policy: str, name: str) -> Floats:
    """The table without its rare categories, if the policy says so; its columns sum to 1."""
    if policy == "suppress" and rare.size:
        table = table.copy()
        table[rare] = 0.0
    total = table.sum(axis=0)
    if (total <= 0).any():
        raise DataError(
            f"class-conditional: column '{name}' has only categories held by fewer records than rare_below. "
            f"Lower rare_below, merge categories, or leave the column out."
        )
    return np.asarray(table / total)


def _models(records: Records, names: list[str], partition: Partition) -> Iterator[tuple[Longs, Ints, LatentClasses]]:
    """Rows, their group numbers within the model, and the model: one a stratum (or kind of records), or one for all."""
    models = list(partition.model.values()) if isinstance(partition.model, dict) else [partition.model]
    if not any(isinstance(model, LatentClasses) for model in models):
        yield np.arange(len(records)), partition.labels, _own_shares(records, names, partition)
        return
    first = 0
    for fitted in models:
        groups = _groups_of(fitted)
        rows = np.flatnonzero((partition.labels >= first) & (partition.labels < first + groups))
        labels, own = (partition.labels[rows] - first).astype(np.int32), records.take(rows)
        first += groups
        if not isinstance(fitted, LatentClasses):
            yield rows, labels, _own_shares(own, names, Partition(labels=labels))
            continue
        if absent := [name for name in names if name not in fitted.columns and not own[name].missing.all()]:
            raise ParameterError(
                f"class-conditional: the partition's classes do not describe {quoted(absent)}. "
                f"Name the same columns for the partition and the replacement."
            )
        yield rows, labels, fitted


def _groups_of(fitted: Any) -> int:
    """Number of groups of a stratum, or of records that lack the same columns; where nothing was fitted it is one."""
    if isinstance(fitted, LatentClasses):
        return fitted.groups
    return len(fitted.degrees_of_freedom) if isinstance(fitted, HasTails) else 1


def _own_shares(records: Records, names: list[str], partition: Partition) -> LatentClasses:
    """A model whose classes are the groups, with one more record that answers like the whole table.

    Where cells are missing, that they are is the last category.
    """
    tables = []
    for name in names:
        missing, size = records[name].missing, len(records[name].categories)
        counts = np.zeros((size + bool(missing.any()), partition.n_groups))
        np.add.at(counts, (np.where(missing, size, records[name].values), partition.labels), 1.0)
        counts += (counts.sum(axis=1) / len(records))[:, None]
        tables.append(counts / counts.sum(axis=0))
    return LatentClasses(
        groups=partition.n_groups,
        columns=tuple(names),
        tables=tuple(tables),
        covariates=(),
        coefficient=np.zeros((partition.n_groups, 1)),
        by_group=True,
    )


def _counts(variable: Variable) -> Longs:
    return np.bincount(variable.values[~variable.missing], minlength=len(variable.categories))


def _largest_change(records: Records, changed: list[Variable]) -> float:
    """Largest difference between the share of a category in the released and in the original table."""
    return max(float(np.abs(_counts(v) - _counts(records[v.name])).max()) / len(records) for v in changed)
