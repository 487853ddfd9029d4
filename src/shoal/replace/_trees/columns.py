"""Columns as trees see them: in parts, a number apart from whether there is one.

A column of categories is one part. A column of numbers in which cells are missing, or hold categories such as 'N' for
not applicable, is two: its *kind* (a number, missing, or one of those categories), and its number, which is drawn for
records of the kind that has one. So what is missing is synthesised as such, and a rule such as 'children have no
income' is one between categories.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.replace.decimals import MOST
from shoal.replace.structural_zeros import Feature
from shoal.table.prelude import Floats, Longs, Variable, ints
from shoal.vocabulary.errors import DataError


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnPart(Feature):
    """A column or a part of it."""

    continuous: bool = False  # Whether new numbers may lie between those of the original
    after_kind: bool = False  # Whether the part before says by 0 which records have a value here


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeColumn:
    """A column and its parts."""

    variable: Variable
    parts: tuple[ColumnPart, ...]
    # For numbers with gaps: what stands in place of a number of kind 1, 2, ..., as codes of the variable (-1 for
    # missing)
    kinds: Longs | None = None
    numbers: Floats | None = None  # For text that holds numbers: the number of each category, NaN for other categories

    @classmethod
    def of(cls, variable: Variable, *, as_numbers: bool = False) -> "TreeColumn":
        """A column of any level of measurement; `as_numbers` reads text as numbers where it is one."""
        values, missing = variable.values, variable.missing
        if variable.level == "nominal" and as_numbers:
            return cls._of_text(variable)
        if variable.level == "nominal":
            count = len(variable.categories)
            codes = np.where(missing, count, values).astype(np.float64)
            return cls(variable=variable, parts=(ColumnPart(values=codes, levels=count + 1),))
        numbers = np.where(missing, np.nan, values).astype(np.float64)
        numeric = ColumnPart(values=numbers, levels=0, continuous=variable.continuous, after_kind=bool(missing.any()))
        if not missing.any():
            return cls(variable=variable, parts=(numeric,))
        kind = ColumnPart(values=missing.astype(np.float64), levels=2)
        return cls(variable=variable, parts=(kind, numeric), kinds=np.array([-1]))

    @classmethod
    def _of_text(cls, variable: Variable) -> "TreeColumn":
        numbers = _numbers(variable)
        codes = variable.values
        others = np.unique(codes[np.isnan(np.append(numbers, np.nan)[codes])])  # -1, missing, is the last
        kind = np.zeros(len(codes))
        for number, code in enumerate(others):
            kind[codes == code] = number + 1
        values = np.append(numbers, np.nan)[codes]
        numeric = ColumnPart(values=values, levels=0, continuous=True, after_kind=len(others) > 0)
        parts = (ColumnPart(values=kind, levels=len(others) + 1), numeric) if len(others) else (numeric,)
        return cls(variable=variable, parts=parts, kinds=others.astype(np.int64), numbers=numbers)

    def written(self, features: list[Floats]) -> Variable:
        """The column whose parts have these values."""
        if self.numbers is not None:
            return self._text(features, _places(self.variable.categories, self.numbers))
        values = features[-1]
        if self.variable.continuous:
            return self.variable.with_values(values)
        missing = np.isnan(values) | (values == len(self.variable.categories))
        return self.variable.with_values(ints(np.where(missing, -1, np.nan_to_num(values))))

    def _text(self, features: list[Floats], places: int) -> Variable:
        """Numbers as text again; those that the column has not become new categories."""
        present = ~np.isnan(features[-1])
        texts = [f"{value:.{places}f}" for value in features[-1][present]]
        place: dict[Any, int] = {str(category): code for code, category in enumerate(self.variable.categories)}
        for text in texts:
            place.setdefault(text, len(place))
        codes = np.full(len(present), -1, dtype=np.int64)
        codes[present] = [place[text] for text in texts]
        if self.kinds is not None and len(self.kinds):
            codes[~present] = self.kinds[features[0][~present].astype(np.int64) - 1]
        added = tuple(place)[len(self.variable.categories) :]
        return replace(self.variable, values=ints(codes), categories=(*self.variable.categories, *added))


def _numbers(variable: Variable) -> Floats:
    """Shape (categories,); NaN where a category is no number written with a fixed number of decimals."""
    numbers = np.array([_number(category) for category in variable.categories], dtype=np.float64)
    if np.isnan(numbers).all():
        raise DataError(f"Column '{variable.name}' is named in numbers, but no cell of it holds one.")
    places = _places(variable.categories, numbers)
    return np.array(
        [
            x if not np.isnan(x) and f"{x:.{places}f}" == str(category) else np.nan
            for x, category in zip(numbers, variable.categories)
        ]
    )


def _number(category: Any) -> float:
    try:
        value = float(category)
    except (TypeError, ValueError):
        return np.nan
    return value if np.isfinite(value) else np.nan


def _places(categories: tuple[Any, ...], numbers: Floats) -> int:
    """Decimals of most of the numbers."""
    written = [len(str(c).partition(".")[2]) for c, x in zip(categories, numbers) if not np.isnan(x)]
    return min(int(np.bincount(written).argmax()), MOST)
