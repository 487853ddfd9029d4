"""Both tables in the space in which the distance of records is taken: the original's standardised embedding.

A column of numbers or of ordered categories is a line on which every cell has its place. The categories of a nominal
column are points that many cells share. They are kept as a few points and one code a cell, never as one coordinate for
each category and record; a table of squared distances between the points is all that a distance needs.

A missing value is put at the original column's mean: the best guess, in squared distance, of an intruder who does not
know it. A label that the original does not have (a recoded category, an interval instead of a number) is put at the
mean of the original records that carry it, where it is known which these are; without it a new category is put in the
middle of the original ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs, ints
from shoal.kernels.classes import distinct as distinct_numbers
from shoal.kernels.search.nearest import (
    NO_LIMIT,
    Mixed,
    distinct,
    distinct_mixed,
    link_columns,
    link_mixed,
    nearest_mixed_point,
)
from shoal.table.records import Records
from shoal.table.variable import MOST_COORDINATES, Variable, check_memory
from shoal.vocabulary.errors import DataError, WidthError


@dataclass(frozen=True, kw_only=True, eq=False)
class Line:
    """A column whose cells lie on a line."""

    column: Variable  # The original one
    # before, after: shapes (n,) and (n',)
    before: Floats
    after: Floats

    def coordinates(self) -> tuple[Floats, Floats]:
        return self.before[:, None], self.after[:, None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """A column whose cells share few points."""

    column: Variable  # The original one
    # places, labels: shapes (u, m) and (v, m); points of the original's categories and of the release's labels. The
    # last of each is that of a missing cell: the mean of the original
    places: Floats
    labels: Floats
    # before, after: shapes (n,) and (n',); point of each cell
    before: Ints
    after: Ints

    def coordinates(self) -> tuple[Floats, Floats]:
        check_memory(self.column, max(len(self.before), len(self.after)), self.places.shape[1])
        return self.places[self.before], self.labels[self.after]

    @property
    def from_mean(self) -> Floats:
        """Shape (u,); squared distance of the original's points from their mean."""
        return np.asarray(((self.places - self.places[-1]) ** 2).sum(axis=1))

    def squares(self) -> Floats:
        """Shape (v, u); squared distance of every label to every point of the original."""
        return squared_distances(self.labels, self.places, self.column.name)


def squared_distances(y: Floats, x: Floats, name: str) -> Floats:
    """Shape (v, u); squared distances of points of a column, shapes (v, m) and (u, m), the last of `x` its mean."""
    if len(x) * len(y) > MOST_COORDINATES:
        raise WidthError(
            f"Column '{name}' has {len(y) - 1:,} labels in one table and {len(x) - 1:,} in the other, too many to "
            f"compare each with each. Recode the column to fewer categories, or give it another role."
        )
    table = np.empty((len(y), len(x)))
    table[:, -1] = ((y - x[-1]) ** 2).sum(axis=1)
    table[:, :-1] = (y * y).sum(axis=1)[:, None] + (x[:-1] * x[:-1]).sum(axis=1) - 2 * _products(y, x[:-1])
    same = distinct(np.vstack([x, y])).of_row
    table[same[len(x) :, None] == same[: len(x)]] = 0.0  # which a product would miss by its last digit
    return np.maximum(table, 0.0)


def _products(y: Floats, x: Floats) -> Floats:
    """Shape (v, u); y x', for points x of which few coordinates are not 0."""
    filled = x != 0
    most = int(filled.sum(axis=1).max(initial=0))
    where = np.argsort(~filled, axis=1, kind="stable")[:, :most]
    values = np.take_along_axis(x, where, axis=1)
    out = np.zeros((len(y), len(x)))
    for j in range(most):
        out += y[:, where[:, j]] * values[:, j]
    return out


@dataclass(frozen=True, kw_only=True, eq=False)
class Space:
    """Some columns of both tables, side by side."""

    columns: tuple[Line | Points, ...]
    ids: tuple[Longs, Longs]  # Shapes (n,) and (n',); numbers that only records share which agree in all columns

    @classmethod
    def of(cls, columns: tuple[Line | Points, ...], before: Records, after: Records) -> "Space":
        names = tuple(c.column.name for c in columns)
        return cls(columns=columns, ids=(before.alike(names), after.alike(names)))

    @classmethod
    def between(cls, original: Records, released: Records, names: Iterable[str], place: Longs | None = None) -> "Space":
        """`place`, shape (n',): the original record of each released one (`shoal.judges.table_pair.counterparts`), by
        which labels that the original does not have are placed; None where that is not known."""
        columns = tuple(column_of(original[name], released[name], place) for name in names)
        return cls.of(columns, original, released)

    def coordinates(self) -> tuple[Floats, Floats]:
        """Both tables as matrices, shapes (n, m) and (n', m), every category with its coordinates."""
        if not self.columns:
            return np.empty((len(self.ids[0]), 0)), np.empty((len(self.ids[1]), 0))
        widest = max((c.column for c in self.columns), key=lambda column: column.width)
        check_memory(widest, max(map(len, self.ids)), sum(c.column.width for c in self.columns))
        sides = zip(*(column.coordinates() for column in self.columns))
        x, y = (np.ascontiguousarray(np.hstack(side)) for side in sides)
        return x, y

    def link(self, rows: Longs, truth: Longs, *, backwards: bool = False, work: float | None = None) -> Floats:
        """Link records to the nearest ones of the other table.

        `rows`, `truth`, shape (m,): released records that are looked up in the original, and who they are there.
        `backwards`: the other way round: original records that are looked up in the release. `work`: points to look at,
        times (columns + `OVERHEAD`); what that does not pay for is left out at the end. Returns shape (m,) or less; as
        from `shoal.kernels.search.nearest.link_columns`.
        """
        points = [c for c in self.columns if isinstance(c, Points)]
        most = NO_LIMIT if work is None else int(work // (len(self.columns) + OVERHEAD))
        x_ids, y_ids = reversed(self.ids) if backwards else self.ids
        if not points:
            lines = [c for c in self.columns if isinstance(c, Line)]
            x, y = [line.before for line in lines], [line.after for line in lines]
            if backwards:
                x, y = y, x
            return link_columns(x, y, rows, truth, most, x_ids=x_ids, y_ids=y_ids[rows])
        before, after = self.side("before").mixed, self.side("after").mixed
        tables = tuple(c.squares() for c in points)
        if backwards:
            before, after, tables = after, before, tuple(np.ascontiguousarray(table.T) for table in tables)
        weights = np.array([c.column.weight for c in points])
        return link_mixed(before, after.take(rows), truth, tables, weights, most, x_ids=x_ids, y_ids=y_ids[rows])

    def side(self, which: Literal["before", "after"]) -> "SpaceSide":
        """One of the two tables."""
        points = [c for c in self.columns if isinstance(c, Points)]
        numbers = [getattr(c, which) for c in self.columns if isinstance(c, Line)]
        codes = [getattr(c, which) for c in points]
        count = len(self.ids[which == "after"])
        return SpaceSide(
            mixed=Mixed(
                numbers=np.column_stack(numbers) if numbers else np.empty((count, 0)),
                codes=ints(np.column_stack(codes)) if codes else np.empty((count, 0), dtype=np.int32),
            ),
            columns=tuple(c.column for c in points),
            places=tuple(c.places if which == "before" else c.labels for c in points),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SpaceSide:
    """One table in the space: numbers, and codes of points."""

    mixed: Mixed
    columns: tuple[Variable, ...]  # The original ones of the codes
    places: tuple[Floats, ...]  # Where each code lies

    def coordinates(self) -> Floats:
        """Shape (n, m); every category with its coordinates."""
        width = self.mixed.numbers.shape[1] + sum(points.shape[1] for points in self.places)
        if self.columns:
            check_memory(max(self.columns, key=lambda column: column.width), len(self.mixed), width)
        blocks = [points[codes] for points, codes in zip(self.places, self.mixed.codes.T)]
        return np.ascontiguousarray(np.hstack([self.mixed.numbers, *blocks]))


class Lookup:
    """Records of one table that are looked for among those of another.

    `points`, `asked`: both tables in one space.
    """

    def __init__(self, points: SpaceSide, asked: SpaceSide) -> None:
        self.points, self.asked = points, asked
        self._weights = np.array([column.weight for column in points.columns])

    @cached_property
    def _tables(self) -> tuple[Floats, ...]:
        sides = zip(self.asked.places, self.points.places, self.points.columns)
        return tuple(squared_distances(y, x, column.name) for y, x, column in sides)

    def nearest(self, among: Longs, rows: Longs) -> tuple[Longs, Longs]:
        """The nearest place for each of some rows that are asked for, and the place of each row looked among.

        `among`, shape (n,), and `rows`, shape (m,): rows of either side. Returns shape (m,) and shape (n,): numbers
        of places from 0; of equally near places the lowest.
        """
        points, asked = self.points.mixed.take(among), self.asked.mixed.take(rows)
        of_row, merged = distinct_mixed(points)
        return nearest_mixed_point(merged, asked, self._tables, self._weights), of_row


OVERHEAD = 50
"""Cost of a point beyond its columns, in columns."""


def embedded(
    original: Records, released: Records, names: Iterable[str], place: Longs | None = None
) -> tuple[Floats, Floats]:
    """Two tables as matrices, shapes (n, m) and (n', m); `place` as for `Space.between`."""
    return Space.between(original, released, names, place).coordinates()


def column_of(before: Variable, after: Variable, place: Longs | None) -> Line | Points:
    """One column of two tables in the original's standardised embedding.

    Raises DataError if labels cannot be compared with numbers, since nobody knows which numbers they stand for.
    """
    comparable = before.continuous == after.continuous
    recoded = not comparable or (not before.continuous and place is not None and _new_labels(before, after))
    if recoded and (place is None or after.continuous):
        raise DataError(
            f"Column '{before.name}' holds {'numbers' if after.continuous else 'labels'} in the released table that "
            f"cannot be compared with the original's. Leave it out."
        )
    return (
        _points(before, after, place if recoded else None)
        if before.level == "nominal"
        else _line(before, after, place if recoded else None)
    )


def _line(before: Variable, after: Variable, place: Longs | None) -> Line:
    place_of = before.embedding()
    x = place_of(before)[:, 0]
    present = ~np.isnan(x)
    centre = float(np.where(present, x, 0.0).sum()) / max(int(present.sum()), 1)
    x = _filled(x, centre)
    if place is not None:
        y = _filled(_label_means(after, np.arange(len(x)), place, x[:, None])[after.values, 0], centre)
    else:
        y = x if after is before else _filled(place_of(after)[:, 0], centre)
    return Line(column=before, before=x, after=y)


def _filled(x: Floats, centre: float) -> Floats:
    """Shape (n,); places of a line's cells, with missing ones at the centre; not copied if none is missing."""
    lacking = np.isnan(x)
    return np.where(lacking, centre, x) if lacking.any() else np.ascontiguousarray(x)


def _points(before: Variable, after: Variable, place: Longs | None) -> Points:
    places = before.places(before)
    counts = np.bincount(before.values[~before.missing], minlength=len(places)).astype(np.float64)
    centre = (counts[:, None] * places).sum(axis=0) / max(counts.sum(), 1.0)
    places = np.vstack([places, centre])
    codes = ints(before.values % len(places))  # a missing cell, -1, is the last point
    if place is None:
        labels = np.vstack([before.places(after), centre])
    else:
        labels = _label_means(after, codes, place, places)
        labels = np.where(np.isnan(labels), centre, labels)
    return Points(column=before, places=places, labels=labels, before=codes, after=ints(after.values % len(labels)))


def _new_labels(before: Variable, after: Variable) -> bool:
    """True if the release has labels that neither the original nor its hierarchy has."""
    new = set(after.categories) - set(before.categories)
    if new and before.hierarchy is not None:
        new -= {label for path in before.hierarchy.paths for label in path}
    return bool(new)


def _label_means(after: Variable, codes: Ints | Longs, place: Longs, points: Floats) -> Floats:
    """Shape (v + 1, m); the mean point of the original records with each label, NaN for a missing cell.

    `codes`, shape (n,): point of each original record; `points`, shape (u, m).
    """
    count = len(after.categories) + 1
    labels = after.values.astype(np.int64) % count
    pairs, _, times = distinct_numbers(labels * len(points) + codes[place])
    label, point = pairs // len(points), pairs % len(points)
    sizes = np.bincount(labels, minlength=count)[:, None]
    sums = np.column_stack([np.bincount(label, weights=times * c[point], minlength=count) for c in points.T])
    means = sums / np.maximum(sizes, 1)
    means[-1] = np.nan
    return np.asarray(means)
