"""Data shuffling (Muralidhar & Sarathy 2006)."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np

from shoal.data.partition import Progress
from shoal.data.records import Records
from shoal.errors import DataError, ParameterError
from shoal.kernels import linear, tall
from shoal.kernels.arrays import Floats
from shoal.kernels.draws import standard_normal
from shoal.kernels.elementary import normal_quantile, sine
from shoal.mask.base import Mask, strata
from shoal.methods import Scales, method
from shoal.parameters import Columns
from shoal.step_result import StepResult

DEPENDENT = 1e-10
"""Directions of the given scores whose variance is below this share of the largest count as dependent."""


@method("shuffle", title="Data shuffling", source="Muralidhar & Sarathy (2006)")
class Shuffle(Mask):
    """Values are dealt out anew, so that ranks follow a normal model given other columns.

    Columns become normal scores; new scores of the step's columns are drawn from their distribution given the
    scores of `given`; each column's own values are then dealt out in the order of the new scores. Each column
    keeps exactly its values, rank correlations among them and with `given` stay in expectation, and given
    `given` a released value says nothing about the original one.

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
    """

    scales: ClassVar[Scales] = "memory"

    given: Annotated[tuple[str, ...], Columns()] = ()

    def apply(
        self, records: Records, columns: Sequence[str], rng: np.random.Generator, progress: Progress = None
    ) -> StepResult:
        if both := [name for name in self.given if name in columns]:
            raise ParameterError(f"shuffle: given names '{both[0]}', which is one of the columns to shuffle.")
        names = (*columns, *self.given)
        if wrong := [name for name in names if records[name].level == "nominal"]:
            raise DataError(
                f"Column '{wrong[0]}' is nominal, so its values have no rank; shuffle needs continuous or "
                f"ordinal columns."
            )
        records.complete(names, "shuffle")
        values = {name: records[name].values.copy() for name in columns}
        for rows in strata(records) if len(records) else ():
            x = np.column_stack([records[name].values[rows] for name in names]).astype(np.float64)
            drawn = _new_scores(x, len(columns), rng)
            for j, name in enumerate(columns):
                order = np.argsort(drawn[:, j], kind="stable")
                values[name][rows[order]] = np.sort(records[name].values[rows])
        changed = [records[name].with_values(v) for name, v in values.items()]
        return StepResult(records=records.with_variables(*changed))


def _new_scores(x: Floats, targets: int, rng: np.random.Generator) -> Floats:
    """Shape (n, targets); new normal scores of the first columns given those of the others."""
    n = len(x)
    ranks = _mid_ranks(x)
    moving = ranks.std(axis=0) > 0
    r = np.eye(x.shape[1])
    if n > 1:
        centred = (ranks - ranks.mean(axis=0)) / np.where(moving, ranks.std(axis=0), 1.0)
        correlation = tall.cross(centred[None], centred[None])[0] / n
        r = np.where(np.eye(x.shape[1]) > 0, 1.0, 2 * sine(np.pi / 6 * correlation))
    kept = normal_quantile((ranks[:, targets:] + 0.5) / n)
    slope = linear.product(r[:targets, targets:], linear.pseudo_inverse(r[targets:, targets:], DEPENDENT))
    rest = r[:targets, :targets] - linear.product(slope, r[targets:, :targets])
    eigenvalues, vectors = linear.eigen((rest + rest.T) / 2)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    drawn = np.ascontiguousarray(np.hstack([kept, standard_normal(rng, (n, targets))]))
    return np.asarray(tall.times(drawn[None], np.vstack([slope.T, root.T])[None])[0])


def _mid_ranks(x: Floats) -> Floats:
    """Ranks from 0, equal values sharing the middle of their block."""
    ordered = np.sort(x, axis=0)
    return np.column_stack(
        [(np.searchsorted(s, c, "left") + np.searchsorted(s, c, "right") - 1) / 2 for s, c in zip(ordered.T, x.T)]
    )
