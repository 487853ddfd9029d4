"""Edits of a hierarchy's cells: rename a label, move it under another, or add values that the hierarchy lacks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.studio.arguments import Answer
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_forms import hierarchy_of
from shoal.vocabulary.errors import InputError

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
        level, `{"missing": True}` adds the values that the hierarchy lacks, each by itself below the top.

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
    if edit.get("missing"):
        rows = (*tree.paths, *_by_themselves(tree, counts))
    else:
        level, label = edit.get("level"), edit.get("label")
        to, moves = str(edit.get("under") or edit.get("name") or "").strip(), "under" in edit
        if not to:
            raise InputError("A label must not be empty. Write one.")
        if type(level) is not int or not (0 if moves else 1) <= level <= tree.height - moves:
            raise InputError("The hierarchy has no such level.")
        if all(row[level] != label for row in tree.paths):
            raise InputError("The hierarchy has no such label any more. Look at it again.")
        rows = _with(tree.paths, [row[level] == label for row in tree.paths], level + moves, to)
    return {"paths": [list(row) for row in Hierarchy(rows).paths]}


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
