"""Generalisation over hierarchies (Samarati 2001; Sweeney 2002)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from shoal.data.partition import Progress, part_of
from shoal.data.records import Records
from shoal.errors import ParameterError, Refused
from shoal.facts import Fact, OfPlan, Share
from shoal.kernels.arrays import Longs
from shoal.kernels.generalisation import MOST_NODES
from shoal.mask._generalisation.labels import Labels, Released, nodes, tight
from shoal.mask._generalisation.requirements import Requirements
from shoal.mask._generalisation.search import dropped, full_domain, local, lower_bound, lower_bound_of_tight, numbered
from shoal.mask._generalisation.task import Loss, Range, Recoding, Task
from shoal.mask.base import Mask
from shoal.methods import Scales, method
from shoal.parameters import ColumnName, Columns, Setting
from shoal.privacy.gate import Required
from shoal.step_result import StepResult

BOUND = 0.1
"""Share of the progress that the lower bound takes."""

BOUND_LABEL = "no recoding with this k loses less than"


@method(
    "generalise",
    title="Generalisation",
    source="Samarati (2001); Kohlmayer et al. (2012)",
    example={"k": 3},
    example_columns=("illness",),
)
class Generalise(Mask):
    """Replaces values by ancestors in their hierarchies until every record shares the columns with k - 1 others.

    `full-domain` gives each column one level for the whole table and finds the combination of levels with
    the least loss, exactly. `local` gives every class its own levels: the combinations of levels are visited in the
    order of their mean loss, every class of k or more is released where it is first met, and the classes are then
    refined by annealing.

    Parameters
    ----------
    k
        Records that must share the step's columns.
    requirements
        Privacy models that the classes of the step's columns must satisfy beside k, as in
        `[{method: l-diversity, l: 3}]`: l-diversity, t-closeness, p-sensitivity, beta-likeness and delta-disclosure are
        kept by every class that the search forms; any other model, and any measure with a bound, as in
        `{risk: population-uniques, at most: 0.001}`, is asked of the whole table that results.
    suppression
        Largest share of the records that may be dropped instead of generalised further: those in classes that are too
        small or fail a requirement, and in full-domain search the smallest classes where that keeps what is required of
        the whole table.
    recoding
        `full-domain` or `local`.
    loss
        What to lose least of. `ncp`, the normalised certainty penalty: a cell whose label stands for u of the column's
        v leaves loses (u - 1) / (v - 1) (Xu et al. 2006). `precision`: a cell at level l of h loses l / h (Sweeney
        2002). `entropy`: a cell whose label N of the n records bear, and whose value f bear, loses log(N / f) / log n
        (Gionis & Tassa 2009). Every cell of a dropped record loses 1; columns count by their weight.
    target
        A column that the release is to tell of, as for a classifier that learns from it. Each of the step's columns
        then counts by the share of the target's variance that it explains, too, and a cell loses the mean of its `ncp`,
        or `precision`, and of the share of that variance that its label hides (after tau of Goodman & Kruskal 1954).
    levels
        Least and greatest level of some columns, as in `{age: [1, 3]}`; level 0 is the value itself.
    effort
        For local recoding: changes of the classes that annealing proposes for each record. By default 20, and a
        million in all at most; 0 for none; 1000 loses some per cent less and takes a minute for 30 000 records.
    labels
        `nodes` of the hierarchy, or `tight`: the interval from the least to the greatest value of the class where all
        leaves are numbers, the set of its values else.
    most_nodes
        Combinations of levels to look at. Where the lattice holds more, full-domain search says how much less another
        one could lose, and local recoding unites what is left.

    Notes
    -----
    Every column must have a hierarchy. Missing cells are a category of their own beside all others. The loss is the
    mean over all cells, 0 for the table as it came and 1 for nothing left; beside it stands a bound that no recoding
    with the same k, and labels of the same kind, goes below. With strata, no class reaches across them. Requirements
    on distributions are stated for the table as it came; all are proved on the table that results, and if one fails
    there nothing is released.
    """

    scales: ClassVar[Scales] = "combinations"

    k: Annotated[int, Ge(1)]
    requirements: tuple[Required, ...] = ()
    suppression: Annotated[float, Ge(0), Le(1), Setting()] = 0.0
    recoding: Literal["full-domain", "local"] = "full-domain"
    loss: Loss = "ncp"
    target: Annotated[str | None, ColumnName()] = None
    levels: Annotated[Mapping[str, Range] | None, Columns()] = None
    effort: Annotated[int, Ge(0)] | None = None
    labels: Labels = "nodes"
    most_nodes: Annotated[int, Ge(1)] = MOST_NODES

    def __post_init__(self) -> None:
        if self.target is not None and self.loss == "entropy":
            raise ParameterError("generalise: a target goes with loss: ncp or precision; got entropy.")

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        if not columns:
            raise ParameterError("generalise needs at least one column.")
        if self.k > len(records):
            raise ParameterError(
                f"generalise: k must be at most {len(records):,}, the number of records; got {self.k:,}."
            )
        if not len(records):
            return StepResult(records=records)
        if self.target in columns:
            raise ParameterError(
                f"generalise: the target must be none of the columns to generalise; got {self.target}."
            )
        target = None if self.target is None else records[self.target]
        task = Task.of(records, self.categorical(records, columns), self.levels or {}, self.loss, target=target)
        required = Requirements.of(self.k, self.requirements, records, columns)
        recoding = self._search(task, required, records, rng, part_of(progress, 0.0, 1 - BOUND))
        return self._released(task, required, records, recoding, part_of(progress, 1 - BOUND, BOUND))

    @property
    def whole_needed(self) -> str:
        if self.recoding != "full-domain" or self.labels != "nodes":
            return "every record by itself; give recoding: full-domain and labels: nodes"
        if self.target is not None:
            return "the target of every record"
        return "the records of every class; require it of the table, in requirements" if self.requirements else ""

    def on_combinations(
        self, records: Records, times: Longs, columns: Sequence[str], progress: Progress = None
    ) -> StepResult:
        """The same for the distinct combinations of a table; the facts are those of the table.

        Parameters
        ----------
        records
            One for each combination of the columns, and of the strata.
        times
            Shape (n,); how many records of the table have it.
        """
        if self.k > int(times.sum()):
            raise ParameterError(
                f"generalise: k must be at most {int(times.sum()):,}, the number of records; got {self.k:,}."
            )
        task = Task.of(records, self.categorical(records, columns), self.levels or {}, self.loss, times)
        required = Requirements.of(self.k, (), records, columns)
        recoding = full_domain(task, required, self.suppression, self.most_nodes, lambda recoding: None, progress)
        out, _ = _recoded(task, records, recoding, self.labels)
        facts: dict[str, Fact] = {
            "loss": Share(value=task.mean_loss(recoding)),
            "measure of loss": OfPlan(self.loss),
            "records dropped": dropped(recoding, times),
            **recoding.facts,
            BOUND_LABEL: Share(value=lower_bound(task, self.k, recoding)),
        }
        return StepResult(records=out, facts=facts)

    def _search(
        self, task: Task, required: Requirements, records: Records, rng: np.random.Generator, progress: Progress
    ) -> Recoding:
        def breaks(recoding: Recoding) -> str | None:
            if not required.of_table:
                return None
            if self.labels == "nodes" and (few := required.broken_by_counts(task.released_classes(recoding))):
                return few
            return required.broken(records, _recoded(task, records, recoding, self.labels)[0], required.of_table)

        if self.recoding == "full-domain":
            return full_domain(task, required, self.suppression, self.most_nodes, breaks, progress)
        return local(task, required, self.suppression, self.most_nodes, self.effort, breaks, rng, progress)

    @property
    def _measure(self) -> str:
        measure = self.loss if self.labels == "nodes" else "ncp"
        return measure if self.target is None else f"{measure}, for {self.target}"

    def _released(
        self, task: Task, required: Requirements, records: Records, recoding: Recoding, progress: Progress
    ) -> StepResult:
        """The table as recoded, proved, with what it loses."""
        out, columns = _recoded(task, records, recoding, self.labels)
        names = [column.variable.name for column in task.columns]
        if len(out) and int(out.class_sizes(names).min()) < required.k:
            raise Refused("generalise left a class with fewer than k records; nothing is released.")
        if broken := required.broken(records, out, required.models):
            raise Refused(
                f"generalise: on the table that results {broken} Dropped records change the table's distribution; "
                f"lower suppression or relax the requirement."
            )
        loss = task.mean_loss(recoding) if self.labels == "nodes" else _tight_loss(task, recoding, columns)
        facts: dict[str, Fact] = {
            "loss": Share(value=loss),
            "measure of loss": OfPlan(self._measure),
            "records dropped": dropped(recoding),
            **recoding.facts,
        }
        if self.labels == "nodes":
            facts[BOUND_LABEL] = Share(value=lower_bound(task, required.k, recoding, progress))
        else:
            facts[BOUND_LABEL] = Share(value=lower_bound_of_tight(task, required.k, progress))
        return StepResult(records=out, facts=facts)


def _recoded(task: Task, records: Records, recoding: Recoding, labels: Labels) -> tuple[Records, list[Released]]:
    """The table with its new labels, suppressed records left out, and its columns with all records."""
    classes: Longs = numbered(recoding.labels).astype(np.int64)
    columns = [
        nodes(column, recoding.levels[:, j]) if labels == "nodes" else tight(column, recoding.levels[:, j], classes)
        for j, column in enumerate(task.columns)
    ]
    out = records.with_variables(*(column.variable for column in columns))
    kept = recoding.labels >= 0
    return (out if kept.all() else out.take(kept)), columns


def _tight_loss(task: Task, recoding: Recoding, columns: list[Released]) -> float:
    """Mean loss of a cell by the leaves that its label stands for, suppressed ones at 1."""
    losses = np.zeros(len(task))
    for column, released in zip(task.columns, columns):
        losses += column.weight * (released.stands_for - 1) / max(len(column.paths) - 1, 1)
    return float(np.where(recoding.labels >= 0, losses / task.suppressed, 1.0).mean())
