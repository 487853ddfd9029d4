"""Local synthesis of mixed data: a mixture for the continuous columns, latent classes for the categorical ones."""

from collections.abc import Sequence
from typing import Annotated, Literal

from annotated_types import MinLen

from shoal.kernels.mixture.mixture import CovarianceModel
from shoal.partition._em.group_counts import Groups, group_counts
from shoal.partition.base import Partitioner
from shoal.partition.gaussian_mixture import GaussianMixture
from shoal.partition.latent_class import ClassSearch, LatentClass
from shoal.table.prelude import Generator, Partition, Progress, Records
from shoal.vocabulary.prelude import Count, Ge, Gt, Nested, Setting, method

SHARED = ("k", "selection_records", "tolerance", "most_steps")
"""Parameters of the mixture and of the latent classes alike."""


@method(
    "local-synthesis",
    title="Local synthesis: normal mixture and latent class regression",
    source="Oganian & Domingo-Ferrer (2017), sections 6 and 7",
    example={"k": 3},
    example_columns=("age", "size", "sex"),
)
class LocalSynthesis(Partitioner):
    """Groups of at least k records for the continuous columns, with a latent class regression for the others.

    To be followed by `class-conditional`: it draws the continuous columns inside the groups, then each record's
    latent class given its new continuous values, then its categories given the class. So the joint law of the
    released table is that of the mixture for X times that of the latent class regression for Y given X.

    The groups are those of `gaussian-mixture` on the continuous columns; with categorical columns alone they are
    those of `latent-class`, with continuous columns alone nothing else is fitted.

    Parameters
    ----------
    k
        Smallest size of a group; the mean prevalences of the latent classes are held at k/n, too.
    groups, models, components, tails
        As for `gaussian-mixture`.
    classes
        Number of latent classes, or a range of which BIC chooses; by default as many as there are groups, as in
        the paper.
    starts, prior_records
        As for `latent-class`.
    kmeans_starts
        As for `gaussian-mixture`.
    selection_records, tolerance, most_steps
        As for both.
    """

    by_known_columns = True
    by_household = False

    k: Annotated[int, Ge(1)]
    groups: Groups = "2..10"
    models: Literal["all"] | Annotated[tuple[CovarianceModel, ...], MinLen(1)] = "all"
    components: Annotated[int, Ge(1)] | None = None
    tails: Literal["normal", "t", "both"] = "normal"
    classes: Groups | None = None
    starts: Annotated[int, Ge(1)] = 10
    prior_records: Annotated[float, Gt(0), Setting()] = 1.0
    kmeans_starts: Annotated[int, Ge(0)] = 2
    selection_records: Annotated[int, Ge(100)] = 10_000
    tolerance: Annotated[float, Gt(0), Setting()] = 1e-6
    most_steps: Annotated[int, Ge(1)] = 5000

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> Partition:
        continuous = tuple(name for name in columns if records[name].continuous)
        categorical = tuple(name for name in columns if not records[name].continuous)
        if not continuous:
            return self._latent_class().assign(records, columns, rng, progress)
        part = self._mixture().assign(records, continuous, rng, progress)
        if not categorical:
            return part
        classes = part.n_groups if self.classes is None else self.classes
        counts = group_counts(classes, self.k, len(records), self.method_name)
        search = ClassSearch(self, records, categorical, continuous, rng)
        fit = search.best(counts, None)
        facts = {
            "groups": Count(n=part.n_groups, unit="groups"),
            "mixture": Nested(part.facts),
            "latent classes": Nested(search.facts(fit)),
        }
        return Partition(labels=part.labels, facts=facts, model=search.model(fit, part.n_groups, by_group=False))

    def _mixture(self) -> GaussianMixture:
        own = ("groups", "models", "components", "tails", "kmeans_starts")
        return GaussianMixture(**{name: getattr(self, name) for name in (*own, *SHARED)})

    def _latent_class(self) -> LatentClass:
        groups = self.groups if self.classes is None else self.classes
        own = ("starts", "prior_records")
        return LatentClass(groups=groups, **{name: getattr(self, name) for name in (*own, *SHARED)})
