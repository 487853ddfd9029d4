"""What shows that a column of a table holds keys of another one: its cells, and the names of both.

All of its cells are among the key's, and its name is that of the key, or that of the table (`patient_id` for the table
`patients`). Text of many values needs no name, for it is not there by chance. Whole numbers are: 1 to n are among the
keys of any larger table. So a name that only says number, or that counts (`visit_no`, `visits`), is not enough.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.kernels.elementary import log
from shoal.table.column_words import meaning, words_in

FEWEST_VALUES = 20
"""Fewest values of text that make a link of a column of another name."""

NO_CHANCE = 14.0
"""Values that would all be keys with a probability under exp(-14), if they lay anywhere among these, are no chance."""

IDS = ("id", "ids", "identifier", "key", "nr", "code", "pk", "oid", "uid", "uuid", "guid")
"""Words for a number by which something is found."""

NUMBERS = (*IDS, "no", "num", "number", "nummer", "numero", "n", "seq", "serial", "index", "row", "line", "record")
"""Words for a number of anything, which do not tell of what; some count, as does that of a person's visit."""

OUTER = 0.1
"""Links that lie anywhere among the keys reach into this share of them at either end; what counts from 1 does not."""

PLURALS = ("", "s", "es", "e", "n", "en")
"""What makes a table's name of what one of its rows is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A column of a table whose values are all among the keys of another one."""

    parent: str
    link: str
    key: str
    same: bool  # True if both hold the same values, once each


Columns = Mapping[str, Mapping[str, pl.Series]]


def candidates(frame: pl.DataFrame) -> dict[str, pl.Series]:
    """The columns of whole numbers or text without missing cells, as text."""
    return {
        series.name: series.cast(pl.String)
        for series in frame.iter_columns()
        if (series.dtype.is_integer() or series.dtype == pl.String) and not series.null_count() and len(series)
    }


def edges_of(name: str, columns: Columns) -> Iterator[Edge]:
    """A link to each table that a table can hang on: by the key's name, the table's name, or text of many values."""
    for parent, above in columns.items():
        keys = [cells for cells in above.values() if cells.n_unique() == len(cells)]
        pairs = [
            (cells, key)
            for key in keys
            for cells in columns[name].values()
            if parent != name and cells.is_in(key.implode()).all()
        ]
        pair = _by_key(pairs, parent) or _by_table(pairs, parent) or _by_text(pairs)
        if pair is not None:
            cells, key = pair
            same = len(cells) == len(key) == cells.n_unique()
            yield Edge(parent=parent, link=cells.name, key=key.name, same=same)


Pairs = list[tuple[pl.Series, pl.Series]]


def _by_key(pairs: Pairs, parent: str) -> tuple[pl.Series, pl.Series] | None:
    """A column with the name of the key, which is more than a number of anything or holds more than chance would."""
    for cells, key in pairs:
        if cells.name == key.name and (
            not _numbers(key) or _means_key(key.name, parent) or _sparse(cells, key) or _of_others(cells, key)
        ):
            return cells, key
    return None


def _of_others(cells: pl.Series, key: pl.Series) -> bool:
    """True if a column that is just called a number by which something is found is none of its own table's rows."""
    return _called_id(cells.name) and _repeats(cells) and _all_over(cells, key)


def _by_table(pairs: Pairs, parent: str) -> tuple[pl.Series, pl.Series] | None:
    """A column with the name of the table that repeats, and the one key with its values, or the one called a number.

    Whole numbers may count the rows of the table instead: `visits` or `visit_no` of a patient.
    """
    named = [
        (cells, key)
        for cells, key in pairs
        if _names(cells.name, parent)
        and _repeats(cells)
        and (not _numbers(key) or (_counts_nothing(cells.name, parent) and _all_over(cells, key)))
    ]
    called = [(cells, key) for cells, key in named if _called_id(key.name)]
    return next((chosen[0] for chosen in (named, called) if len(chosen) == 1), None)


def _called_id(name: str) -> bool:
    return words_in(name).split()[-1:] in ([word] for word in IDS)


def _counts_nothing(name: str, table: str) -> bool:
    """True if a column's name is that of one row of the table: `visit_id`, or `visit` for `visits`."""
    return _called_id(name) or (words_in(name) != words_in(table) and words_in(name).split()[-1] not in NUMBERS)


def _repeats(cells: pl.Series) -> bool:
    return cells.n_unique() < len(cells)


def _all_over(cells: pl.Series, key: pl.Series) -> bool:
    """True if whole numbers are all keys, or many and reach into both ends of the keys."""
    keys, values = (np.sort(some.cast(pl.Int64).to_numpy()) for some in (key, cells.unique()))
    if len(values) == len(keys):
        return True
    outer = int(OUTER * len(keys))
    return len(values) >= FEWEST_VALUES and bool(values[0] <= keys[outer] and values[-1] >= keys[-1 - outer])


def _by_text(pairs: Pairs) -> tuple[pl.Series, pl.Series] | None:
    """A column of many different texts, none of them a number."""
    for cells, key in pairs:
        if cells.n_unique() >= FEWEST_VALUES and cells.str.contains(r"\D").all():
            return cells, key
    return None


def _numbers(cells: pl.Series) -> bool:
    return not cells.cast(pl.Int64, strict=False).has_nulls()


def _means_key(name: str, parent: str) -> bool:
    """True if a column is called a number of something, and not just a number, or as the rows of the table are."""
    words = words_in(name).split()
    if all(word in NUMBERS for word in words):
        return False
    spoken_of = meaning(name)
    of_something = spoken_of is not None and spoken_of.role in ("identifier", "household", "unit")
    return of_something or words[-1] in IDS or (_names(name, parent) and _counts_nothing(name, parent))


def _names(column: str, table: str) -> bool:
    """True if a column is called as the rows of a table are: `patient`, `patient_id` or `patients` for `patients`."""
    words = [word for word in words_in(column).split() if word not in NUMBERS]
    rows, last = words_in(table), " ".join(words)
    plurals = {last + ending for ending in PLURALS} | ({f"{last[:-1]}ies"} if last.endswith("y") else set())
    return bool(words) and rows in plurals


def _sparse(cells: pl.Series, key: pl.Series) -> bool:
    """True if whole numbers that lay anywhere between the keys, in their steps, would hardly all be keys."""
    numbers = np.sort(key.cast(pl.Int64).to_numpy())
    if len(numbers) < 2:
        return False
    places = (int(numbers[-1]) - int(numbers[0])) // int(np.gcd.reduce(np.diff(numbers))) + 1
    return float(log(np.array([places / len(numbers)]))[0]) * cells.n_unique() > NO_CHANCE
