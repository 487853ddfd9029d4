"""Groups from a mixture of normal distributions whose proportions are held at k/n or more.

The density is sum_g pi_g N(m_g, S_g), fitted by EM. After each M-step the proportions are moved by equations
(3) and (4) of Oganian & Domingo-Ferrer (2017) so that none is below k/n. That bounds the proportions, not the
number of records that are most probable in a group, which can still be one; so the records are assigned by
greatest posterior probability subject to k records a group, a transport problem that is solved exactly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from shoal.partition._em.starts import Start, Starts, independent_columns
from shoal.partition.base import Partitioner, refuse_unless_k
from shoal.table.prelude import Floats, Generator, Partition, Progress, Records
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
class Candidate:
    """One cell of the grid, fitted."""

    bic: float
    groups: int
    model: CovarianceModel
    tails: Tails
    start: str
    fit: MixtureFit


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

    Every cell of the grid is fitted from every start to convergence, and the best end counts, so that one more start
    never makes it worse. Slow steps of EM are extrapolated (Varadhan & Roland 2008).

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
            columns=names, covariance_model=best.model, tails=best.tails, fit=best.fit, components=axes
        )
        facts |= of_original({"columns left out": left_out, "assignment": repair})
        if axes is not None:
            facts |= of_original({"principal components": axes.shape[1], "share of the variance in them": share})
        return refuse_unless_k(Partition(labels=labels, facts=facts, model=model), self.k, self.method_name)

    def _select(
        self, x: Floats, counts: list[int], rng: Generator, progress: Progress
    ) -> tuple[Candidate, dict[str, Fact]]:
        """The best candidate fitted to all records, and the facts of the search."""
        sampled = len(x) > self.selection_records
        sample = x[drawn_rows(rng, len(x), self.selection_records)]
        starts = Starts(sample, self.hierarchy_records, self.kmeans_starts, rng)
        floor = self.k / len(x)
        ridges = (self.regularise, RESCUE_RIDGE) if self.regularise < RESCUE_RIDGE else (self.regularise,)
        for ridge in ridges:
            search = Search(self, sample, floor, ridge * float(x.var(axis=0).min()))
            candidates = sorted(search.run(starts, counts, progress), key=lambda c: -c.bic)
            for chosen in candidates:
                fitted = search.refit(chosen, x) if sampled else chosen
                if fitted is not None:
                    return fitted, self._facts(fitted, search, len(x), sampled, ridge)
        raise DataError(
            f"{self.method_name}: no mixture of the grid can be fitted to this table, even regularised. "
            f"Give fewer groups, or other models."
        )

    def _facts(self, best: Candidate, search: "Search", n: int, sampled: bool, ridge: float) -> dict[str, Fact]:
        d = best.fit.mean.shape[1]
        roots = np.diagonal(linear.cholesky(best.fit.covariance), axis1=1, axis2=2)
        volumes = power(roots.prod(axis=1), 2 / d)
        facts = {
            "groups": best.groups,
            "covariance model": best.model,
            "tails": best.tails,
            "start": best.start,
            "log-likelihood": best.fit.loglik,
            "parameters": _parameters(best.model, best.tails, best.groups, d),
            "BIC": best.bic,
            "BIC by model and groups": search.table,
            "not fitted": search.failures,
            "BIC from a sample of": self.selection_records if sampled else None,
            "regularised by": ridge,
            "EM steps": best.fit.steps,
            "converged": best.fit.converged,
            "proportions": best.fit.proportion.tolist(),
            "proportions held at": self.k / n,
            "proportions at the bound": bool(best.fit.statistics.weight.min() < self.k * (1 - 1e-9)),
            "volumes": volumes.tolist(),
            "degrees of freedom": best.fit.dof.tolist() if best.tails == "t" else None,
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


class Search:
    """The grid of groups, covariance models and tails on one sample."""

    def __init__(self, method: GaussianMixture, x: Floats, floor: float, ridge: float) -> None:
        self.method = method
        self.x = x
        self.options: dict[str, Any] = {
            "floor": floor,
            "ridge": ridge,
            "singular": SINGULAR * float(x.var(axis=0).min()),
            "tolerance": method.tolerance,
            "most_steps": method.most_steps,
        }
        self.table: dict[str, dict[str, float | None]] = {}
        self.failures: list[str] = []

    def run(self, starts: Starts, counts: list[int], progress: Progress) -> Iterator[Candidate]:
        models = self._models()
        tails: tuple[Tails, ...] = ("normal", "t") if self.method.tails == "both" else (self.method.tails,)
        cells = len(counts) * len(models)
        for number, groups in enumerate(counts):
            at_hand = list(starts.of(groups))
            for place, (model, tail) in enumerate(product(models, tails)):
                fitted = self._fit(at_hand, groups, model, tail)
                name = model if tail == "normal" else f"{model} with t"
                self.table.setdefault(name, {})[str(groups)] = fitted.bic if fitted else None
                if fitted:
                    yield fitted
                else:
                    self.failures.append(f"{name}, {groups} groups: a covariance became singular")
                if progress is not None:
                    progress((number * len(models) + place / len(tails)) / cells)

    def refit(self, chosen: Candidate, x: Floats) -> Candidate | None:
        """The chosen model on all records, from where it ended on the sample."""
        fit = mixture_em(x, chosen.fit.statistics, model=chosen.model, dof=chosen.fit.dof, **self.options)
        return None if fit.singular >= 0 else self._candidate(fit, chosen.model, chosen.tails, chosen.start, len(x))

    def _models(self) -> tuple[CovarianceModel, ...]:
        named = self.method.models
        models = COVARIANCE_MODELS if named == "all" else named
        if self.x.shape[1] > 1:
            return tuple(dict.fromkeys(models))
        return tuple({model[0]: model for model in reversed(models)}.values())[::-1]  # only volume is left to differ

    def _fit(self, starts: list[Start], groups: int, model: CovarianceModel, tails: Tails) -> Candidate | None:
        """The best of all starts, each run to convergence: a start never makes the end worse."""
        dof = np.full(groups, FIRST_DOF if tails == "t" else np.inf)
        fits = ((start, mixture_em(self.x, start.statistics, model=model, dof=dof, **self.options)) for start in starts)
        ends = (self._candidate(fit, model, tails, start.name, len(self.x)) for start, fit in fits if fit.singular < 0)
        return max(ends, key=lambda end: end.bic, default=None)

    def _candidate(self, fit: MixtureFit, model: CovarianceModel, tails: Tails, start: str, n: int) -> Candidate:
        groups = len(fit.proportion)
        count = _parameters(model, tails, groups, self.x.shape[1])
        return Candidate(2 * fit.loglik - count * float(log(n)), groups, model, tails, start, fit)


def _parameters(model: str, tails: Tails, groups: int, d: int) -> int:
    return parameter_count(model, groups, d) + (groups if tails == "t" else 0)
