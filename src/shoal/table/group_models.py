"""Fitted models that a partition passes to a replacement beside its groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints, ints
from shoal.kernels.mixture.latent_class import class_probabilities
from shoal.table.records import Records


@dataclass(frozen=True, kw_only=True, eq=False)
class Centres:
    """Centres of the groups of a fuzzy partition, in the columns' own units."""

    columns: Mapping[str, NDArray[Any]]  # Shape (G,) for each column: values, or codes into its categories


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentClasses:
    """Fitted latent classes, as a partition passes them to the replacement that draws from them."""

    groups: int  # Number of groups of the partition this model belongs to
    columns: tuple[str, ...]  # Categorical columns
    tables: tuple[Floats, ...]  # A table a column, shape (C, classes): probability of each category in each class
    covariates: tuple[str, ...]  # Continuous columns that the classes depend on
    # Shape (classes, 1 + q): of 1 and the covariates' embedding (`Records.matrix`) in the multinomial logit
    coefficient: Floats
    by_group: bool  # True if class g is the partition's group g; if not, a record's class is drawn by its covariates

    def classes(self, released: Records, original: Records, labels: Ints, rng: np.random.Generator) -> Ints:
        """Shape (n,); the class from which each record is drawn."""
        if self.by_group:
            return labels
        x = np.column_stack([np.ones(len(released)), released.matrix_like(original, self.covariates)])
        bounds = class_probabilities(self.coefficient, x).cumsum(axis=1)
        drawn = (rng.random((len(x), 1)) >= bounds[:, :-1]).sum(axis=1)
        return ints(drawn)
