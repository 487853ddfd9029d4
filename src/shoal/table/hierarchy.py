"""Generalisation hierarchies of categorical columns.

A hierarchy gives every leaf (a value as it stands in the data) its path of ever coarser labels up to a common root. All
paths have the same length; a value that stays the same on the way up repeats its label. A cell whose label stands for u
of the v leaves loses (u - 1) / (v - 1) (normalised certainty penalty, Xu et al. 2006): 0 at a leaf, 1 at the root. The
squared distance of two leaves is the loss at their nearest common ancestor. This is an ultrametric, so it can be
embedded exactly in Euclidean space (`embedding`): each node below the root has a coordinate, whose square, at the
leaves under it, is half of the loss added by the step from it to its parent.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.table import hierarchy_builders as builders
from shoal.table.hierarchy_builders import ROOT, Side, Unit, value_label, value_labels
from shoal.table.hierarchy_faults import check, rooted
from shoal.table.text_files import read_text
from shoal.table.yaml_text import parse_yaml
from shoal.vocabulary.errors import SchemaError, plural

SEPARATOR = " | "
"""Separator of the values in a label that stands for a set of values."""

YAML = (".yaml", ".yml")
"""Endings of files with a tree."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Paths from every leaf to the root.

    Parameters
    ----------
    paths
        Labels of each leaf from level 0 (the leaf itself) to the root; all paths of equal length >= 2.
    """

    paths: tuple[tuple[str, ...], ...]
    _row: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check(self.paths)
        object.__setattr__(self, "paths", rooted(self.paths))
        object.__setattr__(self, "_row", {path[0]: i for i, path in enumerate(self.paths)})

    @property
    def height(self) -> int:
        """Number of steps from a leaf to the root."""
        return len(self.paths[0]) - 1

    @property
    def width(self) -> int:
        """Number of coordinates of a point of `embedding`."""
        return sum(len({path[level] for path in self.paths}) for level in range(self.height))

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(path[0] for path in self.paths)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a file: a tree as in `from_nested` if its name ends in .yaml or .yml, else rows as in `from_csv`."""
        return cls(rows_in(path))

    @classmethod
    def from_csv(cls, path: str | Path) -> Self:
        """Read an ARX-style file: one row per leaf, level 0 first, separated by `;` or `,`, no header."""
        return cls(_csv_rows(path))

    @classmethod
    def from_nested(cls, tree: Mapping[str, Any], root: str = ROOT) -> Self:
        """From nested mappings whose innermost values are lists of leaves.

        Branches of unequal depth are padded by repeating the leaf.
        """
        return cls(_nested_rows(tree, root))

    @classmethod
    def from_intervals(cls, leaves: Iterable[float], widths: Sequence[float], origin: float = 0.0) -> Self:
        """Numbers under intervals of growing width, `[low, high)`; each width a multiple of the one before."""
        return cls(tuple(builders.intervals(leaves, widths, origin)))

    @classmethod
    def from_masking(cls, values: Iterable[Any], side: Side = "right", padding: str = "") -> Self:
        """Codes with one more character masked at each level: 08021, 0802*, 080**, ..., *.

        Parameters
        ----------
        side
            Side on which masking begins; shorter codes are padded with blanks there.
        padding
            A character with which shorter codes are padded on the other side instead: with "0", 5 beside 120 is masked
            as 005.
        """
        return cls(tuple(builders.masking(value_labels(values), side, padding)))

    @classmethod
    def from_prefix(cls, values: Iterable[Any], lengths: Sequence[int]) -> Self:
        """Codes under their first characters, the others masked: with 3 and 1, 08021, 080**, 0****, *.

        Parameters
        ----------
        lengths
            Number of characters kept at level 1, 2, ..., falling.
        """
        return cls(tuple(builders.prefix(value_labels(values), lengths)))

    @classmethod
    def from_dates(cls, values: Iterable[Any], units: Sequence[Unit] = ("month", "quarter", "year", "decade")) -> Self:
        """Days written YYYY-MM-DD under their month, quarter, year and decade, or some of these."""
        return cls(tuple(builders.dates(value_labels(values), units)))

    @classmethod
    def from_order(cls, values: Iterable[Any], sizes: Sequence[int]) -> Self:
        """Values in their given order, under groups of neighbours of the given sizes.

        Parameters
        ----------
        sizes
            Number of values in a group at level 1, 2, ...; each a multiple of the one before.
        """
        return cls(tuple(builders.order(value_labels(values), sizes)))

    @classmethod
    def from_rounding(cls, values: Iterable[float], bases: Sequence[float]) -> Self:
        """Numbers under their multiples of each base in turn, each level rounded from the one below.

        Halves are rounded up. Each base is a multiple of the one before.
        """
        return cls(tuple(builders.rounding(values, bases)))

    @classmethod
    def from_frequency(cls, values: Iterable[Any], least: Sequence[int], other: str = "other") -> Self:
        """Values under `other` from the first level on that requires more records than they have.

        Parameters
        ----------
        values
            A column, whose values are counted, or a mapping of values to their counts.
        least
            Number of records that a value needs to keep its name at level 1, 2, ..., rising.
        """
        return cls(tuple(builders.frequency(builders.counted(values), least, other)))

    @classmethod
    def from_priority(cls, values: Iterable[Any], tiers: Sequence[Any], other: str = "other") -> Self:
        """Values under `other`, the least important first.

        Parameters
        ----------
        tiers
            Values, or lists of equally important ones, the most important first. Values in no tier become `other` at
            level 1, the last tier at level 2, and so on; the first keeps its names up to the root.
        """
        return cls(tuple(builders.priority(value_labels(values), tiers, other)))

    def as_csv(self) -> str:
        """The hierarchy in the CSV format of ARX: one row a leaf, level 0 first, separated by `;`, no header."""
        lines = StringIO()
        csv.writer(lines, delimiter=";", lineterminator="\n").writerows(self.paths)
        return lines.getvalue()

    def to_csv(self, path: str | Path) -> None:
        """Write a file in the CSV format of ARX (`as_csv`)."""
        Path(path).write_text(self.as_csv(), encoding="utf-8")

    def missing(self, values: Iterable[Any]) -> tuple[str, ...]:
        """Values that are no leaves, each once, in order of appearance; numbers as categories write them.

        The method is for the holder of the data: the values stand in no message, log or report. Empty cells need no
        leaf and are left out.

        Parameters
        ----------
        values
            A column of a data frame, or its cells.
        """
        column = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(column, nw.Series):
            values = column.drop_nulls().to_list()
        labels = (value_label(value) for value in values if value is not None and value == value)
        return tuple(dict.fromkeys(label for label in labels if label not in self._row))

    def codes(self, categories: Sequence[str]) -> Ints:
        """The row in `paths` of each category. Raises SchemaError, with their number, if some are no leaves."""
        missing = self.missing(categories)
        if missing:
            raise SchemaError(
                f"The hierarchy lacks {plural(len(missing), 'value')} of the data; add a row for each value. "
                f"shoal.Hierarchy.missing(values) gives them to you."
            )
        return np.array([self._row[category] for category in categories], dtype=np.int32)

    def check_cells(self, categories: Sequence[str]) -> None:
        """Refuse categories that a column with this hierarchy cannot have, namely those that are no leaves."""
        self.codes(categories)

    @property
    def of_labels(self) -> "HierarchyOfLabels":
        """The same hierarchy, for a column whose cells may be labels of any level."""
        return HierarchyOfLabels(self.paths)

    def nodes(self) -> dict[str, frozenset[int]]:
        """The rows in `paths` of the leaves under each label.

        A label that names several nodes has the leaves of all of them.
        """
        rows: dict[str, set[int]] = {}
        for row, path in enumerate(self.paths):
            for label in path:
                rows.setdefault(label, set()).add(row)
        return {label: frozenset(under) for label, under in rows.items()}

    def level_codes(self, level: int) -> tuple[Ints, tuple[str, ...]]:
        """The code of each leaf's label at `level`, and the labels in order of first appearance."""
        labels: dict[str, int] = {}
        codes = np.array([labels.setdefault(path[level], len(labels)) for path in self.paths], dtype=np.int32)
        return codes, tuple(labels)

    def losses(self) -> Floats:
        """Shape (height + 1, leaves); loss of a cell of each leaf by its label at each level, in [0, 1]."""
        codes = [self.level_codes(level)[0] for level in range(self.height + 1)]
        return (np.array([np.bincount(row)[row] for row in codes]) - 1) / max(len(self.paths) - 1, 1)

    def embedding(self) -> Floats:
        """Points, one per leaf, whose squared Euclidean distance is the loss at the nearest common ancestor."""
        losses, blocks = self.losses(), []
        for level in range(self.height):
            codes, labels = self.level_codes(level)
            step = np.empty(len(labels))
            step[codes] = losses[level + 1] - losses[level]
            blocks.append((np.eye(len(labels)) * np.sqrt(step / 2))[codes])
        return np.hstack(blocks)


class HierarchyOfLabels(Hierarchy):
    """A hierarchy whose column may hold labels of any level, left there by earlier steps."""

    __slots__ = ()

    def check_cells(self, categories: Sequence[str]) -> None:
        """Refuse categories that are no labels."""
        labels = self.nodes()
        self.codes([category for category in categories if category not in labels])


def rows_in(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """The rows of a hierarchy file, without a check of what they say."""
    if Path(path).suffix.lower() not in YAML:
        return _csv_rows(path)
    source = f"Hierarchy file '{path}'"
    tree = parse_yaml(read_text(path, "Hierarchy file"), source)
    if not isinstance(tree, Mapping):
        raise SchemaError(f"{source}: a tree is made of mappings, with lists of values innermost.")
    return _nested_rows(tree, ROOT)


def _csv_rows(path: str | Path) -> tuple[tuple[str, ...], ...]:
    return rows_of_text(read_text(path, "Hierarchy file", "utf-8-sig"), path)


def rows_of_text(text: str, path: str | Path) -> tuple[tuple[str, ...], ...]:
    """The rows of a hierarchy in text, cells separated by semicolons or commas; `path` names it in messages."""
    delimiter = ";" if text.split("\n", 1)[0].count(";") >= text.split("\n", 1)[0].count(",") else ","
    try:
        rows = [tuple(cell.strip() for cell in row) for row in csv.reader(text.splitlines(), delimiter=delimiter)]
    except csv.Error:
        raise SchemaError(f"Hierarchy file '{path}' is no table of cells separated by ; or ,. Check it.") from None
    return tuple(row for row in rows if any(row))


def _nested_rows(tree: Any, root: str) -> tuple[tuple[str, ...], ...]:
    paths = list(_walk(tree, (root,)))
    height = max(map(len, paths), default=0)
    return tuple((*[path[0]] * (height - len(path)), *path) for path in paths)


def _walk(node: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(node, Mapping):
        for label, below in node.items():
            yield from _walk(below, (str(label), *above))
    elif not isinstance(node, (list, tuple)):
        raise SchemaError("A nested hierarchy is made of mappings, with lists of values innermost.")
    else:
        for leaf in node:
            yield (value_label(leaf), *above)
