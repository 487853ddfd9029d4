"""Groups from a mixture of normal distributions whose proportions are held at k/n or more.

The density is sum_g pi_g N(m_g, S_g), fitted by EM. After each M-step the proportions are moved by equations
(3) and (4) of Oganian & Domingo-Ferrer (2017) so that none is below k/n. That bounds the proportions, not the
number of records that are most probable in a group, which can still be one; so the records are assigned by
greatest posterior probability subject to k records a group, a transport problem that is solved exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import MinLen

from shoal.kernels import linear
from shoal.kernels.draws import drawn_rows
from shoal.kernels.elementary import log, power
from shoal.kernels.mixture.mixture import (
    COVARIANCE_MODELS,
    SINGULAR,
    CovarianceModel,
    MixtureFit,
    mixture_em,
    mixture_scores,
    parameter_count,
)
from shoal.kernels.tall import cross, times
from shoal.partition._em.group_counts import Groups, group_counts
from shoal.partition._em.hard_assignment import hold_sizes
from shoal.partition._em.race import FIRST_LOOK, Race
from shoal.partition._em.starts import Start, Starts, independent_columns
from shoal.partition.base import Partitioner, refuse_unless_k
from shoal.table.prelude import Floats, Generator, Partition, Progress, Records, part_of
from shoal.vocabulary.prelude import DataError, Fact, Ge, Gt, Setting, method, of_original

Tails = Literal["normal", "t"]

FIRST_DOF = 30.0
"""First degrees of freedom of t components: nearly normal."""

RESCUE_RIDGE = 1e-6
"""Share of the smallest column variance added to every variance when no model can be fitted otherwise."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedMixture:
    """The mixture behind a partition; group numbers are those of the labels."""

    columns: tuple[str, ...]  # What it was fitted on, in the units of `Records.matrix`
    covariance_model: str
    tails: Tails
    fit: MixtureFit
    # Shape (columns, q); the principal components on which it was fitted; None for the columns themselves
    components: Floats | None = None

    @property
    def degrees_of_freedom(self) -> Floats:
        """Shape (G,); infinite for normal components."""
        return self.fit.dof


@dataclass(frozen=True, slots=True)
class GridCell:
    """One cell of the grid."""

    groups: int
    model: CovarianceModel
    tails: Tails

    @property
    def name(self) -> str:
        return self.model if self.tails == "normal" else f"{self.model} with t"


@dataclass(frozen=True, slots=True)
class CellFit:
    """A cell, fitted from one start; `steps` of EM so far, `gain` in BIC since the last look."""

    cell: GridCell
    start: str
    fit: MixtureFit
    bic: float
    steps: int
    gain: float
    search: "GridSearch"

    @property
    def ended(self) -> bool:
        return self.fit.converged or self.steps >= self.search.method.most_steps

    def further(self) -> "CellFit | None":
        return self.search.further(self)


@method(
    "gaussian-mixture",
    title="Gaussian mixture, proportions held at k/n or more",
    source="Oganian & Domingo-Ferrer (2017); Fraley & Raftery (2002)",
    example={"k": 3},
)
class GaussianMixture(Partitioner):
    """Groups that are as normal as the data allow, each of at least k records.

    The number of groups and the form of their covariances are those with the greatest
    BIC = 2 log L - nu log n, nu the number of free parameters. EM begins at a model-based agglomeration and at
    k-means classes. After the fit, records go to their most probable group subject to k records a group.

    Parameters
    ----------
    k
        Smallest size of a group.
    groups
        Number of groups, or a range such as "2..10"; what the table cannot fill with k records each is left out.
    models
        Covariance models to compare, by Celeux & Govaert's (1995) letters for volume, shape and orientation, or
        "all" fourteen.
    components
        Fit the mixture on so many principal components of the standardised columns, for tables of many columns: a
        covariance of ten columns has 55 parameters a group, one of three components 6. All columns by default.
    tails
        Kinds of components to compare: "normal", "t" (multivariate t, degrees of freedom estimated for each
        group), or "both".
    kmeans_starts
        Number of k-means starts beside the hierarchical one.
    hierarchy_records
        The hierarchy is built on a random sample of at most so many records; its memory is 4 times the square
        of this, in bytes.
    selection_records
        The grid is compared on a random sample of at most so many records; the chosen model is then fitted to all.
    regularise
        Share of the smallest column variance that is added to every variance of every group.
    tolerance
        EM ends when no share, mean or covariance of a group still goes farther than this, in standard deviations, as
        its last steps tell.
    most_steps
        EM ends after so many steps at the latest.

    Notes
    -----
    Columns that are constant, or linear in the columns before them, are left out of the fit; if none is left all
    records form one group. A model whose covariance becomes singular is out of the comparison, and the facts
    say so. If no model can be fitted, all are fitted again with 1e-6 for `regularise`.

    All cells of the grid are fitted from the first start, then from the second, and so on; the best end counts, so that
    one more start never makes it worse. The fits of a start run side by side, and one that falls back is given up: five
    times what it gained in the second half of its steps would not bring it to the best BIC of those that have ended.
    Slow steps of EM are extrapolated (Varadhan & Roland 2008).

    `tails` shapes the groups; what their records are replaced by is for the replacement to say: `multivariate-t` draws
    from the law that was fitted.

    Differs from the paper: the constraint on the proportions is followed by one on the counts.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)]
    groups: Groups = "2..10"
    models: Literal["all"] | Annotated[tuple[CovarianceModel, ...], MinLen(1)] = "all"
    components: Annotated[int, Ge(1)] | None = None
    tails: Literal["normal", "t", "both"] = "normal"
    kmeans_starts: Annotated[int, Ge(0)] = 2
    hierarchy_records: Annotated[int, Ge(10)] = 2000
    selection_records: Annotated[int, Ge(100)] = 10_000
    regularise: Annotated[float, Ge(0), Setting()] = 0.0
    tolerance: Annotated[float, Gt(0), Setting()] = 1e-6
    most_steps: Annotated[int, Ge(1)] = 5000

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> Partition:
        records.raw(columns)  # refuses columns that are not continuous
        counts = group_counts(self.groups, self.k, len(records), self.method_name)
        whole = records.matrix(columns)
        kept = independent_columns(whole)
        left_out = [name for j, name in enumerate(columns) if j not in kept]
        if not kept:
            return Partition(
                labels=np.zeros(len(records), dtype=np.int32),
                facts=of_original({"columns left out": left_out, "groups": 1}),
            )
        x = np.ascontiguousarray(whole[:, kept])
        axes, share = None, 1.0
        if self.components is not None and self.components < len(kept):
            axes, share = principal_axes(x, self.components)
            x = np.ascontiguousarray(times((x - x.mean(axis=0))[None], axes[None])[0])
        best, facts = self._select(x, counts, rng, progress)
        scores = mixture_scores(x, best.fit)
        labels, repair = hold_sizes(scores, self.k)
        names = tuple(columns[j] for j in kept)
        model = FittedMixture(
            columns=names, covariance_model=best.cell.model, tails=best.cell.tails, fit=best.fit, components=axes
        )
        facts |= of_original({"columns left out": left_out, "assignment": repair})
        if axes is not None:
            facts |= of_original({"principal components": axes.shape[1], "share of the variance in them": share})
        return refuse_unless_k(Partition(labels=labels, facts=facts, model=model), self.k, self.method_name)

    def _select(
        self, x: Floats, counts: list[int], rng: Generator, progress: Progress
    ) -> tuple[CellFit, dict[str, Fact]]:
        """The best candidate fitted to all records, and the facts of the search."""
        sampled = len(x) > self.selection_records
        sample = x[drawn_rows(rng, len(x), self.selection_records)]
        starts = Starts(sample, self.hierarchy_records, self.kmeans_starts, rng)
        floor = self.k / len(x)
        ridges = (self.regularise, RESCUE_RIDGE) if self.regularise < RESCUE_RIDGE else (self.regularise,)
        for ridge in ridges:
            search = GridSearch(self, sample, floor, ridge * float(x.var(axis=0).min()))
            candidates = sorted(search.run(starts, counts, progress), key=lambda c: -c.bic)  # the first has ended
            for chosen in candidates:
                fitted = search.refit(chosen, x) if sampled else chosen
                if fitted is not None:
                    return fitted, self._facts(fitted, search, len(x), sampled, ridge)
        raise DataError(
            f"{self.method_name}: no mixture of the grid can be fitted to this table, even regularised. "
            f"Give fewer groups, or other models."
        )

    def _facts(self, best: CellFit, search: "GridSearch", n: int, sampled: bool, ridge: float) -> dict[str, Fact]:
        d = best.fit.mean.shape[1]
        roots = np.diagonal(linear.cholesky(best.fit.covariance), axis1=1, axis2=2)
        volumes = power(roots.prod(axis=1), 2 / d)
        facts = {
            "groups": best.cell.groups,
            "covariance model": best.cell.model,
            "tails": best.cell.tails,
            "start": best.start,
            "log-likelihood": best.fit.loglik,
            "parameters": _parameters(best.cell, d),
            "BIC": best.bic,
            "BIC by model and groups": search.table,
            "fits given up": search.race.given_up,
            "not fitted": search.failures,
            "BIC from a sample of": self.selection_records if sampled else None,
            "regularised by": ridge,
            "EM steps": best.steps,
            "converged": best.fit.converged,
            "proportions": best.fit.proportion.tolist(),
            "proportions held at": self.k / n,
            "proportions at the bound": bool(best.fit.statistics.weight.min() < self.k * (1 - 1e-9)),
            "volumes": volumes.tolist(),
            "degrees of freedom": best.fit.dof.tolist() if best.cell.tails == "t" else None,
        }
        return {**of_original(facts)}


def principal_axes(x: Floats, count: int) -> tuple[Floats, float]:
    """The directions (d, count) in which records (n, d) vary most, and the share of the variance in them.

    Signs are such that the largest weight of a direction is positive.
    """
    centred = (x - x.mean(axis=0))[None]
    values, axes = linear.eigen(cross(centred, centred)[0])
    order = np.argsort(-values, kind="stable")[:count]
    axes = axes[:, order]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(len(order))])
    return np.asarray(axes), float(values[order].sum() / values.sum())


class GridSearch:
    """The grid of groups, covariance models and tails on one sample."""

    def __init__(self, method: GaussianMixture, x: Floats, floor: float, ridge: float) -> None:
        self.method = method
        self.x = x
        self.options: dict[str, Any] = {
            "floor": floor,
            "ridge": ridge,
            "singular": SINGULAR * float(x.var(axis=0).min()),
            "tolerance": method.tolerance,
        }
        self.race: Race[CellFit] = Race()
        self.table: dict[str, dict[str, float | None]] = {}
        self.failures: list[str] = []

    def run(self, starts: Starts, counts: list[int], progress: Progress) -> list[CellFit]:
        """The best end of every cell that can be fitted."""
        tails: tuple[Tails, ...] = ("normal", "t") if self.method.tails == "both" else (self.method.tails,)
        cells = [GridCell(*cell) for cell in product(counts, self._models(), tails)]
        at_hand = {groups: list(starts.of(groups)) for groups in counts}
        most = max(map(len, at_hand.values()))
        best: dict[GridCell, CellFit] = {}
        for number in range(most):
            field = [(cell, at_hand[cell.groups][number]) for cell in cells if number < len(at_hand[cell.groups])]
            begin = [partial(self._begun, cell, start) for cell, start in field]
            for end in self.race.run(begin, part_of(progress, number / most, 1 / most)):
                best[end.cell] = max(best.get(end.cell, end), end, key=lambda end: end.bic)
        for cell in cells:
            self.table.setdefault(cell.name, {})[str(cell.groups)] = best[cell].bic if cell in best else None
            if cell not in best:
                self.failures.append(f"{cell.name}, {cell.groups} groups: a covariance became singular")
        return [best[cell] for cell in cells if cell in best]

    def refit(self, chosen: CellFit, x: Floats) -> CellFit | None:
        """The chosen model on all records, from where it ended on the sample."""
        start = Start(chosen.start, chosen.fit.statistics)
        return self._fitted(x, chosen.cell, start, chosen.fit.dof, self.method.most_steps)

    def _begun(self, cell: GridCell, start: Start) -> CellFit | None:
        dof = np.full(cell.groups, FIRST_DOF if cell.tails == "t" else np.inf)
        return self._fitted(self.x, cell, start, dof, min(FIRST_LOOK, self.method.most_steps))

    def further(self, one: CellFit) -> CellFit | None:
        """After twice as many steps."""
        start = Start(one.start, one.fit.statistics)
        steps = min(one.steps, self.method.most_steps - one.steps)
        fitted = self._fitted(self.x, one.cell, start, one.fit.dof, steps)
        return fitted and replace(fitted, steps=one.steps + fitted.steps, gain=fitted.bic - one.bic)

    def _fitted(self, x: Floats, cell: GridCell, start: Start, dof: Floats, steps: int) -> CellFit | None:
        """None if a covariance became singular."""
        fit = mixture_em(x, start.statistics, model=cell.model, dof=dof, most_steps=steps, **self.options)
        if fit.singular >= 0:
            return None
        bic = 2 * fit.loglik - _parameters(cell, x.shape[1]) * float(log(len(x)))
        return CellFit(cell, start.name, fit, bic, steps=fit.steps, gain=np.inf, search=self)

    def _models(self) -> tuple[CovarianceModel, ...]:
        named = self.method.models
        models = COVARIANCE_MODELS if named == "all" else named
        if self.x.shape[1] > 1:
            return tuple(dict.fromkeys(models))
        return tuple({model[0]: model for model in reversed(models)}.values())[::-1]  # only volume is left to differ


def _parameters(cell: GridCell, d: int) -> int:
    return parameter_count(cell.model, cell.groups, d) + (cell.groups if cell.tails == "t" else 0)
