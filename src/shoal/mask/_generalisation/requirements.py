"""What a recoding must satisfy beside its k: what models require of each class, and of the whole table.

Where a model can say what it requires of each class by itself, the search forms classes that satisfy it. All others are
asked of the table that a recoding makes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shoal.data.records import Records
from shoal.errors import DataError
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Ints, Longs, ints
from shoal.kernels.requirement import emd
from shoal.kernels.requirement.requirement_partition import RequirementCheck
from shoal.privacy.base import PrivacyModel


@dataclass(frozen=True, kw_only=True, eq=False)
class Requirements:
    """What is required.

    Parameters
    ----------
    k
        Records that every class must hold.
    check
        What every class must satisfy in the confidential columns; no columns where nothing is required.
    of_table
        Models of the whole table.
    models
        All models.
    columns
        What the classes agree on; the quasi-identifiers, for the models.
    """

    k: int
    check: RequirementCheck
    of_table: tuple[PrivacyModel, ...]
    models: tuple[PrivacyModel, ...]
    columns: tuple[str, ...]

    @classmethod
    def of(cls, k: int, models: Sequence[PrivacyModel], records: Records, columns: Sequence[str]) -> Self:
        seen = as_quasi_identifiers(records, columns)
        bins: list[Ints] = []
        requirements: list[emd.Requirement] = []
        of_table: list[PrivacyModel] = []
        for model in models:
            limits = model.group_limits(seen)
            if limits is None:
                of_table.append(model)
                continue
            if not limits.columns and not records.confidential and limits.k == 1:
                raise DataError(
                    f"generalise: {model.method_name} needs a confidential column; give one the role confidential."
                )
            k = max(k, limits.k)
            bins += [column.bins for column in limits.columns]
            requirements += limits.requirements
        stacked = ints(np.vstack(bins)) if bins else np.empty((0, len(records)), dtype=np.int32)
        return cls(
            k=k,
            check=RequirementCheck(stacked, requirements),
            of_table=tuple(of_table),
            models=tuple(models),
            columns=tuple(columns),
        )

    @property
    def monotone(self) -> bool:
        """Whether what is required of the whole table never ceases to hold when classes are united."""
        return all(model.monotone for model in self.of_table)

    def excess(self, classes: Ints | Longs, count: int) -> Floats:
        """Shape (count,); by how much each class exceeds what is required of it, at most 0 where it satisfies it."""
        excesses = [
            emd.excesses(requirement, bins, classes.astype(np.int64), int(bins.max()) + 1, count)
            for bins, requirement in zip(self.check.bins, self.check.requirements)
        ]
        return np.asarray(np.max(excesses, axis=0))

    @property
    def by_class(self) -> bool:
        """Whether anything but k is required of each class."""
        return len(self.check.bins) > 0

    def broken(self, original: Records, released: Records, models: Sequence[PrivacyModel]) -> str | None:
        """The sentence of the first of some models that a recoding does not satisfy; None where all hold."""
        seen = as_quasi_identifiers(released, self.columns)
        pair = TablePair.of(as_quasi_identifiers(original, self.columns), seen)
        for model in models:
            verdict = model.verdict_on(pair)
            if not verdict.holds:
                return f"{verdict.requirement} does not hold."
        return None


def as_quasi_identifiers(records: Records, columns: Sequence[str]) -> Records:
    """The records with some columns as their only quasi-identifiers."""
    return records.with_variables(
        *(replace(v, role="quasi-identifier") for v in records.variables if v.name in columns),
        *(
            replace(v, role="other")
            for v in records.variables
            if v.role == "quasi-identifier" and v.name not in columns
        ),
    )
