"""Truncation: a limit on the records of a person."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np

from shoal.mask.base import Mask
from shoal.table.prelude import Bools, Generator, Longs, Progress, Records, StepResult
from shoal.vocabulary.prelude import ColumnName, Count, Ge, ParameterError, Setting, method


@method("truncate-records", title="Truncation of persons' records", source="Wilson et al. (2020)", example={"most": 2})
class TruncateRecords(Mask):
    """Keeps at most so many records of each person: by chance, the first or last, or those of common kinds.

    Whoever has far more records than others is found by their number alone. The order of the records stays; weights
    stay as they are. In a table without a person column each record is a person, and all stay.

    Parameters
    ----------
    most
        Records that a person keeps at most.
    keep
        Records that are kept: drawn at `random`, the `first` or `last` ones, or the most `common` ones, of a kind that
        as many persons as possible have. Persons then end up with records that are alike, so that fewer have to be
        suppressed; what is rare is lost.
    order
        Column by which records are first and last; by default they are as they stand in the table. Among equal ones,
        those that stand first come first; a missing cell comes last.
    of_kind
        Columns by which records are of one kind, for `keep: common`; by default the quasi-identifiers.
    """

    scales = "memory"

    most: Annotated[int, Ge(1), Setting()]
    keep: Literal["random", "first", "last", "common"] = "random"
    order: Annotated[str | None, ColumnName()] = None
    of_kind: Annotated[tuple[str, ...] | None, ColumnName()] = None

    def __post_init__(self) -> None:
        if self.order is not None and self.keep not in ("first", "last"):
            raise ParameterError("truncate-records: order is for keep: first or last. Say which, or leave order out.")
        if self.of_kind is not None and self.keep != "common":
            raise ParameterError("truncate-records: of_kind is for keep: common. Say that, or leave of_kind out.")

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        persons = records.unit_numbers("person")
        if persons is None:
            persons = np.arange(len(records))
        kept = places_in_units(persons, self._rank(records, persons, rng)) < self.most
        kept |= persons < 0
        facts = {
            "records dropped": Count(n=int((~kept).sum())),
            "persons with more records": Count(n=len(np.unique(persons[~kept])), unit="persons"),
        }
        return StepResult(records=records.take(np.flatnonzero(kept)), facts=facts)

    def _rank(self, records: Records, persons: Longs, rng: Generator) -> Longs:
        """Shape (n,); numbers in the order in which a person's records are kept."""
        n = len(records)
        if self.keep == "random":
            return rng.permutation(n)
        if self.keep == "common":
            return self._by_kind(records, persons, rng.permutation(n))
        places = np.arange(n)
        if self.order is not None:
            column = records[self.order]
            places = np.empty(n, dtype=np.int64)
            places[np.lexsort((np.arange(n), column.values, column.missing))] = np.arange(n)
        return places if self.keep == "first" else -places

    def _by_kind(self, records: Records, persons: Longs, chance: Longs) -> Longs:
        """Shape (n,); numbers by which records come first that are of a kind of many persons, else by chance.

        Kinds that as many persons have come in one order for all.
        """
        kinds = records.alike(records.quasi_identifiers if self.of_kind is None else self.of_kind)
        width = int(kinds.max(initial=0)) + 1
        several = np.where(persons < 0, persons.max(initial=0) + 1 + np.arange(len(persons)), persons)
        having = np.bincount(np.unique(several * width + kinds) % width, minlength=width)
        places = np.empty(len(kinds), dtype=np.int64)
        places[np.lexsort((chance, kinds, -having[kinds]))] = np.arange(len(kinds))
        return places


def places_in_units(persons: Longs, rank: Longs) -> Longs:
    """Shape (n,); place of each record among those of its person, from 0."""
    by = np.lexsort((rank, persons))
    first: Bools = np.diff(persons[by], prepend=-2) != 0
    places = np.empty(len(persons), dtype=np.int64)
    steps = np.arange(len(persons))
    places[by] = steps - np.maximum.accumulate(np.where(first, steps, 0))
    return places
