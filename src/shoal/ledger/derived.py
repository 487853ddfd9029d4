"""Derivation over several files: what a holder of all of them knows of each person's cells.

A cell that is blank in one file and written in another is filled. Labels that stand for several values (ranges, nodes
of a hierarchy, sets as in `flu | gout`) are intersected. Where the labels of a person have nothing in common, the
person's value changed or was masked anew, and the whole sequence of labels tells the person apart. So does the set of
files in which a person occurs: who came or went is known to neighbours.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Bools, Ints, Longs, ints
from shoal.kernels.classes import classes
from shoal.ledger.pairing import Pairing, labels_of
from shoal.table.hierarchy import SEPARATOR, Hierarchy
from shoal.table.number_range import NumberRange

Nodes = Mapping[str, frozenset[Any]]
"""The leaves below each label of a hierarchy."""

Meaning = NumberRange | frozenset[object]
"""The values that a label stands for."""

ABSENT, BLANK = -2, -1


@dataclass(kw_only=True)
class Derived:
    """Classes of persons by what all files tell of them together.

    Parameters
    ----------
    sizes
        Shape (persons,); number of persons of whom the same is known.
    present
        Shape (persons, files); True where a person occurs.
    filled, narrowed
        By column, number of blank cells that another file fills, and of labels that others narrow down.
    """

    sizes: Longs
    present: Bools
    filled: dict[str, int] = field(default_factory=dict)
    narrowed: dict[str, int] = field(default_factory=dict)


def derived(
    frames: Sequence[pl.DataFrame], pairing: Pairing, names: Sequence[str], trees: Mapping[str, Hierarchy]
) -> Derived:
    """Derive from several files whose records are paired what is known of each person in some columns.

    `trees`: hierarchies whose nodes the labels of a column are.
    """
    cells = {name: _labels([frame[name] for frame in frames], pairing) for name in names}
    present = np.column_stack([np.bincount(p, minlength=pairing.count) > 0 for p in pairing.persons])
    known = Derived(sizes=np.zeros(0, dtype=np.int64), present=present)
    codes: list[Ints] = [ints(np.unique(present, axis=0, return_inverse=True)[1].ravel())]
    for name, (table, labels) in cells.items():
        nodes = trees[name].nodes() if name in trees else {}
        meanings = [meaning(label, nodes) for label in labels]
        patterns, which = np.unique(table, axis=0, return_inverse=True)
        times = np.bincount(which.ravel(), minlength=len(patterns))
        numbers: dict[object, int] = {}
        of_pattern = []
        for pattern, count in zip(patterns.tolist(), times.tolist()):
            value, filled, narrowed = _value(pattern, meanings)
            of_pattern.append(numbers.setdefault(value, len(numbers)))
            known.filled[name] = known.filled.get(name, 0) + filled * count
            known.narrowed[name] = known.narrowed.get(name, 0) + narrowed * count
        codes.append(ints(of_pattern)[which.ravel()])
    ids, sizes = classes(codes, pairing.count)
    known.sizes = sizes[ids]
    return known


def class_sizes_of(frame: pl.DataFrame, names: Sequence[str]) -> Longs:
    """Shape (n,); class sizes of one file's records by itself, a blank cell being equal to a blank cell only."""
    alone = Pairing(persons=(np.arange(len(frame), dtype=np.int64),), count=len(frame), sentence="")
    return derived([frame], alone, names, {}).sizes


def _labels(columns: Sequence[pl.Series], pairing: Pairing) -> tuple[Ints, list[str]]:
    """Shape (persons, files), codes of a column's labels in each file, and the labels in the order of the codes."""
    texts = pl.concat([labels_of(column) for column in columns])
    labels = texts.drop_nulls().unique().sort()
    codes = texts.replace_strict(labels, pl.Series(range(len(labels))), default=BLANK, return_dtype=pl.Int32)
    parted = np.split(codes.to_numpy(), np.cumsum([len(column) for column in columns])[:-1])
    table: Ints = np.full((pairing.count, len(columns)), ABSENT, dtype=np.int32)
    for number, (persons, own) in enumerate(zip(pairing.persons, parted)):
        table[persons, number] = own
    return table, labels.to_list()


def _value(pattern: Sequence[int], meanings: Sequence[Meaning]) -> tuple[object, int, int]:
    """What is known of a person's value in a column, and the numbers of cells that were filled and narrowed down.

    `pattern`: the codes of the labels, by file.
    """
    known = [meanings[code] for code in pattern if code >= 0]
    common = common_part(known)
    if common is None:
        return (tuple(pattern) if known else BLANK), 0, 0
    filled = sum(code == BLANK for code in pattern)
    return common, filled, sum(means != common for means in known)


def common_part(several: Sequence[Meaning]) -> Meaning | None:
    """The values that all of some labels stand for; None if there are none, or no labels."""
    common = several[0] if several else None
    for other in several[1:]:
        common = None if common is None else _both(common, other)
    return common


def _both(first: Meaning, second: Meaning) -> Meaning | None:
    if isinstance(first, NumberRange) and isinstance(second, NumberRange):
        return _overlap(first, second)
    if isinstance(first, frozenset) and isinstance(second, frozenset):
        return first & second or None
    return None


def _overlap(first: NumberRange, second: NumberRange) -> NumberRange | None:
    low, high = max(first.low, second.low), min(first.high, second.high)
    with_low = all(span.with_low for span in (first, second) if span.low == low)
    with_high = all(span.with_high for span in (first, second) if span.high == high)
    if low > high or (low == high and not (with_low and with_high)):
        return None
    return NumberRange(low=low, high=high, with_low=with_low, with_high=with_high)


def meaning(label: str, nodes: Nodes) -> Meaning:
    """The values that a label stands for: leaves of a hierarchy, an interval of numbers, or itself."""
    if label in nodes:
        return nodes[label]
    parts = label.split(SEPARATOR)
    if nodes and all(part in nodes for part in parts):
        return frozenset[object]().union(*(nodes[part] for part in parts))
    if (span := NumberRange.read(label)) is not None:
        return span
    try:
        number = float(label)
    except ValueError:
        return frozenset[object](parts)
    if not math.isfinite(number):
        return frozenset([label])
    return NumberRange(low=number, high=number, with_low=True, with_high=True)
