"""Value labels by codes that are of the column's type, and new codes for new categories.

A step that puts the codes 1, 2 and 3 together as `coast` leaves a column of text, `coast` beside `4` and `5`. In SPSS
and Stata such a column stays what it was, one of codes with labels: those that are left keep code and label, and a new
category gets a new code, from the next power of ten on, so that no code comes to mean something else than before.
So does a column of numbers of which a step made ranges: ages as `[20, 40)` and `>= 40` become 1 and 2 with these
labels, and a tail that is `at least 85` gets the code 100 beside the ages that are left.
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

WITH_LABELS = ("sav", "dta")
"""Formats that say what codes mean."""

LARGEST = 2**31 - 1
"""The largest code that Stata labels; declarations of SPSS go beyond it to say that all codes above some are meant."""

NONE: Mapping[str, pl.Series] = MappingProxyType({})


def labels_of_cells(
    frame: pl.DataFrame, value_labels: Mapping[str, Mapping[Any, str]], reasons: Mapping[str, pl.Series] = NONE
) -> dict[str, dict[Any, str]]:
    """Value labels whose codes are of their column's type, as cells are: SPSS has 1.0 for a cell that is 1.

    Labels of codes that neither the type can hold nor a reason for a missing cell is are left out.

    `reasons`: for columns with codes that say why a cell is missing: these codes, as text (`Table.reasons`).
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
    """A code as text: 97 for 97.0 as well."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """Coding of the categories of a column as whole numbers."""

    codes: Mapping[str, int]  # For each category, as text, its code
    labels: Mapping[int, str]  # For new codes the category, for others what the file that came in says of them

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

        `categories`: what stands in the released column, in order. `came`: the type of the column as it came: its codes
        are those of the categories that are numbers written as it writes them. `labels`, `declared`: of the column as
        it came: what its codes mean, and which ones SPSS takes for missing. `ordered`: whether codes must have the
        order of the categories; all of them are new ones then unless they have.
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
        """A column of text in codes."""
        return column.cast(pl.String).replace_strict(dict(self.codes), return_dtype=pl.Int64)

    def labels_in(self, column: pl.Series) -> dict[int, str]:
        """Labels of the codes that a column of text has."""
        present = {self.codes[text] for text in column.drop_nulls().cast(pl.String).unique().to_list()}
        return {code: label for code, label in self.labels.items() if code in present}

    def read(self, column: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
        """Categories of a column of codes; missing where the labels of a file are not those that were written."""
        texts = {code: text for text, code in self.codes.items() if labels.get(code) == self.labels.get(code)}
        return column.cast(pl.Int64).replace_strict(texts, default=None, return_dtype=pl.String)


def codings(
    frames: Sequence[pl.DataFrame],
    came: Table,
    orders: Mapping[str, Sequence[Any] | None],
    numbers: Collection[str] = (),
) -> dict[str, Coding]:
    """Codes for the columns of text that came as codes or as numbers.

    `frames`: released tables with the same columns, which get the same codes. `came`: the table as it came. `orders`:
    the columns of codes, and the order of their categories where they have one. `numbers`: the columns of numbers,
    whose categories are ranges; one that still has fractions stays text.
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
    """For columns of numbers with codes for ranges, as `codings` makes them, the labels of codes as text.

    Left out are columns of whose labels none is a range, and labels that another cell has, too.
    """
    words = {}
    for name in (name for name in names if name in table.value_labels):
        labels = {code_text(code): label for code, label in table.value_labels[name].items()}
        meaning = {cell: labels.get(cell, cell) for cell in table.frame[name].cast(pl.String).drop_nulls().unique()}
        if any(NumberRange.read(label) for label in meaning.values()):
            words[name] = once_named(meaning)
    return words


def once_named(meaning: Mapping[str, str]) -> dict[str, str]:
    """Meanings that no other cell has, and that are not the cell itself."""
    times = Counter(meaning.values())
    return {cell: label for cell, label in meaning.items() if label != cell and times[label] == 1}


def in_codes(table: Table, coded: Mapping[str, Coding]) -> Table:
    """A table with its columns of text in codes, and what these mean."""
    columns = [coding.written(table.frame[name]) for name, coding in coded.items()]
    labels = {name: coding.labels_in(table.frame[name]) for name, coding in coded.items()}
    return replace(table, frame=table.frame.with_columns(columns), value_labels={**table.value_labels, **labels})


def in_words(table: Table, coded: Mapping[str, Coding]) -> Table:
    """A table as it was read with its columns of codes as the text that was written in them."""
    present = {name: coding for name, coding in coded.items() if name in table.frame.columns}
    columns = [coding.read(table.frame[name], table.value_labels.get(name, {})) for name, coding in present.items()]
    return replace(table, frame=table.frame.with_columns(columns))


def _number(text: str, kind: type[int] | type[float]) -> int | float | None:
    """The whole number that a text is as a column of this kind writes it."""
    try:
        number = kind(text)
    except ValueError:
        return None
    return number if str(number) == text and abs(number) <= LARGEST and number == int(number) else None


def _from_low_to_high(text: str) -> tuple[float, float, str]:
    """The place of a label among ranges and numbers; any other comes after them."""
    span = NumberRange.read(text) or NumberRange.read(f"[{text}, {text}]")
    return (span.low, span.high, text) if span is not None else (math.inf, math.inf, text)


def _fraction(text: str) -> bool:
    """True if a text is a number that no code can be."""
    numbers = numbers_of([text])
    return numbers is not None and not (numbers[0].is_integer() and abs(numbers[0]) <= LARGEST)


def _whole_numbers(codes: Iterable[Any]) -> list[int]:
    return [int(code) for code in codes if isinstance(code, (int, float)) and abs(code) <= LARGEST]


def _ends(declared: Iterable[Any]) -> list[Any]:
    """The codes that begin and end what SPSS declares as missing."""
    return [end for part in declared for end in (part.values() if isinstance(part, Mapping) else [part])]


def _after(highest: int) -> Iterable[int]:
    """New codes: from the first power of ten on that is larger than any code known."""
    return count(10 ** len(str(highest)) if highest > 0 else 1)
