"""Edits of a hierarchy's cells: rename, move, merge and split labels, add values, and read files of rows.

A file of rows has a value with all its labels in each, separated by semicolons or commas, as ARX writes it.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.studio.arguments import Answer
from shoal.table.hierarchy import Hierarchy, rows_of_text
from shoal.table.hierarchy_forms import hierarchy_of
from shoal.vocabulary.errors import InputError, ShoalError

MOST_LEAVES = 2000
"""A hierarchy with more values belongs in a file, not in the plan."""

Rows = tuple[tuple[str, ...], ...]


def edited(counts: Mapping[str, int], spec: Any, folder: Path, edit: Mapping[str, Any]) -> Answer:
    """A hierarchy after an edit, written out as in a plan.

    Parameters
    ----------
    counts
        Numbers of records by value of the column.
    edit
        `{"level", "label", "name"}` renames a label, `{"level", "label", "under"}` moves it under one of the next
        level, `{"level", "labels", "name"}` makes one label of several, `{"level", "label", "split": True}` puts the
        labels below a label in its place, and `{"missing": True}` adds the values that the hierarchy lacks, each by
        itself below the top.

    Raises
    ------
    InputError
        If there is no such label, or the result is no hierarchy.
    """
    tree = hierarchy_of(spec, counts, folder)
    if len(tree.paths) > MOST_LEAVES:
        raise InputError(
            f"This hierarchy has more than {MOST_LEAVES:,} values. Keep it as a file (shoal hierarchy build), "
            f"and name the file in the plan."
        )
    rows = (*tree.paths, *_by_themselves(tree, counts)) if edit.get("missing") else _changed(tree, edit)
    return {"paths": [list(row) for row in Hierarchy(rows).paths]}


def _changed(tree: Hierarchy, edit: Mapping[str, Any]) -> Rows:
    """The rows after a label, or several, of one level were changed."""
    level, moves, splits = edit.get("level"), "under" in edit, bool(edit.get("split"))
    chosen = edit["labels"] if isinstance(edit.get("labels"), list) else [edit.get("label")]
    to = str(edit.get("under") or edit.get("name") or "").strip()
    if not to and not splits:
        raise InputError("A label must not be empty. Write one.")
    if type(level) is not int or not (0 if moves else 1) <= level <= tree.height - (moves or splits):
        raise InputError("The hierarchy has no such level.")
    which = [row[level] in chosen for row in tree.paths]
    if not any(which):
        raise InputError("The hierarchy has no such label any more. Look at it again.")
    if splits:
        return tuple(
            (*row[:level], row[level - 1], *row[level + 1 :]) if w else row for row, w in zip(tree.paths, which)
        )
    if len(chosen) > 1:  # what is above the first is above all of them
        above = tree.paths[which.index(True)][level + 1 :]
        return tuple((*row[:level], to, *above) if w else row for row, w in zip(tree.paths, which))
    return _with(tree.paths, which, level + moves, to)


def _by_themselves(tree: Hierarchy, counts: Mapping[str, int]) -> Rows:
    tops = {row[-1] for row in tree.paths}
    above = tops if len(tops) == 1 else set()
    return tuple((value,) * (tree.height + 1 - len(above)) + tuple(above) for value in tree.missing(counts))


def _with(rows: Rows, which: Sequence[bool], level: int, to: str) -> Rows:
    """Rows with another label at a level in those of `which`; an existing label brings the labels above it along."""
    above = next((row[level + 1 :] for row in rows if row[level] == to), None)
    return tuple(
        (*row[:level], to, *(row[level + 1 :] if above is None else above)) if chosen else row
        for row, chosen in zip(rows, which)
    )


def read_files(files: Sequence[Mapping[str, str]], values: Mapping[str, Collection[str]]) -> list[Answer]:
    """Of each file its hierarchy, and the column that it is for: of its name, or that with most of its values.

    Parameters
    ----------
    files
        Each with its `name` and `text`.
    values
        By column the values that occur.
    """
    return [_read(one["name"], one["text"], values) for one in files]


def _read(name: str, text: str, values: Mapping[str, Collection[str]]) -> Answer:
    try:
        tree = Hierarchy(rows_of_text(text.removeprefix("\ufeff"), name))
    except ShoalError as error:
        return {"file": name, "column": None, "reason": str(error)}
    if len(tree.paths) > MOST_LEAVES:
        why = f"It has more than {MOST_LEAVES:,} values. Name it in the plan by its path instead."
        return {"file": name, "column": None, "reason": why}
    leaves = set(tree.leaves)
    known = {column: len(leaves & set(of)) / max(len(of), 1) for column, of in values.items()}
    called = [column for column in known if known[column] and _plain(column) in _plain(Path(name).stem)]
    best = max(called or known, key=lambda column: (known[column], len(column)), default=None)
    if best is None or not known[best]:
        return {"file": name, "column": None, "reason": "No column has values of this hierarchy."}
    lacking = sum(value not in leaves for value in values[best])
    spec = {"paths": [list(row) for row in tree.paths]}
    return {"file": name, "column": best, "reason": "", "spec": spec, "height": tree.height, "lacking": lacking}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()
