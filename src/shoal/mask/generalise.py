"""Generalisation over hierarchies (Samarati 2001; Sweeney 2002)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.kernels.generalisation import MOST_NODES
from shoal.mask._generalisation.labels import Labels, nodes, tight
from shoal.mask._generalisation.objective import BALANCED, Objective, OfColumns, OfTable
from shoal.mask._generalisation.requirements import Requirements
from shoal.mask._generalisation.search import dropped, full_domain, local, lower_bound, lower_bound_of_tight
from shoal.mask._generalisation.task import GeneralisationTask, Loss, Range, Recoding
from shoal.mask.base import Mask
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import Required
from shoal.table.prelude import Generator, Longs, Progress, Records, StepResult, part_of
from shoal.vocabulary.errors import ParameterError, Refused
from shoal.vocabulary.prelude import ColumnName, Columns, Facts, Ge, Le, OfPlan, Setting, Share, method

BOUND = 0.1
"""Share of the progress that the lower bound takes."""


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
        kept by every class that the search forms, and in full-domain search so are k-map and delta-presence beside a
        population; any other model, and any measure with a bound, as in `{risk: population-uniques, at most: 0.001}`,
        is asked of the whole table that results.
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
        (Gionis & Tassa 2009). Every cell of a dropped record loses 1; columns count by their weight. In full-domain
        search also `discernibility`, the share of the records that a record cannot be told from, all for a dropped one
        (Bayardo & Agrawal 2005); `average-class-size`, the size of the average class as a share of the records, where
        the dropped ones make one more class (LeFevre et al. 2006); and `chained-entropy`, where a dropped cell loses
        what its label does and log(D / d) / log n, d of the D dropped records having the label, all over 2.
    aggregate
        For full-domain search: how the losses of the columns are taken together. `mean`; `geometric-mean`, that of 1
        and the loss, which one column that loses much raises less; `rank`, which compares the greatest first, then the
        next greatest, so that no column loses more than it must.
    gs_factor
        For full-domain search: what dropping costs beside generalising. At 0.5 a dropped cell loses 1 and a released
        one what its label loses. Below, a dropped cell loses what its label would have and 2 gs_factor of the rest, so
        that at 0 dropping is free. Above, a released cell counts 2 - 2 gs_factor, so that at 1 generalising is free.
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
    on distributions are kept beside the table as it came and beside the records that are left: full-domain search
    suppresses classes until they are, and local recoding suppresses none that may stay where they are not. Under
    beta-likeness, which bounds each value's share of a class, local recoding first gathers records with rare values in
    few large classes. All are proved on the table that results, and if one fails there nothing is released.
    """

    scales = "combinations"

    k: Annotated[int, Ge(1)]
    requirements: tuple[Required, ...] = ()
    suppression: Annotated[float, Ge(0), Le(1), Setting()] = 0.0
    recoding: Literal["full-domain", "local"] = "full-domain"
    loss: Loss | OfTable = "ncp"
    aggregate: OfColumns = "mean"
    gs_factor: Annotated[float, Ge(0), Le(1), Setting()] = BALANCED
    target: Annotated[str | None, ColumnName()] = None
    levels: Annotated[Mapping[str, Range] | None, Columns()] = None
    effort: Annotated[int, Ge(0)] | None = None
    labels: Labels = "nodes"
    most_nodes: Annotated[int, Ge(1)] = MOST_NODES

    def __post_init__(self) -> None:
        if self.target is not None and self.loss not in ("ncp", "precision"):
            raise ParameterError(f"generalise: a target goes with loss: ncp or precision; got {self.loss}.")
        objective = self._objective
        if not objective.plain and (self.recoding, self.labels) != ("full-domain", "nodes"):
            raise ParameterError(
                f"generalise: recoding: local and labels: tight lose the mean of ncp, precision or entropy; got "
                f"{objective}. Give recoding: full-domain and labels: nodes."
            )
        if not objective.of_cells and self.aggregate != "mean":
            raise ParameterError(f"generalise: {self.loss} is of the whole table; leave aggregate out.")
        if objective.aggregate in ("average-class-size", "chained-entropy") and self.gs_factor != BALANCED:
            raise ParameterError(f"generalise: {self.loss} has a price of dropping of its own; leave gs_factor out.")

    @property
    def _objective(self) -> Objective:
        if self.loss == "chained-entropy":
            return Objective(cells="entropy", aggregate=self.loss, gs_factor=self.gs_factor)
        if self.loss == "discernibility" or self.loss == "average-class-size":
            return Objective(aggregate=self.loss, gs_factor=self.gs_factor)
        return Objective(cells=self.loss, aggregate=self.aggregate, gs_factor=self.gs_factor)

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        if not columns:
            raise ParameterError("generalise needs at least one column.")
        self._check_k(len(records))
        if not len(records):
            return StepResult(records=records)
        if self.target in columns:
            raise ParameterError(
                f"generalise: the target must be none of the columns to generalise; got {self.target}."
            )
        target = None if self.target is None else records[self.target]
        cells = self._objective.cells
        task = GeneralisationTask.of(
            records, self.categorical(records, columns), self.levels or {}, cells, target=target
        )
        required = Requirements.of(self.k, self.requirements, records, columns)
        recoding = self._search(task, required, records, rng, part_of(progress, 0.0, 1 - BOUND))
        return self._released(task, required, records, recoding, part_of(progress, 1 - BOUND, BOUND))

    def _check_k(self, records: int) -> None:
        if self.k > records:
            raise ParameterError(f"generalise: k must be at most {records:,}, the number of records; got {self.k:,}.")

    @property
    def whole_needed(self) -> str:
        if self.recoding != "full-domain" or self.labels != "nodes":
            return "every record by itself; give recoding: full-domain and labels: nodes"
        if self.target is not None:
            return "the target of every record; leave target out"
        return "the records of every class; require it of the table, in requirements" if self.requirements else ""

    def on_combinations(
        self, records: Records, times: Longs, columns: Sequence[str], progress: Progress = None
    ) -> StepResult:
        """Generalise the distinct combinations of a table; the facts are those of the table.

        `records`: one for each combination of the columns, and of the strata; `times`, shape (n,): how many records of
        the table have it.
        """
        self._check_k(int(times.sum()))
        objective = self._objective
        task = GeneralisationTask.of(
            records, self.categorical(records, columns), self.levels or {}, objective.cells, times
        )
        required = Requirements.of(self.k, (), records, columns)
        recoding = full_domain(
            task, required, self.suppression, self.most_nodes, lambda recoding, models: None, progress, objective
        )
        out, _ = _recoded(task, records, recoding, self.labels)
        return StepResult(records=out, facts=self._facts(task, recoding, *_loss_and_bound(task, self.k, recoding)))

    def _search(
        self, task: GeneralisationTask, required: Requirements, records: Records, rng: Generator, progress: Progress
    ) -> Recoding:
        def breaks(recoding: Recoding, models: Sequence[PrivacyModel]) -> str | None:
            if not models:
                return None
            if self.labels == "nodes" and (few := required.broken_by_counts(task.released_classes(recoding))):
                return few
            return required.broken(records, _recoded(task, records, recoding, self.labels)[0], models)

        if self.recoding == "full-domain":
            return full_domain(task, required, self.suppression, self.most_nodes, breaks, progress, self._objective)
        return local(task, required, self.suppression, self.most_nodes, self.effort, breaks, rng, progress)

    def _released(
        self, task: GeneralisationTask, required: Requirements, records: Records, recoding: Recoding, progress: Progress
    ) -> StepResult:
        """The table as recoded, proved, with what it loses."""
        out, stand_for = _recoded(task, records, recoding, self.labels)
        names = [column.variable.name for column in task.columns]
        if len(out) and int(out.class_sizes(names).min()) < required.k:
            raise Refused("generalise left a class with fewer than k records; nothing is released.")
        if broken := required.broken(records, out, required.models):
            raise Refused(
                f"generalise: on the table that results {broken} Dropped records change the table's distribution; "
                f"lower suppression or relax the requirement."
            )
        if self.labels == "nodes":
            loss, bound = _loss_and_bound(task, required.k, recoding, progress)
        else:
            loss, bound = _tight_loss(task, recoding, stand_for), lower_bound_of_tight(task, required.k, progress)
        return StepResult(records=out, facts=self._facts(task, recoding, loss, bound))

    def _facts(self, task: GeneralisationTask, recoding: Recoding, loss: float, bound: float | None) -> Facts:
        measure = str(self._objective) if self.labels == "nodes" else "ncp"
        known: Facts = {} if bound is None else {"no recoding with this k loses less than": Share(value=bound)}
        return {
            "loss": Share(value=loss),
            "measure of loss": OfPlan(measure if self.target is None else f"{measure}, for {self.target}"),
            "records dropped": dropped(task, recoding),
            **recoding.facts,
            **known,
        }


def _recoded(
    task: GeneralisationTask, records: Records, recoding: Recoding, labels: Labels
) -> tuple[Records, list[Longs]]:
    """The table with its new labels, suppressed records left out; for tight labels, the leaves that each cell's label
    stands for, shape (n,) for each column, suppressed records included."""
    cells = list(zip(task.columns, recoding.levels.T))
    if labels == "nodes":
        variables, stand_for = [nodes(column, levels) for column, levels in cells], list[Longs]()
    else:
        classes = np.unique(recoding.labels, return_inverse=True)[1].ravel()
        labelled = [tight(column, levels, classes) for column, levels in cells]
        variables, stand_for = [variable for variable, _ in labelled], [leaves for _, leaves in labelled]
    out = records.with_variables(*variables)
    kept = recoding.labels >= 0
    return (out if kept.all() else out.take(kept)), stand_for


def _loss_and_bound(
    task: GeneralisationTask, k: int, recoding: Recoding, progress: Progress = None
) -> tuple[float, float | None]:
    """Loss of a recoding, and the bound on that of any with this k, which is known of the mean loss of a cell."""
    if recoding.loss is not None:
        return recoding.loss, None
    return task.mean_loss(recoding), lower_bound(task, k, recoding, progress)


def _tight_loss(task: GeneralisationTask, recoding: Recoding, stand_for: list[Longs]) -> float:
    """Mean loss of a cell by the leaves that its label stands for, suppressed ones at 1."""
    losses = np.zeros(len(task))
    for column, leaves in zip(task.columns, stand_for):
        losses += column.weight * (leaves - 1) / max(len(column.paths) - 1, 1)
    return float(np.where(recoding.labels >= 0, losses / task.whole, 1.0).mean())
