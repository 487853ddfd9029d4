"""Noise inside the group: local masking (Oganian & Domingo-Ferrer 2017)."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.replace._noise.laws import Kind, NoiseLaw, check_size_of_turn
from shoal.replace.base import Replacement
from shoal.replace.synthesis import account
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult, tracked
from shoal.vocabulary.prelude import Count, DataError, Gt, Setting, method


@method(
    "local-noise",
    title="Noise inside the group",
    source="Oganian & Domingo-Ferrer (2017); Kim (1986); Sullivan (1989)",
    example={"variance": 0.1},
)
class LocalNoise(Replacement):
    """Random noise on continuous columns, with the mean and covariance of each group.

    As the mask `noise`, for each group by itself: where groups are tight, noise is small, and what differs between
    groups is not blurred. Every record keeps a part of its own values, so nobody is hidden among the others of the
    group by it: no k-anonymity of any kind follows, and linkage is measured. Missing cells stay missing, as in `noise`.

    Parameters
    ----------
    kind
        As for `noise`.
    variance
        Variance of the noise as a fraction of the column's variance in the group (for `multiplicative`, of the squared
        value). At most 2 for `orthogonal`.
    exact
        The mean and covariance that the kind has hold in every group and not only in expectation. `orthogonal` is
        always exact; a group needs 5 records for one column, 6 for two, 8 for three, and from six columns on twice
        as many records as there are columns, and one more.
    """

    kind: Kind = "kim"
    variance: Annotated[float, Gt(0), Setting()]
    exact: bool = False

    def __post_init__(self) -> None:
        check_size_of_turn(self.kind, self.variance, "local-noise")

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        if coded := [name for name in columns if not records[name].continuous]:
            raise DataError(
                f"Column '{coded[0]}' is {records[coded[0]].level}; local-noise needs columns that are continuous. "
                f"Leave it out of the step's columns, or give it another level."
            )
        x = records.raw(columns)
        new = x.copy()
        law = NoiseLaw(kind=self.kind, variance=self.variance, exact=self.exact, where="group")
        for rows in tracked(list(partition.members()), progress) if x.size else ():
            new[rows] = law.of_known_cells(x[rows], records.rows[rows], columns, rng)
        facts = {"groups": Count(n=partition.n_groups, unit="groups")}
        kept = account(x, new, np.empty((len(x), 0)), partition, columns) if x.size else {}
        return StepResult(records=records.with_raw(columns, new), facts={**facts, **kept})
