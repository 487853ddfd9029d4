"""What a partition hands on to a replacement beside its groups: the models that it fitted."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.records import Records
from shoal.kernels.arrays import Floats, Ints, ints
from shoal.kernels.mixture.latent_class import class_probabilities


@dataclass(frozen=True, kw_only=True, eq=False)
class Centres:
    """What a fuzzy partition hands on: the centre of every group, in the columns' own units.

    Parameters
    ----------
    columns
        For each column shape (G,): values, or codes into its categories.
    """

    columns: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassModel:
    """Fitted latent classes, as a partition hands them to the draw.

    Parameters
    ----------
    groups
        Number of groups of the partition this model belongs to.
    columns
        Categorical columns.
    tables
        A table a column, shape (C, classes): probability of each category in each class.
    covariates
        Continuous columns that the classes depend on.
    coefficient
        Shape (classes, 1 + q): of 1 and the covariates' embedding (`Records.matrix`) in the multinomial logit.
    by_group
        Whether class g is the partition's group g; if not, a record's class is drawn by its covariates.
    """

    groups: int
    columns: tuple[str, ...]
    tables: tuple[Floats, ...]
    covariates: tuple[str, ...]
    coefficient: Floats
    by_group: bool

    def classes(self, released: Records, original: Records, labels: Ints, rng: np.random.Generator) -> Ints:
        """Shape (n,); the class each record is drawn from."""
        if self.by_group:
            return labels
        x = np.column_stack([np.ones(len(released)), released.matrix_like(original, self.covariates)])
        bounds = class_probabilities(self.coefficient, x).cumsum(axis=1)
        drawn = (rng.random((len(x), 1)) >= bounds[:, :-1]).sum(axis=1)
        return ints(drawn)
