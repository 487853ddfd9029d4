"""Data shuffling (Muralidhar & Sarathy 2006)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.kernels import linear, tall
from shoal.kernels.draws import standard_normal
from shoal.kernels.elementary import normal_quantile, sine
from shoal.mask.base import Mask
from shoal.table.equal_rows import mean_ranks, patterns
from shoal.table.prelude import Bools, Floats, Generator, Progress, Records, StepResult, Variable
from shoal.vocabulary.prelude import Columns, DataError, ParameterError, method

DEPENDENT = 1e-10
"""Directions of the given scores whose variance is below this share of the largest count as dependent."""


@method("shuffle", title="Data shuffling", source="Muralidhar & Sarathy (2006)")
class Shuffle(Mask):
    """Values are dealt out anew, so that ranks follow a normal model given other columns.

    Columns become normal scores; new scores of the step's columns are drawn from their distribution given the
    scores of `given`; each column's own values are then dealt out in the order of the new scores. Each column
    keeps exactly its values, rank correlations among them and with `given` stay in expectation, and given
    `given` a released value says nothing about the original one. The new scores are those of C-GADP, perturbation
    by a normal copula (Sarathy, Muralidhar & Parsa 2002), which would release quantiles in place of own values.

    Parameters
    ----------
    given
        Columns that are released unchanged and to which relations are kept: continuous or
        ordinal.

    Notes
    -----
    Spearman's rank correlation r becomes the normal model's correlation 2 sin(pi r / 6). A correlation matrix
    that is not positive semidefinite after that is projected on the nearest eigenvalues of 0 or more. With
    strata the model and the dealing are those of each stratum.

    Missing cells stay missing and have no rank: a column's known values are dealt out among the records that know it,
    correlations are those of the complete records, and scores are drawn given those of the `given` columns that a
    record has.
    """

    scales = "memory"
    leaves_gaps = True

    given: Annotated[tuple[str, ...], Columns()] = ()

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        if both := [name for name in self.given if name in columns]:
            raise ParameterError(f"shuffle: given names '{both[0]}', which is one of the columns to shuffle.")
        names = (*columns, *self.given)
        if wrong := [name for name in names if records[name].level == "nominal"]:
            raise DataError(
                f"Column '{wrong[0]}' is nominal, so its values have no rank; shuffle needs continuous or "
                f"ordinal columns."
            )
        if not names:
            raise DataError("shuffle: no column is to be shuffled. Name continuous or ordinal ones under 'columns'.")
        values = {name: records[name].values.copy() for name in columns}
        ranked = np.column_stack([_with_gaps(records[name]) for name in names])
        some: Bools = np.any(~np.isnan(ranked[:, : len(columns)]), axis=1)
        for stratum in records.by_stratum if len(records) else ():
            rows = stratum[some[stratum]]
            x = ranked[rows]
            drawn = _new_scores(x, len(columns), rng)
            for j, name in enumerate(columns):
                present = np.flatnonzero(~np.isnan(x[:, j]))
                order = present[np.argsort(drawn[present, j], kind="stable")]
                values[name][rows[order]] = np.sort(records[name].values[rows[present]])
        changed = [records[name].with_values(v) for name, v in values.items()]
        return StepResult(records=records.with_variables(*changed))


def _new_scores(x: Floats, targets: int, rng: Generator) -> Floats:
    """Shape (n, targets); new normal scores of the first columns given those of the others that a record has."""
    r = _normal_correlations(x[~np.isnan(x).any(axis=1)])
    given = x[:, targets:]
    kept = normal_quantile((_mid_ranks(given) + 0.5) / (~np.isnan(given)).sum(axis=0))
    drawn = standard_normal(rng, (len(x), targets))
    scores = np.empty_like(drawn)
    for missing, rows in patterns(np.isnan(given)):
        has = np.flatnonzero(~missing)
        across = r[:targets, targets + has]
        slope = linear.product(across, linear.pseudo_inverse(r[np.ix_(targets + has, targets + has)], DEPENDENT))
        rest = r[:targets, :targets] - linear.product(slope, across.T)
        eigenvalues, vectors = linear.eigen((rest + rest.T) / 2)
        root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
        both = np.ascontiguousarray(np.hstack([kept[rows][:, has], drawn[rows]]))
        scores[rows] = tall.times(both[None], np.vstack([slope.T, root.T])[None])[0]
    return scores


def _normal_correlations(x: Floats) -> Floats:
    """Shape (d, d); the correlations of the normal model that has the rank correlations of complete records (n, d)."""
    if len(x) < 2:
        return np.eye(x.shape[1])
    ranks = _mid_ranks(x)
    spread = ranks.std(axis=0)
    centred = (ranks - ranks.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    correlation = tall.cross(centred[None], centred[None])[0] / len(x)
    return np.where(np.eye(x.shape[1]) > 0, 1.0, 2 * sine(np.pi / 6 * correlation))


def _mid_ranks(x: Floats) -> Floats:
    """Ranks from 0 of known cells, equal values sharing the middle of their block; NaN for a missing cell."""
    ranks = np.full(x.shape, np.nan)
    for j, present in enumerate(~np.isnan(x.T)):
        ranks[present, j] = mean_ranks(x[present, j]) - 1
    return ranks


def _with_gaps(variable: Variable) -> Floats:
    """Shape (n,); values or codes that can be ranked, NaN for a missing cell."""
    return np.where(variable.missing, np.nan, variable.values)
