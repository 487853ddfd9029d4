"""Classes compared with the boxes of quasi-identifier values around them, on a table larger than memory.

Where boxes are cut is found from one record of each class. Boxes of about a block of records are then dealt out, each
whole in one file with all of its classes, and cut further there; of wider boxes, which no file holds whole, it is known
how often each confidential value occurs in them. So the figures are those of the whole table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.data.confidential_bins import Bins
from shoal.data.records import Records
from shoal.data.schema import Schema
from shoal.judges.class_figures import ClassFigures
from shoal.judges.natural_sets import NaturalSets, class_points, distances_in_boxes, nearest, nested_boxes
from shoal.judges.variants import variants
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.requirement import emd
from shoal.processes import remembered
from shoal.scale.engine import Dealt, Engine
from shoal.scale.moments import WholeTable
from shoal.scale.part_work import released_records
from shoal.scale.pieces import gathered, piece_path

CLASS = "shoal: class"
"""The number of a record's class, counted through all files of classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A file that holds classes whole, and where they go.

    Parameters
    ----------
    start
        The number of its first class.
    pieces
        Shape (C,); the file that each of its classes goes to.
    """

    path: Path
    start: int
    pieces: Longs


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A file of whole boxes.

    Parameters
    ----------
    path
        Of its records.
    classes
        A file of what is known of its classes: `ids`, `boxes`, `sizes`, each of shape (C,), and `points`.
    """

    path: Path
    classes: Path


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SetSearch:
    """The search for a set that is near enough to each class.

    Parameters
    ----------
    whole
        The released columns, with how the confidential ones are distributed.
    files
        That hold the classes by `keys` whole.
    place
        A folder for the boxes.
    most
        Records that a process treats at once.
    """

    sets: NaturalSets
    whole: WholeTable
    files: tuple[Path, ...]
    keys: tuple[str, ...]
    place: Path
    engine: Engine
    most: int

    def figures(self, one_of_each: Records, sizes_by_file: Sequence[Longs]) -> ClassFigures:
        """The distances of all classes from the sets that are nearest, as `nearest_set_distances` has them."""
        sizes = np.concatenate(sizes_by_file)
        names = self.whole.schema.names("confidential")
        if not names:
            return ClassFigures(sizes=sizes)
        self.place.mkdir(mode=0o700)
        classes = one_of_each.classes(self.keys)
        points = class_points(one_of_each, self.keys, classes)[classes.ids]
        boxes, *wider = nested_boxes(points, sizes, self.sets.n, self.most)
        first = np.unique(boxes, return_index=True)[1]
        pieces = self._dealt(boxes, points, sizes, [len(part) for part in sizes_by_file])
        given = {"sets": self.sets, "whole": _only(self.whole, names), "place": self.place}
        for _ in self.engine.as_finished(_count, pieces, given):
            pass
        above = _summed(self.place, len(first), [level[first] for level in wider])
        figures = {name: np.empty(len(sizes)) for name in names}
        typed: Mapping[str, int] = {}
        for piece, (distances, variants_of) in self.engine.as_finished(_compared, pieces, {**given, "above": above}):
            typed = variants_of  # of the whole columns, so the same for all
            with np.load(piece.classes) as known:
                for name, distance in zip(names, distances):
                    figures[name][known["ids"]] = distance
        return ClassFigures(sizes=sizes, figures=figures, variants=typed)

    def _dealt(self, boxes: Longs, points: Floats, sizes: Longs, counts: Sequence[int]) -> list[Piece]:
        """The records of whole boxes in files of about `most` of them."""
        before = np.cumsum(weights := np.bincount(boxes, weights=sizes)) - weights
        piece_of = np.unique(before // self.most, return_inverse=True)[1].ravel()[boxes]
        starts = np.cumsum((0, *counts)).tolist()
        homes = [
            Home(path=path, start=low, pieces=piece_of[low:high])
            for path, low, high in zip(self.files, starts, starts[1:])
        ]
        count = int(piece_of.max()) + 1
        deal = partial(_by_piece, keys=self.keys, whole=self.whole)
        self.engine.dealt(deal, homes, count, self.place)
        order = np.argsort(piece_of, kind="stable")
        pieces = []
        for number, ids in enumerate(np.split(order, np.flatnonzero(np.diff(piece_of[order])) + 1)):
            pieces.append(Piece(path=piece_path(self.place, number), classes=self.place / f"classes-{number}.npz"))
            np.savez(pieces[-1].classes, ids=ids, boxes=boxes[ids], sizes=sizes[ids], points=points[ids])
        return pieces


def _only(whole: WholeTable, names: Sequence[str]) -> WholeTable:
    schema = Schema.model_construct(root={name: whole.schema.columns[name] for name in names})
    return replace(whole, schema=schema, columns={n: c for n, c in whole.columns.items() if n in names})


def _by_piece(home: Home, keys: Sequence[str], whole: WholeTable) -> Dealt:
    """The confidential cells of a file of classes with the numbers of their classes, and where each record goes."""
    frame = gathered(home.path)
    ids = released_records(frame, whole).classes(keys).ids
    cells = frame.select(whole.schema.names("confidential"))
    return cells.with_columns(pl.Series(CLASS, ids + home.start)), home.pieces[ids]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Box:
    """A box that one file holds whole.

    Parameters
    ----------
    members
        Shape (C,); its classes among those of the file.
    groups
        Shape (n,); the class of each of its records, 0 to C - 1.
    """

    number: int
    members: Longs
    groups: Longs
    columns: list[Bins]


def _boxes(piece: Piece) -> Iterator[Box]:
    """The boxes of a file."""
    frame = gathered(piece.path)
    columns = remembered["sets"].columns(released_records(frame.drop(CLASS), remembered["whole"]))
    with np.load(piece.classes) as known:
        ids, boxes = known["ids"], known["boxes"]
    classes = np.searchsorted(ids, frame[CLASS].to_numpy())
    order = np.argsort(boxes[classes], kind="stable")
    starts = np.flatnonzero(np.diff(boxes[classes][order])) + 1
    for rows in np.split(order, starts):
        members, groups = np.unique(classes[rows], return_inverse=True)
        taken = [replace(column, bins=column.take(rows)) for column in columns]
        yield Box(number=int(boxes[members[0]]), members=members, groups=groups.ravel().astype(np.int64), columns=taken)


def _counts_file(place: Path, level: int, number: int) -> Path:
    return place / f"counts-{level}-{number}.npz"


def _count(piece: Piece) -> None:
    """Leave how often each confidential value occurs in each box of a file; those that do not are left out."""
    for box in _boxes(piece):
        counts = [np.bincount(column.bins + 1, minlength=column.m + 1) for column in box.columns]
        _save(_counts_file(remembered["place"], 0, box.number), counts)


def _save(path: Path, counts: Sequence[Longs]) -> None:
    arrays: dict[str, Any] = {"widths": np.array([len(column) for column in counts])}
    for j, column in enumerate(counts):
        arrays[f"places-{j}"] = np.flatnonzero(column)
        arrays[f"counts-{j}"] = column[arrays[f"places-{j}"]]
    np.savez(path, **arrays)


def _total(paths: Sequence[Path]) -> list[Longs]:
    """How often each value of each column occurs in some boxes together, missing ones first."""
    totals: list[Longs] = []
    for path in paths:
        with np.load(path) as counts:
            totals = totals or [np.zeros(width, dtype=np.int64) for width in counts["widths"]]
            for j, total in enumerate(totals):
                total[counts[f"places-{j}"]] += counts[f"counts-{j}"]
    return totals


def _summed(place: Path, count: int, wider: Sequence[Longs]) -> list[list[Path]]:
    """Leave the counts of wider boxes, and give the files of those around each box, from the narrowest.

    Parameters
    ----------
    count
        Number of boxes.
    wider
        Level by level, shape (count,): the wider box around each.
    """
    paths = [_counts_file(place, 0, number) for number in range(count)]
    above: list[list[Path]] = [[] for _ in paths]
    for level, around in enumerate(wider, 1):
        inside: dict[int, dict[Path, None]] = {}
        for number, path in zip(around.tolist(), paths):
            inside.setdefault(number, {})[path] = None
        files = {number: _together(place, level, number, list(parts)) for number, parts in inside.items()}
        paths = [files[number] for number in around.tolist()]
        for known, path in zip(above, paths):
            known.append(path)
    return above


def _together(place: Path, level: int, number: int, parts: Sequence[Path]) -> Path:
    """The file with the counts of some boxes together."""
    if len(parts) == 1:
        return parts[0]
    path = _counts_file(place, level, number)
    _save(path, _total(parts))
    return path


def _compared(piece: Piece) -> tuple[Floats, dict[str, int]]:
    """Shape (columns, C); the distances of the classes of a file, with what a reader must be warned of."""
    sets: NaturalSets = remembered["sets"]
    with np.load(piece.classes) as known:
        sizes, points = known["sizes"], known["points"]
    out = np.empty((len(remembered["whole"].schema.columns), len(sizes)))
    for box in _boxes(piece):
        inside = nested_boxes(points[box.members], sizes[box.members], sets.n)
        around = (_distances_from(path, box) for path in remembered["above"][box.number])
        out[:, box.members] = nearest(chain(distances_in_boxes(box.columns, box.groups, inside), around), sets.t)
    records = released_records(gathered(piece.path).drop(CLASS), remembered["whole"])
    return out, {name: count for name in records.names() if (count := variants(records[name]))}


def _distances_from(path: Path, box: Box) -> Floats:
    """Shape (columns, C); the distances of a box's classes from a wider box."""
    distances = []
    for column, total in zip(box.columns, _total([path])):
        table = replace(column, counts=total[1:], missing=int(total[0])).table()
        distances.append(emd.distances(table, column.bins, box.groups, column.m, len(box.members)))
    return np.vstack(distances)
