"""Groups from latent classes of categorical columns whose prevalences are held at k/n or more."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np

from shoal.kernels.draws import dirichlet, drawn_rows
from shoal.kernels.elementary import exp, log
from shoal.kernels.mixture.latent_class import (
    LatentClassFit,
    latent_class_em,
    latent_class_parameters,
    latent_class_scores,
)
from shoal.partition._em.group_counts import Groups, group_counts
from shoal.partition._em.hard_assignment import hold_sizes
from shoal.partition._em.race import FIRST_LOOK, Race
from shoal.partition._em.starts import independent_columns, kmeans
from shoal.partition.base import Partitioner, refuse_unless_k
from shoal.table.group_models import LatentClasses
from shoal.table.prelude import Floats, Generator, Ints, Longs, Partition, Progress, Records, part_of
from shoal.vocabulary.errors import DataError, ParameterError, quoted
from shoal.vocabulary.prelude import Columns, Count, Fact, Ge, Gt, OfOriginal, Setting, method, of_original

SURE = 0.8
"""Posterior of a record's own class in a k-means start: not 1, so that EM can leave it quickly."""


@dataclass(frozen=True, slots=True, eq=False)
class AnswerPatterns:
    """Distinct rows of answers and covariates, how often each occurs, and where it occurs first."""

    codes: Ints
    design: Floats
    counts: Floats
    first: Longs

    @classmethod
    def of(cls, codes: Ints, design: Floats) -> "AnswerPatterns":
        _, first, counts = np.unique(np.column_stack([design, codes]), axis=0, return_index=True, return_counts=True)
        return cls(codes[first], design[first], counts.astype(np.float64), first)


@dataclass(frozen=True, slots=True, eq=False)
class ClassesFit:
    """Classes fitted from one start; `steps` of EM so far, `gain` in BIC since the last look."""

    fit: LatentClassFit
    bic: float
    steps: int
    gain: float
    search: "ClassSearch"

    @property
    def ended(self) -> bool:
        return self.fit.converged or self.steps >= self.search.most_steps

    def further(self) -> "ClassesFit":
        search = self.search
        steps = min(self.steps, search.most_steps - self.steps)
        fit = search.em(search.patterns, self.fit.posterior, steps, self.fit.coefficient)
        bic = search.bic_of(fit)
        return ClassesFit(fit, bic, self.steps + fit.steps, bic - self.bic, search)


class ClassSearch:
    """Latent class models of categorical columns, over a grid of numbers of classes.

    `method`: has the parameters `k`, `starts`, `prior_records`, `selection_records`, `tolerance` and `most_steps`;
    `names`, `covariates`: categorical columns, and continuous ones that the class probabilities depend on.
    """

    def __init__(
        self, method: Any, records: Records, names: Sequence[str], covariates: tuple[str, ...], rng: Generator
    ) -> None:
        n = len(records)
        self.rows = drawn_rows(rng, n, method.selection_records)
        self.seed = int(rng.integers(2**63))
        self.names = tuple(names)
        self.codes: Ints = np.column_stack([records[name].values for name in names]).astype(np.int32)
        self.categories: Longs = np.array([len(records[name].categories) for name in names])
        self.seen: Longs = np.array([len(np.unique(column)) for column in self.codes.T])
        embedded = records.matrix(covariates)
        kept = independent_columns(embedded) if covariates else []
        self.covariates = tuple(covariates[j] for j in kept)
        self.design: Floats = np.column_stack([np.ones(n), embedded[:, kept]])
        self.patterns = AnswerPatterns.of(self.codes[self.rows], self.design[self.rows])
        self.points: Floats = records.matrix(names)[self.rows][self.patterns.first]
        self.k, self.starts = method.k, method.starts
        self.options: dict[str, Any] = {
            "floor": method.k / n,
            "pseudo": method.prior_records,
            "tolerance": method.tolerance,
        }
        self.most_steps = method.most_steps
        self.race: Race[ClassesFit] = Race()
        self.table: dict[str, float] = {}
        self.steps = 0

    def best(self, counts: list[int], progress: Progress) -> LatentClassFit:
        """The fit with the greatest BIC on the sample, refitted to all records if they are more."""
        best: dict[int, ClassesFit] = {}
        for number in range(self.starts):
            field = [partial(self._begun, groups, number) for groups in counts]
            for end in self.race.run(field, part_of(progress, number / self.starts, 1 / self.starts)):
                groups = len(end.fit.prevalence)
                best[groups] = max(best.get(groups, end), end, key=lambda end: end.bic)
        self.table = {str(groups): best[groups].bic for groups in counts}
        chosen = max(best.values(), key=lambda end: end.bic)
        self.steps, fit = chosen.steps, chosen.fit
        if len(self.rows) == len(self.codes):
            return fit
        patterns = AnswerPatterns.of(self.codes, self.design)
        scores = self.scores(fit)[patterns.first]
        posterior = exp(scores - scores.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        return self.em(patterns, posterior, self.most_steps, fit.coefficient)

    def scores(self, fit: LatentClassFit) -> Floats:
        """Shape (n, G); log of class probability times probability of the answers, for all records."""
        return latent_class_scores(self.codes, self.categories, fit.coefficient, fit.log_table, self.design)

    def parameters(self, groups: int) -> int:
        return latent_class_parameters(groups, self.seen, len(self.covariates))

    def bic_of(self, fit: LatentClassFit) -> float:
        return 2 * fit.loglik - self.parameters(len(fit.prevalence)) * float(log(len(self.rows)))

    def _begun(self, groups: int, number: int) -> ClassesFit:
        fit = self.em(self.patterns, self._start(groups, number), min(FIRST_LOOK, self.most_steps))
        return ClassesFit(fit, self.bic_of(fit), fit.steps, np.inf, self)

    def _start(self, groups: int, number: int) -> Floats:
        """First memberships, by k-means and at random in turn; the same however many there are."""
        rng = np.random.default_rng([self.seed, groups, number])
        if number % 2:
            return dirichlet(rng, groups, len(self.patterns.counts))
        labels = kmeans(self.points, min(groups, len(self.points)), rng)
        return np.asarray(np.eye(groups)[labels] * SURE + (1 - SURE) / groups)

    def em(
        self, patterns: AnswerPatterns, posterior: Floats, most_steps: int, coefficient: Floats | None = None
    ) -> LatentClassFit:
        return latent_class_em(
            patterns.codes,
            self.categories,
            posterior,
            covariates=patterns.design,
            counts=patterns.counts,
            coefficient=coefficient,
            most_steps=most_steps,
            **self.options,
        )

    def facts(self, fit: LatentClassFit) -> dict[str, Fact]:
        counts = [np.bincount(column) for column in self.codes.T]
        rare = {name: int(((c > 0) & (c < self.k)).sum()) for name, c in zip(self.names, counts)}
        facts = {
            "classes": len(fit.prevalence),
            "log-likelihood": fit.loglik,
            "parameters": self.parameters(len(fit.prevalence)),
            "BIC by classes": self.table,
            "BIC from a sample of": len(self.rows) if len(self.rows) < len(self.codes) else None,
            "covariates": list(self.covariates),
            "EM steps": self.steps,
            "fits given up": self.race.given_up,
            "converged": fit.converged,
            "prevalences": fit.prevalence.tolist(),
            "prevalences held at": self.options["floor"],
            "prevalences at the bound": fit.moved,
            "projection reached the bound": fit.reached,
            "categories held by fewer than k records": {name: count for name, count in rare.items() if count},
        }
        return {**of_original(facts)}

    def model(self, fit: LatentClassFit, groups: int, by_group: bool) -> LatentClasses:
        return LatentClasses(
            groups=groups,
            columns=self.names,
            tables=tuple(np.split(exp(fit.log_table), np.cumsum(self.categories)[:-1])),
            covariates=self.covariates,
            coefficient=fit.coefficient,
            by_group=by_group,
        )


@method(
    "latent-class",
    title="Latent classes, prevalences held at k/n or more",
    source="Oganian & Domingo-Ferrer (2017), section 6; Bandeen-Roche, Miglioretti, Zeger & Rathouz (1997)",
    example={"k": 3},
    example_columns=("sex",),
)
class LatentClass(Partitioner):
    """Groups in which categorical columns are independent of each other, each of at least k records.

    P(y_i) = sum_g p_g(x_i) prod_j pi_j(y_ij | g), where p_g is constant or, with covariates, a multinomial logit
    (latent class regression). The number of classes has the greatest BIC. The mean prevalences are held at k/n or
    more at every M-step; after the fit, records go to their most probable class subject to k records a class.

    Parameters
    ----------
    k
        Smallest size of a group.
    groups
        Number of classes, or a range such as "2..10"; what the table cannot fill with k records each is left out.
    covariates
        Continuous columns that the class probabilities depend on; none of them is a column of the step.
    starts
        First memberships to try, by k-means and at random in turn, each with all numbers of classes. The best end
        counts, so that one more start never makes it worse. A fit that falls back is given up, as in
        `gaussian-mixture`.
    prior_records
        How many records each class is credited with that answer like the whole table, so that no category gets
        probability 0 where it was merely not observed.
    selection_records
        The numbers of classes are compared on a random sample of at most so many records.
    tolerance, most_steps
        EM ends when no prevalence, probability of a category or coefficient still goes farther than `tolerance`, as its
        last steps tell, or after so many steps.

    Notes
    -----
    Slopes have normal priors with standard deviation 2.5 in units of the standardised covariate (intercepts 10),
    so that separated classes do no harm. Covariates that are constant or collinear are left out.

    Differs from the paper: equation (15) can give negative posteriors; they are moved to the new prevalences by the
    projection in Kullback-Leibler divergence instead. The constraint on prevalences is followed by one on counts.
    """

    by_known_columns = True
    by_household = False

    k: Annotated[int, Ge(1)]
    groups: Groups = "2..10"
    covariates: Annotated[tuple[str, ...], Columns()] = ()
    starts: Annotated[int, Ge(1)] = 10
    prior_records: Annotated[float, Gt(0), Setting()] = 1.0
    selection_records: Annotated[int, Ge(100)] = 10_000
    tolerance: Annotated[float, Gt(0), Setting()] = 1e-4
    most_steps: Annotated[int, Ge(1)] = 5000

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> Partition:
        self._check(records, columns)
        counts = group_counts(self.groups, self.k, len(records), self.method_name)
        search = ClassSearch(self, records, columns, self.covariates, rng)
        fit = search.best(counts, progress)
        labels, repair = hold_sizes(search.scores(fit), self.k)
        groups = len(fit.prevalence)
        facts = {"groups": Count(n=groups, unit="groups"), **search.facts(fit), "assignment": OfOriginal(repair)}
        model = search.model(fit, groups, by_group=True)
        return refuse_unless_k(Partition(labels=labels, facts=facts, model=model), self.k, self.method_name)

    def _check(self, records: Records, columns: Sequence[str]) -> None:
        if wrong := [name for name in columns if records[name].continuous]:
            raise DataError(
                f"latent-class needs categorical columns, and not {quoted(wrong)}. Name continuous columns as "
                f"covariates, set their level to ordinal or nominal, or use local-synthesis."
            )
        if both := [name for name in self.covariates if name in columns]:
            raise ParameterError(f"latent-class: covariates must not be among the columns; take out {quoted(both)}.")
        records.raw(self.covariates)  # refuses columns that are not continuous
        records.complete(self.covariates, self.method_name)
