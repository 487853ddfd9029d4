"""Generalisation hierarchies of categorical columns.

A hierarchy gives every leaf (a value as it stands in the data) its path of ever coarser labels up to a
common root. All paths have the same length; a value that stays the same on the way up repeats its label.
The distance of two leaves is the level of their nearest common ancestor over the height: 0 for equal
leaves, 1 where only the root is common. That distance is ultrametric, so it can be embedded exactly in
Euclidean space (`embedding`): each level below the root gets an indicator block whose squared weight is
half the growth of the squared distance at that level.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np

from shoal.data.text_files import read_text
from shoal.errors import SchemaError, plural
from shoal.kernels.arrays import Floats, Ints

ROUNDING = 1e-12
"""Share of a ratio by which rounding may have moved it off a whole number."""


MOST_LEVELS = 100
"""Levels of a hierarchy; those in use have less than ten."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Paths from every leaf to the root.

    Parameters
    ----------
    paths
        For each leaf its labels from level 0 (the leaf itself) to the root; all of equal length >= 2.
    """

    paths: tuple[tuple[str, ...], ...]
    _row: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.paths:
            raise SchemaError("A hierarchy needs at least one leaf; got none.")
        lengths = {len(path) for path in self.paths}
        if len(lengths) > 1 or min(lengths) < 2:
            raise SchemaError(
                f"Every row of a hierarchy must have the same number of levels, 2 or more; got rows with "
                f"{', '.join(str(length) for length in sorted(lengths))} levels."
            )
        if max(lengths) > MOST_LEVELS:
            raise SchemaError(f"A hierarchy may have {MOST_LEVELS} levels; got {max(lengths)}. Take some out.")
        if len({path[-1] for path in self.paths}) > 1:
            object.__setattr__(self, "paths", tuple((*path, "*") for path in self.paths))
        object.__setattr__(self, "_row", {path[0]: i for i, path in enumerate(self.paths)})
        if len(self._row) < len(self.paths):
            again = len(self.paths) - len(self._row)
            repeat = "repeats" if again == 1 else "repeat"
            raise SchemaError(f"A hierarchy must list every leaf once; {plural(again, 'row')} {repeat} a leaf.")
        self._check_tree()

    def _check_tree(self) -> None:
        for level in range(1, self.height):
            parent: dict[str, str] = {}
            for path in self.paths:
                if parent.setdefault(path[level], path[level + 1]) != path[level + 1]:
                    raise SchemaError(
                        f"A hierarchy must be a tree; a label of level {level} has two different parents at "
                        f"level {level + 1}. Give the two branches different labels."
                    )

    @property
    def height(self) -> int:
        """Number of steps from a leaf to the root."""
        return len(self.paths[0]) - 1

    @property
    def width(self) -> int:
        """Coordinates of a point of `embedding`."""
        return sum(len({path[level] for path in self.paths}) for level in range(self.height))

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(path[0] for path in self.paths)

    @classmethod
    def from_csv(cls, path: str | Path) -> Self:
        """Read an ARX-style file: one row per leaf, level 0 first, separated by `;` or `,`, no header."""
        text = read_text(path, "Hierarchy file", "utf-8-sig")
        delimiter = ";" if text.split("\n", 1)[0].count(";") >= text.split("\n", 1)[0].count(",") else ","
        rows = [tuple(cell.strip() for cell in row) for row in csv.reader(text.splitlines(), delimiter=delimiter)]
        return cls(tuple(row for row in rows if any(row)))

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any], root: str = "*") -> Self:
        """From nested mappings whose innermost values are lists of leaves.

        Branches of unequal depth are padded by repeating the leaf.
        """
        paths = list(_walk(tree, (root,)))
        height = max(map(len, paths), default=0)
        return cls(tuple((*[path[0]] * (height - len(path)), *path) for path in paths))

    @classmethod
    def from_intervals(cls, leaves: Iterable[float], widths: Sequence[float], origin: float = 0.0) -> Self:
        """Numbers under intervals of growing width, `[low, high)`; each width a multiple of the one before."""
        if not isinstance(widths, (list, tuple)) or not all(isinstance(w, (int, float)) and w > 0 for w in widths):
            raise SchemaError("Interval widths must be a list of numbers above 0.")
        for small, large in zip(widths, widths[1:]):
            if _whole(large / small) is None:
                raise SchemaError(f"Interval widths must be multiples of each other; got {small} and {large}.")
        return cls(
            tuple((number_label(leaf), *(_interval(leaf, width, origin) for width in widths), "*") for leaf in leaves)
        )

    @classmethod
    def from_masking(cls, values: Iterable[Any], side: Literal["left", "right"] = "right") -> Self:
        """Codes of which one more character is masked at each level: 08021, 0802*, 080**, ..., *.

        Parameters
        ----------
        side
            Where masking begins. Shorter codes are taken to have blanks on that side.
        """
        codes = _leaves(values)
        width = max(map(len, codes), default=0)

        def masked(code: str, level: int) -> str:
            if side == "right":
                return code.ljust(width)[: width - level].rstrip() + "*" * level
            return "*" * level + code.rjust(width)[level:].lstrip()

        return cls(tuple((code, *(masked(code, level) for level in range(1, width)), "*") for code in codes))

    @classmethod
    def from_dates(cls, values: Iterable[Any]) -> Self:
        """Days written YYYY-MM-DD under their month, quarter, year and decade."""
        days = _leaves(values)
        try:
            read = [date.fromisoformat(day) for day in days]
        except ValueError:
            raise SchemaError("A hierarchy of dates is for days written YYYY-MM-DD, and some values are not.") from None
        return cls(
            tuple(
                (day, f"{d:%Y-%m}", f"{d:%Y}-Q{(d.month + 2) // 3}", f"{d:%Y}", f"{d.year // 10 * 10}s", "*")
                for day, d in zip(days, read)
            )
        )

    @classmethod
    def from_order(cls, values: Iterable[Any], sizes: Sequence[int]) -> Self:
        """Values in their given order under groups of neighbours, as many a group as each size says.

        Parameters
        ----------
        sizes
            Values of a group at level 1, 2, ...; each a multiple of the one before.
        """
        leaves = _leaves(values)
        _check_multiples(sizes, "Sizes of groups")

        def group(place: int, size: int) -> str:
            first = place // size * size
            last = min(first + size, len(leaves)) - 1
            return leaves[first] if first == last else f"{leaves[first]} to {leaves[last]}"

        return cls(tuple((leaf, *(group(i, size) for size in sizes), "*") for i, leaf in enumerate(leaves)))

    @classmethod
    def from_rounding(cls, values: Iterable[float], bases: Sequence[float]) -> Self:
        """Numbers under their rounding to multiples of each base in turn, what was rounded before being rounded again.

        Halves are rounded up. Each base is a multiple of the one before.
        """
        _check_multiples(bases, "Bases of rounding")
        paths = []
        for value in dict.fromkeys(float(value) for value in values):
            rounded, path = value, [number_label(value)]
            for base in bases:
                rounded = float(np.floor(rounded / base + 0.5)) * base
                path.append(_edge(rounded))
            paths.append((*path, "*"))
        return cls(tuple(paths))

    @classmethod
    def from_frequency(cls, values: Iterable[Any], least: Sequence[int], other: str = "other") -> Self:
        """Values under `other` as soon as fewer records than a level asks for have them.

        Parameters
        ----------
        values
            A column: how often each value stands in it counts.
        least
            Records that a value needs to keep its name at level 1, 2, ..., rising.
        """
        if not least or any(small >= large for small, large in zip(least, least[1:])):
            raise SchemaError("What a value needs to keep its name must rise from level to level.")
        counts = Counter(_label(value) for value in values if value is not None and value == value)
        if other in counts:
            raise SchemaError("The name of rare values is itself a value of the column; give another one.")
        return cls(
            tuple(
                (name, *(name if count >= needed else other for needed in least), "*") for name, count in counts.items()
            )
        )

    def to_csv(self, path: str | Path) -> None:
        """Write a file as ARX has it: one row a leaf, level 0 first, separated by `;`, no header."""
        lines = StringIO()
        csv.writer(lines, delimiter=";", lineterminator="\n").writerows(self.paths)
        Path(path).write_text(lines.getvalue(), encoding="utf-8")

    def missing(self, values: Iterable[Any]) -> tuple[str, ...]:
        """Those of `values` that are no leaves, each once, in order of appearance; numbers as categories are written.

        For whoever holds the data: the values stand in no message, log or report. Empty cells need no leaf and are
        left out.

        Parameters
        ----------
        values
            A column of a data frame, or its cells.
        """
        column = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(column, nw.Series):
            values = column.drop_nulls().to_list()
        labels = (_label(value) for value in values if value is not None and value == value)
        return tuple(dict.fromkeys(label for label in labels if label not in self._row))

    def codes(self, categories: Sequence[str]) -> Ints:
        """The row in `paths` of each category; categories that are no leaves are an error with their number."""
        missing = self.missing(categories)
        if missing:
            raise SchemaError(
                f"The hierarchy lacks {plural(len(missing), 'value')} of the data; add a row for each value. "
                f"shoal.Hierarchy.missing(values) gives them to you."
            )
        return np.array([self._row[category] for category in categories], dtype=np.int32)

    def level_codes(self, level: int) -> tuple[Ints, tuple[str, ...]]:
        """For each leaf the code of its label at `level`, and the labels in order of first appearance."""
        labels: dict[str, int] = {}
        codes = np.array([labels.setdefault(path[level], len(labels)) for path in self.paths], dtype=np.int32)
        return codes, tuple(labels)

    def embedding(self) -> Floats:
        """Points, one per leaf, whose Euclidean distance is the path distance (level of ancestor / height)."""
        blocks = []
        for level in range(self.height):
            codes, labels = self.level_codes(level)
            growth = ((level + 1) / self.height) ** 2 - (level / self.height) ** 2
            blocks.append(np.eye(len(labels))[codes] * np.sqrt(growth / 2))
        return np.hstack(blocks)


def _leaves(values: Iterable[Any]) -> list[str]:
    """Distinct values as categories are written, in order of appearance; empty cells need no leaf."""
    return list(dict.fromkeys(_label(value) for value in values if value is not None and value == value))


def _check_multiples(steps: Sequence[float], what: str) -> None:
    if not steps or any(not step > 0 for step in steps):
        raise SchemaError(f"{what} must be a list of numbers above 0.")
    for small, large in zip(steps, steps[1:]):
        if _whole(large / small) is None:
            raise SchemaError(f"{what} must be multiples of each other; got {small} and {large}.")


def _walk(node: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(node, Mapping):
        for label, below in node.items():
            yield from _walk(below, (str(label), *above))
    elif not isinstance(node, (list, tuple)):
        raise SchemaError("A nested hierarchy is made of mappings, with lists of values innermost.")
    else:
        for leaf in node:
            yield (str(leaf), *above)


def _interval(value: float, width: float, origin: float) -> str:
    steps = (value - origin) / width
    number = _whole(steps)
    low = int(np.floor(steps)) if number is None else number
    return f"[{_edge(origin + low * width)}, {_edge(origin + (low + 1) * width)})"


def _whole(ratio: float) -> int | None:
    """The whole number that a ratio of decimals stands for: 0.3 / 0.1 is 2.9999999999999996."""
    return round(ratio) if abs(ratio - round(ratio)) <= ROUNDING * abs(ratio) else None


def _edge(value: float) -> str:
    """An interval's end, without the digits that rounding adds: 3 x 0.1 is 0.30000000000000004."""
    return number_label(value if float(value).is_integer() else float(f"{value:.15g}"))


def _label(value: Any) -> str:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number_label(float(value)) if number else str(value)


def number_label(value: float) -> str:
    """A number as a category is written: integers without a decimal point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
