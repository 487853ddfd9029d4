"""Risk record by record and person by person: how many there are at each risk, and which cells make the riskiest so.

The risk of a record is one over the number of records that share its quasi-identifiers, and that of a person one over
the least number of persons in the class of one of their records. Missing cells are equal to each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
import polars as pl

from shoal.judges.separation import separation
from shoal.judges.units import units_of_classes
from shoal.kernels.arrays import Longs, least
from shoal.studio.arguments import Answer
from shoal.table.records import Classes, Records

MOST_SIZES = 200
"""Class sizes that are told exactly; larger ones are rounded to two digits."""

LEAST_RISKY, MOST_RISKY = 6, 30
"""Records at highest risk that are listed: fewer of a large table, each of which is compared with all others."""

LARGEST_SET = 3

MOST_CELLS = 60_000_000
"""Records times columns, or sets of them, that are compared; larger sets are left out before smaller ones."""

AT_ONCE = 2
"""Sets that are counted at once, in threads."""

MOST_SETS = 60
"""Sets of columns that are listed, those that tell most records apart; each column alone is listed in any case."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSide:
    """A table, before or after.

    Parameters
    ----------
    records
        Its quasi-identifiers.
    units
        Shape (n,); number of each record's person, -1 if it is missing; None if every record is a person's only one.
    frame
        Its cells as they are written.
    rows
        Shape (n,); row of the original of each record, from 0.
    """

    title: str
    records: Records
    units: Longs | None
    frame: pl.DataFrame
    rows: Longs


def risks(sides: Sequence[TableSide], labels: Mapping[str, Mapping[str, str]]) -> Answer:
    """Of each side the numbers of records and persons by class size, and its riskiest records.

    Parameters
    ----------
    labels
        By column the labels of its codes.
    """
    keys = sides[0].records.names()
    if not keys:
        return {"keys": [], "sides": []}
    return {"keys": list(keys), "sides": [_side(side, labels) for side in sides]}


def _side(side: TableSide, labels: Mapping[str, Mapping[str, str]]) -> Answer:
    keys = side.records.names()
    classes = side.records.classes(keys)
    persons = None
    if side.units is not None:
        present = side.units >= 0
        among = units_of_classes(classes, side.units)[classes.ids[present]]
        least = np.full(int(side.units.max(initial=-1)) + 1, np.iinfo(np.int64).max)
        np.minimum.at(least, side.units[present], among)
        persons = _counted(least[least < np.iinfo(np.int64).max])
    return {
        "title": side.title,
        "records": len(side.records),
        "sizes": _counted(classes.of_record),
        "persons": persons,
        "riskiest": list(_riskiest(side, keys, classes, labels)),
    }


def _counted(sizes: Longs) -> list[list[int]]:
    """Class sizes and the records, or persons, that have them."""
    distinct, counts = np.unique(sizes, return_counts=True)
    if len(distinct) > MOST_SIZES:
        large = distinct >= 100
        power = 10 ** np.maximum(np.char.str_len(distinct.astype(str)) - 2, 0)
        distinct = np.where(large, distinct // power * power, distinct)
        distinct, at = np.unique(distinct, return_inverse=True)
        counts = np.bincount(at.ravel(), weights=counts).astype(np.int64)
    return [[int(size), int(count)] for size, count in zip(distinct, counts)]


def _riskiest(
    side: TableSide, keys: Sequence[str], classes: Classes, labels: Mapping[str, Mapping[str, str]]
) -> Iterator[Answer]:
    """The records in the smallest classes; of each the cell without which most others would be like it."""
    sizes = classes.of_record
    codes = {name: side.records.codes_as_written(name) for name in keys}
    others, times = codes, np.ones(len(sizes), dtype=np.int64)
    if 2 * len(classes.sizes) < len(sizes):  # any record of a class stands for it
        first = np.zeros(len(classes.sizes), dtype=np.int64)
        first[classes.ids] = np.arange(len(sizes))
        others, times = {name: codes[name][first] for name in keys}, classes.sizes
    listed = min(MOST_RISKY, max(LEAST_RISKY, MOST_CELLS // max(len(sizes) * len(keys), 1)))
    for record in least(sizes, listed).tolist():
        if sizes[record] == len(sizes):
            return
        unlike = {name: others[name] != codes[name][record] for name in keys}
        differing = np.zeros(len(times), dtype=np.int16)
        for unequal in unlike.values():
            differing += unequal
        by_one = differing == 1
        without = {name: int(sizes[record] + times[unlike[name] & by_one].sum()) for name in keys}
        column = max(keys, key=lambda name: without[name])
        cell = side.frame[column][record]
        value = None if cell is None else str(cell)
        yield {
            "row": int(side.rows[record]) + 1,
            "size": int(sizes[record]),
            "column": column,
            "value": value,
            "label": labels.get(column, {}).get(value or "", ""),
            "without": without[column],
        }


def sets_of(sides: Sequence[TableSide], chosen: Sequence[str]) -> Answer:
    """Distinction and separation of sets of quasi-identifiers, before and after, and those of a chosen set."""
    keys = sides[0].records.names()
    sizes = range(1, min(LARGEST_SET, len(keys)) + 1)
    every: list[tuple[str, ...]] = []
    for size in sizes:
        more = list(combinations(keys, size))
        if size > 1 and (len(every) + len(more)) * len(sides[0].records) * len(sides) > MOST_CELLS:
            break
        every += more
    if len(keys) > 1 and tuple(keys) not in every:
        every.append(tuple(keys))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        figured = list(threads.map(lambda names: _set(names, sides), every))
    figured.sort(key=lambda one: (-one["figures"][0]["distinction"], len(one["columns"])))
    alone = [one for one in figured if len(one["columns"]) == 1]
    listed = [one for one in figured if len(one["columns"]) > 1][: max(0, MOST_SETS - len(alone))]
    known = tuple(name for name in keys if name in chosen)
    return {
        "sets": sorted(chain(alone, listed), key=figured.index),
        "further": len(figured) - len(alone) - len(listed),
        "largest": max((len(one["columns"]) for one in figured), default=0),
        "chosen": _set(known, sides) if known else None,
    }


def _set(names: tuple[str, ...], sides: Sequence[TableSide]) -> Answer:
    figures = [separation(side.records, tuple(name for name in names if name in side.records)) for side in sides]
    return {
        "columns": list(names),
        "figures": [
            {"distinction": one.distinction, "separation": one.separation, "unique": one.unique} for one in figures
        ],
    }
