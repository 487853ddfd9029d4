"""Value labels in the column's own type, and new codes for new categories.

A step that merges the codes 1, 2 and 3 as `coast` leaves a text column with `coast` beside `4` and `5`. In SPSS and
Stata such a column stays a column of codes with labels: remaining categories keep code and label, and a new category
gets a new code, from the next power of ten on, so that no code changes its meaning. The same holds for a column of
numbers that a step turned into ranges: the ages `[20, 40)` and `>= 40` become 1 and 2 with these labels, and a tail `at
least 85` gets the code 100 beside the remaining ages.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Any

import polars as pl

from shoal.table.files.table import Table
from shoal.table.number_range import NumberRange, numbers_of

WITH_LABELS = ("sav", "dta", "rds")
"""Formats with value labels."""

RANGES_IN_CODES = ("sav", "dta")
"""Formats in which ranges of numbers become codes; in R they are text, as in its own `cut`."""

LARGEST = 2**31 - 1
"""The largest code that Stata labels.

SPSS declarations exceed it to say that all codes above some value are missing.
"""

NONE: Mapping[str, pl.Series] = MappingProxyType({})


def labels_of_cells(
    frame: pl.DataFrame, value_labels: Mapping[str, Mapping[Any, str]], reasons: Mapping[str, pl.Series] = NONE
) -> dict[str, dict[Any, str]]:
    """Value labels with codes in their column's type, as cells are: SPSS has 1.0 for a cell that is 1.

    Labels are left out if their code neither fits the type nor is a reason for a missing cell. `reasons`: by column,
    the codes, as text, that say why cells are missing (`Table.reasons`).
    """
    kinds = {name: str if frame[name].dtype == pl.String else float for name in value_labels if name in frame.columns}
    whole = {name for name in kinds if frame[name].dtype.is_integer()}
    labels: dict[str, dict[Any, str]] = {}
    for name, kind in kinds.items():
        codes = {code: label for code, label in value_labels[name].items() if isinstance(code, str) == (kind is str)}
        labels[name] = {
            int(code) if name in whole else kind(code): label
            for code, label in codes.items()
            if name not in whole or float(code).is_integer()
        }
        if name in reasons:
            letters = set(reasons[name].drop_nulls().unique().to_list())
            labels[name] |= {code: label for code, label in value_labels[name].items() if code in letters}
    return {name: codes for name, codes in labels.items() if codes}


def code_text(code: Any) -> str:
    """A code as text; a float that is whole without its decimals (97 for 97.0)."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """Coding of the categories of a column as whole numbers."""

    codes: Mapping[str, int]  # Code of each category, by its text
    labels: Mapping[int, str]  # Label of each code: for a new code its category, for others that of the original file

    @classmethod
    def of(
        cls,
        categories: Sequence[str],
        came: pl.DataType,
        labels: Mapping[Any, str],
        declared: Iterable[Any] = (),
        *,
        ordered: bool = False,
    ) -> "Coding":
        """Codes for the categories of a released column; they depend on nothing else of its cells.

        `categories`: those of the released column, in order. `came`: the original type of the column; categories that
        are numbers written as this type writes them keep them as their codes. `labels`, `declared`: of the original
        column, the labels of its codes, and the codes that SPSS declares as missing. `ordered`: True if the codes must
        have the order of the categories; if the old codes do not, all of them are new.
        """
        kind = int if came.is_integer() else float
        kept = {text: int(number) for text in categories if (number := _number(text, kind)) is not None}
        highest = max((*kept.values(), *_whole_numbers(labels), *_whole_numbers(_ends(declared))), default=0)
        codes = kept | dict(zip((text for text in categories if text not in kept), _after(highest)))
        in_order = [codes[text] for text in categories]
        if ordered and in_order != sorted(in_order):
            codes = dict(zip(categories, _after(highest)))
        meaning = {text: labels.get(kept[text], text) if text in kept else text for text in categories}
        unlabelled = {text for text in kept if codes[text] == kept[text] and kept[text] not in labels}
        return cls(codes=codes, labels={codes[text]: meaning[text] for text in categories if text not in unlabelled})

    def written(self, column: pl.Series) -> pl.Series:
        """A text column in codes."""
        return column.cast(pl.String).replace_strict(dict(self.codes), return_dtype=pl.Int64)

    def labels_in(self, column: pl.Series) -> dict[int, str]:
        """Labels of the codes that occur in a text column."""
        present = {self.codes[text] for text in column.drop_nulls().cast(pl.String).unique().to_list()}
        return {code: label for code, label in self.labels.items() if code in present}

    def read(self, column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
        """A column of codes as categories; missing where the file's label of a code is not the one written."""
        texts = {code: text for text, code in self.codes.items() if labels.get(code) == self.labels.get(code)}
        return column.cast(pl.Int64).replace_strict(texts, default=None, return_dtype=pl.String)


def codings(
    frames: Sequence[pl.DataFrame],
    came: Table,
    orders: Mapping[str, Sequence[Any] | None],
    numbers: Collection[str] = (),
) -> dict[str, Coding]:
    """Codes for the text columns that were codes or numbers in the original table.

    `frames`: released tables with the same columns, which get the same codes. `came`: the original table. `orders`: the
    columns of codes, with the order of their categories, if any. `numbers`: the columns of numbers, whose categories
    are ranges; one that still has fractions stays text.
    """
    codings = {}
    for name in (name for name in frames[0].columns if name in orders or name in numbers):
        columns = [frame[name] for frame in frames]
        if name not in came.frame.columns or all(column.dtype != pl.String for column in columns):
            continue
        kind = came.frame[name].dtype
        texts = pl.concat([column.cast(pl.String) for column in columns])  # copies may differ in what was merged
        present, order = texts.drop_nulls().unique().sort().to_list(), orders.get(name)
        if name in numbers:
            present = sorted(present, key=_from_low_to_high)
        if not kind.is_numeric() or (name in numbers and any(map(_fraction, present))):
            continue
        codings[name] = Coding.of(
            present if order is None else [text for text in map(str, order) if text in present],
            kind,
            came.value_labels.get(name, {}),
            came.missing_codes.get(name, ()),
            ordered=order is not None,
        )
    return codings


def ranges_in_words(table: Table, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Labels, by code as text, of number columns whose codes stand for ranges, as `codings` makes them.

    Columns without a range among their labels are left out, and so are labels that another cell has, too.
    """
    words = {}
    for name in (name for name in names if name in table.value_labels):
        labels = {code_text(code): label for code, label in table.value_labels[name].items()}
        meaning = {cell: labels.get(cell, cell) for cell in table.frame[name].cast(pl.String).drop_nulls().unique()}
        if any(NumberRange.read(label) for label in meaning.values()):
            words[name] = once_named(meaning)
    return words


def once_named(meaning: Mapping[str, str]) -> dict[str, str]:
    """Labels that differ from their cell and that no other cell has."""
    times = Counter(meaning.values())
    return {cell: label for cell, label in meaning.items() if label != cell and times[label] == 1}


def in_codes(table: Table, coded: Mapping[str, Coding]) -> Table:
    """The table with its text columns in codes, and the labels of these codes."""
    columns = [coding.written(table.frame[name]) for name, coding in coded.items()]
    labels = {name: coding.labels_in(table.frame[name]) for name, coding in coded.items()}
    return replace(table, frame=table.frame.with_columns(columns), value_labels={**table.value_labels, **labels})


def in_words(table: Table, coded: Mapping[str, Coding]) -> Table:
    """The table as read, with its columns of codes as the text that these stand for."""
    present = {name: coding for name, coding in coded.items() if name in table.frame.columns}
    columns = [coding.read(table.frame[name], table.value_labels.get(name, {})) for name, coding in present.items()]
    return replace(table, frame=table.frame.with_columns(columns))


def _number(text: str, kind: type[int] | type[float]) -> int | float | None:
    """The integer that a text stands for if a column of this type writes it so; None for any other text."""
    try:
        number = kind(text)
    except ValueError:
        return None
    return number if str(number) == text and abs(number) <= LARGEST and number == int(number) else None


def _from_low_to_high(text: str) -> tuple[float, float, str]:
    """Sort key of a label among ranges and numbers; any other label comes after them."""
    span = NumberRange.read(text) or NumberRange.read(f"[{text}, {text}]")
    return (span.low, span.high, text) if span is not None else (math.inf, math.inf, text)


def _fraction(text: str) -> bool:
    """True if a text is a number that cannot be a code."""
    numbers = numbers_of([text])
    return numbers is not None and not (numbers[0].is_integer() and abs(numbers[0]) <= LARGEST)


def _whole_numbers(codes: Iterable[Any]) -> list[int]:
    return [int(code) for code in codes if isinstance(code, (int, float)) and abs(code) <= LARGEST]


def _ends(declared: Iterable[Any]) -> list[Any]:
    """The first and last codes of each declaration of SPSS."""
    return [end for part in declared for end in (part.values() if isinstance(part, Mapping) else [part])]


def _after(highest: int) -> Iterable[int]:
    """New codes: from the first power of ten above all known codes."""
    return count(10 ** len(str(highest)) if highest > 0 else 1)
