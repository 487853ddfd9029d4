"""Change of principal components: communalities, loadings and factor scores."""

from typing import Annotated, Literal

import numpy as np

from shoal.judges.prelude import Finding, Floats, Generator, TablePair
from shoal.utility.base import OfNumbers
from shoal.utility.correlation_change import eigen_of_correlations
from shoal.vocabulary.prelude import ByColumn, Ge, NoFigure, in_digits, method, of_original

NEGLIGIBLE = 1e-10
"""Eigenvalues up to this share of the number of columns are zero but for rounding: their factors have no scores."""


@method(
    "principal-components",
    title="Change of principal components",
    source="Domingo-Ferrer & Torra (2001); Sebe et al. (2002)",
)
class PrincipalComponents(OfNumbers):
    """Mean absolute change of what ties the columns to the principal components of their correlation matrix.

    With eigenvalues e_1 >= e_2 >= ... and eigenvectors v_1, v_2, ..., column i has on component j

    - the loading v_ij sqrt(e_j), which is the correlation of the two;
    - the factor score coefficient v_ij / sqrt(e_j), by which scores are made from standardised columns;

    and its communality is the sum of its squared loadings on the first components: the share of its variance that these
    explain. The change of loadings and of coefficients is a mean over components that weighs each by the share of the
    variance that it explains in the original.

    Parameters
    ----------
    figure
        Which of the three is the value; the others stand in the details.
    components
        Number of components that are compared, the largest first; at most as many as there are columns.

    Notes
    -----
    Components are paired by size, and each released one is turned in the direction in which it is nearer to the
    original one, since the sign of an eigenvector is arbitrary. Where two eigenvalues are nearly equal their components
    may turn freely; with both among those compared, communalities do not change by that.
    """

    unchanged = 0.0
    cheap = True

    figure: Literal["communalities", "loadings", "scores"] = "communalities"
    components: Annotated[int, Ge(1)] = 1

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        before, after = eigen_of_correlations(pair, names)
        many = min(self.components, len(names))
        if self.figure == "scores" and min(e[0][many - 1] for e in (before, after)) <= NEGLIGIBLE * len(names):
            raise NoFigure("A component has no variance in one of the tables, so there are no scores on it.")
        share = before[0][:many] / before[0][:many].sum()
        first, second = _loadings(*before, many), _loadings(*after, many)
        second = second * np.where((first * second).sum(axis=0) < 0, -1.0, 1.0)
        communalities = np.abs((second**2).sum(axis=1) - (first**2).sum(axis=1))
        changes = {
            "communalities": float(communalities.mean()),
            "loadings": float((np.abs(second - first).mean(axis=0) * share).sum()),
            "scores": float((np.abs(_scores(second) - _scores(first)).mean(axis=0) * share).sum()),
        }
        value = changes[self.figure]
        explained = [in_digits(100 * float(e[0][:many].sum()) / len(names), 3) for e in (before, after)]
        return self.finding(
            value,
            f"The {self.figure} change by {in_digits(value, 3)} on average; the components explain {explained[0]} % of "
            f"the variance in the original and {explained[1]} % in the release.",
            by_column=ByColumn(of_original(dict(zip(names, communalities.tolist())))),
            facts=of_original({"mean absolute change": changes, "components": many}),
        )


def _loadings(values: Floats, vectors: Floats, many: int) -> Floats:
    """Shape (d, many)."""
    return np.asarray(vectors[:, :many] * np.sqrt(np.maximum(values[:many], 0.0)))


def _scores(loadings: Floats) -> Floats:
    """Shape (d, many); coefficients, 0 for a component without variance."""
    values = (loadings**2).sum(axis=0)
    return np.asarray(loadings / np.where(values > NEGLIGIBLE * len(loadings), values, np.inf))
