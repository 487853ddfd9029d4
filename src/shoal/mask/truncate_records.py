"""Truncation: a limit on the records of a person."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Bools, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.prelude import ColumnName, Count, Ge, ParameterError, Setting, method


@method("truncate-records", title="Truncation of persons' records", source="Wilson et al. (2020)", example={"most": 2})
class TruncateRecords(Mask):
    """Keeps at most so many records of each person, by chance, or the first or last ones.

    Whoever has far more records than others is found by their number alone. The order of the records stays; weights
    stay as they are. In a table without a person column each record is a person, and all stay.

    Parameters
    ----------
    most
        Records that a person keeps at most.
    keep
        Records that are kept: drawn at `random`, or the `first` or `last` ones.
    order
        Column by which records are first and last; by default they are as they stand in the table. Among equal ones,
        those that stand first come first; a missing cell comes last.
    """

    scales = "memory"

    most: Annotated[int, Ge(1), Setting()]
    keep: Literal["random", "first", "last"] = "random"
    order: Annotated[str | None, ColumnName()] = None

    def __post_init__(self) -> None:
        if self.order is not None and self.keep == "random":
            raise ParameterError("truncate-records: order is for keep: first or last. Say which, or leave order out.")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        persons = records.unit_numbers("person")
        if persons is None:
            persons = np.arange(len(records))
        kept = places_in_units(persons, self._rank(records, rng)) < self.most
        kept |= persons < 0
        facts = {
            "records dropped": Count(n=int((~kept).sum())),
            "persons with more records": Count(n=len(np.unique(persons[~kept])), unit="persons"),
        }
        return StepResult(records=records.take(np.flatnonzero(kept)), facts=facts)

    def _rank(self, records: Records, rng: Generator) -> Longs:
        """Shape (n,); numbers in the order in which a person's records are kept."""
        n = len(records)
        if self.keep == "random":
            return rng.permutation(n)
        places = np.arange(n)
        if self.order is not None:
            column = records[self.order]
            places = np.empty(n, dtype=np.int64)
            places[np.lexsort((np.arange(n), column.values, column.missing))] = np.arange(n)
        return places if self.keep == "first" else -places


def places_in_units(persons: Longs, rank: Longs) -> Longs:
    """Shape (n,); place of each record among those of its person, from 0."""
    by = np.lexsort((rank, persons))
    first: Bools = np.diff(persons[by], prepend=-2) != 0
    places = np.empty(len(persons), dtype=np.int64)
    steps = np.arange(len(persons))
    places[by] = steps - np.maximum.accumulate(np.where(first, steps, 0))
    return places
