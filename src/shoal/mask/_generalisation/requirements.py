"""Requirements on a recoding beside its k: those of models on each class, and on the whole table.

Where a model can say what it requires of each class by itself, the search forms classes that satisfy it. All others are
asked of the table that a recoding makes; those that look only at how many records classes hold are first asked of these
numbers, so that tables are made of few recodings.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from shoal.judges.class_figures import ClassCounts
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import floats
from shoal.kernels.requirement import RequirementCheck
from shoal.kernels.requirement.emd import Requirement
from shoal.privacy.base import PeopleLimits, PrivacyModel
from shoal.table.prelude import Floats, Ints, Longs, Records, ints
from shoal.vocabulary.errors import DataError


@dataclass(frozen=True, kw_only=True, eq=False)
class Requirements:
    """Requirements on classes and on the whole table."""

    k: int  # Records that every class must hold
    # What every class must satisfy in the confidential columns; no columns where nothing is required
    check: RequirementCheck
    of_table: tuple[PrivacyModel, ...]  # Models of the whole table
    # Those of them that limit the people of a population whom the records of each class may be of
    of_people: tuple[tuple[PrivacyModel, PeopleLimits], ...]
    # Those of them that limit the average risk of the records by class and nothing else
    of_risk: tuple[tuple[PrivacyModel, float], ...]
    models: tuple[PrivacyModel, ...]
    columns: tuple[str, ...]  # What the classes agree on; the quasi-identifiers, for the models
    weights: Floats | None = None  # Shape (n,); sampling weights, where the table has some

    @classmethod
    def of(cls, k: int, models: Sequence[PrivacyModel], records: Records, columns: Sequence[str]) -> Self:
        seen = as_quasi_identifiers(records, columns)
        bins: list[Ints] = []
        requirements: list[Requirement] = []
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
        risk = [(model, largest) for model in of_table if (largest := model.largest_average_risk) is not None]
        people = [(model, counted) for model in of_table if (counted := model.people_limits(seen)) is not None]
        stacked = ints(np.vstack(bins)) if bins else np.empty((0, len(records)), dtype=np.int32)
        return cls(
            k=k,
            check=RequirementCheck(stacked, requirements),
            of_table=tuple(of_table),
            of_people=tuple(people),
            of_risk=tuple(risk),
            models=tuple(models),
            columns=tuple(columns),
            weights=records.weights,
        )

    def broken_by_counts(self, classes: Ints | Longs, rows: Ints | None = None) -> str | None:
        """The first broken model of those that look only at how many records classes hold; None where none is.

        What it says is so of the cells as they stand; that it finds nothing proves nothing.

        `classes`, shape (m,): class, from 0, of the records of each combination; -1 where they are suppressed; `rows`,
        shape (n,): combination of each record; by default each is one.
        """
        if not self.of_table:
            return None
        of_record = classes if rows is None else classes[rows]
        kept = of_record >= 0
        weights = self.weights
        if weights is not None and not (np.isfinite(weights) & (weights > 0)).all():
            return None
        sizes = np.bincount(of_record[kept])
        sums = None if weights is None else floats(np.bincount(of_record[kept], weights=weights[kept])[sizes > 0])
        counts = ClassCounts(sizes=sizes[sizes > 0].astype(np.int64), weights=sums)
        return _first_broken(model.on_counts(counts) for model in self.of_table)

    def broken(self, original: Records, released: Records, models: Sequence[PrivacyModel]) -> str | None:
        """The sentence of the first of some models that a recoding does not satisfy; None where all hold."""
        seen = as_quasi_identifiers(released, self.columns)
        pair = TablePair.of(as_quasi_identifiers(original, self.columns), seen)
        return _first_broken(model.verdict_on(pair) for model in models)


def _first_broken(verdicts: Iterable[Verdict | None]) -> str | None:
    """The sentence of the first verdict that does not hold; None where all hold or say nothing."""
    broken = (verdict for verdict in verdicts if verdict is not None and not verdict.holds)
    return next((f"{verdict.requirement} does not hold." for verdict in broken), None)


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
