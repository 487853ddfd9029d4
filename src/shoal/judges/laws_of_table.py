"""The laws of a table, listed before anything is planned: which columns give which back, and how often rightly."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.judges.intervals import proportion_interval
from shoal.table.dependencies import gives_back
from shoal.table.files.json_text import Record
from shoal.table.laws import Laws
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import Schema
from shoal.vocabulary.errors import plural
from shoal.vocabulary.facts import Interval

MOST_RECORDS = 100_000
"""Records, the first of a table, in which laws are looked for when they are listed."""

MOST_COLUMNS = 60
"""Columns of a table in which laws are listed: the work grows with their square."""

FEWEST_RECORDS = 2_000
MOST_VISITS = 80_000_000
"""Records times pairs of columns; of wide tables fewer records are looked at, but not fewer than `FEWEST_RECORDS`."""

TOO_WIDE = f"Laws between columns are listed for up to {MOST_COLUMNS} columns; a release is judged by all of them."

REMEDY = (
    "where a column is to be protected, take out what gives it back, coarsen it alike, or give it the role "
    "quasi-identifier"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedLaw:
    """A law by which columns give another one back.

    Parameters
    ----------
    sources, name
        The columns, and the one that they give back.
    arithmetic
        True if it is computed, False if it is looked up in other records.
    exceptions, pairs
        Records in which the law is wrong, and all that can tell.
    """

    sources: tuple[str, ...]
    name: str
    arithmetic: bool
    exceptions: int
    pairs: int

    @property
    def interval(self) -> Interval:
        """Wilson's interval of the share of records in which the law is right, at 95 %."""
        return proportion_interval(self.pairs - self.exceptions, self.pairs)

    def __str__(self) -> str:
        """The law in words, with the interval of its rightness."""
        way = "by arithmetic" if self.arithmetic else "by look-up"
        low, high = (f"{100 * end:.1f}" for end in (self.interval.low, self.interval.high))
        law = gives_back(self.sources, self.name, self.exceptions)
        return f"{law}, {way}, in {plural(self.pairs, 'record')} (right in {low} to {high} %)"

    def as_mapping(self) -> Record:
        """The law, JSON-able."""
        return {
            "by": list(self.sources),
            "gives back": self.name,
            "arithmetic": self.arithmetic,
            "exceptions": self.exceptions,
            "records": self.pairs,
            "right": [self.interval.low, self.interval.high],
        }


def laws_of(records: Records) -> list[ListedLaw]:
    """The laws of a table by the column that is given back; of two by the same columns, arithmetic.

    A table of more than `MOST_COLUMNS` columns has none listed (`TOO_WIDE`).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> frame = pl.DataFrame({"year": range(1930, 2010), "age": range(94, 14, -1)})
    >>> for law in laws_of(shoal.Microdata.of(frame, dict.fromkeys(frame.columns, "other")).records):
    ...     print(law)
    'age' gives 'year' back, by arithmetic, in 80 records (right in 95.4 to 100.0 %)
    'year' gives 'age' back, by arithmetic, in 80 records (right in 95.4 to 100.0 %)
    """
    names = list(records.names())
    return [] if len(names) > MOST_COLUMNS else _laws(records, names, names)


def laws_on(records: Records, targets: Collection[str], sources: Collection[str]) -> list[ListedLaw]:
    """The laws by which some columns, the first `MOST_COLUMNS` of them, give back others."""
    targets = list(targets)
    sources = [name for name in records.names() if name in sources and name not in targets][:MOST_COLUMNS]
    laws = _laws(records.select([*targets, *sources]), targets, [*targets, *sources], sources)
    return [law for law in laws if set(law.sources) <= set(sources)]


def _laws(
    records: Records, targets: Sequence[str], names: Sequence[str], by: Collection[str] | None = None
) -> list[ListedLaw]:
    """The laws on some columns of a table, in the order of names; of two by the same columns, arithmetic."""
    most = min(MOST_RECORDS, max(FEWEST_RECORDS, MOST_VISITS // max(len(names), 1) ** 2))
    if len(records) > most:
        records = records.take(np.arange(most))
    laws = {(frozenset(law.sources), law.name): law for law in _listed(Laws.of(records, targets, by=by))}
    return sorted(laws.values(), key=lambda law: (names.index(law.name), len(law.sources)))


def laws_in_frame(frame: pl.DataFrame, units: Collection[str] = ()) -> list[ListedLaw]:
    """As `laws_of`, of columns as they come; `units`: those that say which records belong together."""
    if len(frame.columns) > MOST_COLUMNS:
        return []
    columns = {name: {"role": "household" if name in units else "other", "missing": "keep"} for name in frame.columns}
    return laws_of(Microdata.finished(frame.head(MOST_RECORDS), Schema.of(columns)).encoded)


def _listed(laws: Laws) -> Iterator[ListedLaw]:
    for law, support in laws.look_ups.items():
        yield ListedLaw(
            sources=law.by, name=law.on, arithmetic=False, exceptions=support.exceptions, pairs=support.pairs
        )
    for formula in laws.arithmetic:
        yield ListedLaw(
            sources=formula.by, name=formula.on, arithmetic=True, exceptions=formula.exceptions, pairs=formula.records
        )
