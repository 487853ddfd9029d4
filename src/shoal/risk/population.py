"""Classes of the released table with their sizes in the population."""

from dataclasses import dataclass

import numpy as np

from shoal.data.records import Records
from shoal.errors import NoFigure
from shoal.kernels.arrays import Floats, Longs


@dataclass(frozen=True, kw_only=True, eq=False)
class PopulationClasses:
    """Records that share all quasi-identifiers.

    Parameters
    ----------
    ids
        Shape (n,); class of each record.
    sizes
        Shape (C,); records of each class, f.
    population
        Shape (C,); people of each class in the population, F: the sum of the weights, at least f.
    """

    ids: Longs
    sizes: Longs
    population: Floats


def population_classes(released: Records, *, weights_needed: bool = True) -> PopulationClasses:
    """The classes of a table that has records and quasi-identifiers.

    Raises
    ------
    NoFigure
        If class sizes in the population are not known.
    """
    classes = released.classes(released.quasi_identifiers)
    weights = sampling_weights(released)
    population = classes.sizes.astype(np.float64)
    if weights is not None:
        summed = np.bincount(classes.ids, weights=weights, minlength=len(classes.sizes))
        population = np.maximum(summed, classes.sizes)
    elif weights_needed:
        raise NoFigure("The table has no sampling weight, so class sizes in the population are not known.")
    return PopulationClasses(ids=classes.ids, sizes=classes.sizes, population=population)


def sampling_weights(released: Records) -> Floats | None:
    """Shape (n,); the sampling weights, None where there are none.

    Raises
    ------
    NoFigure
        If some cannot be used.
    """
    weights = released.weights
    if weights is None or (np.isfinite(weights) & (weights > 0)).all():
        return weights
    raise NoFigure("Sampling weights must be present and above 0 for every record.")
