"""Views of a table before anything is done to it: its columns, its rows, and its exposure."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.judges.standing import standing
from shoal.plan.draft import plan_text
from shoal.plan.guess import Guess, guess
from shoal.studio.arguments import Answer
from shoal.studio.variables import code_labels
from shoal.table.bins import distribution
from shoal.table.cells import encode, value_counts
from shoal.table.files.table import Table
from shoal.table.hierarchy import Hierarchy
from shoal.table.hierarchy_forms import hierarchy_of
from shoal.table.records import Records
from shoal.table.schema import UNITS, Column, Level
from shoal.table.variable import Variable
from shoal.vocabulary.errors import InputError

PAGE = 50
"""Rows of a page."""

LOOKED_AT = 6
"""Rows that are shown before a table is opened."""

MOST_LABELS = 200
"""Labels of a level that are listed, the most frequent first."""

BUILT = ("intervals", "prefix", "order", "dates")
"""Forms of hierarchies that the page builds."""


NO_ANSWER = re.compile(
    r"\b(not applicable|inapplicable|n/?a|no answer|not answered|not asked|don'?t know|do not know|refus\w*|missing|"
    r"not stated|unknown|skip\w*|valid skip|trifft nicht zu|keine angabe|weiß nicht|no aplica|no sabe|sans objet)\b",
    re.I,
)
"""Labels of codes that stand for no answer."""


def facts(table: Table, source: str) -> Answer:
    """By column its type, its missing values, its distribution, and its guessed role."""
    frame = table.frame
    columns = [_column(table, guessed) for guessed in guess(table)]
    notes = [note for note in table.notes.values() if note]
    return {"rows": len(frame), "described": table.described, "notes": notes, "columns": columns, "source": source}


def look(table: Table) -> Answer:
    """A table before it is opened: its columns with their types, and its first rows."""
    frame = table.frame
    columns = [{"name": c.name, "type": str(c.dtype), "missing": c.null_count()} for c in frame]
    rows = [[None if cell is None else str(cell) for cell in row] for row in frame.head(LOOKED_AT).iter_rows()]
    notes = [note for note in table.notes.values() if note]
    return {"rows": len(frame), "described": table.described, "notes": notes, "columns": columns, "first": rows}


def draft(table: Table, source: str) -> str:
    """The text of the plan that is guessed."""
    return plan_text(table, source)


def _column(table: Table, guessed: Guess) -> Answer:
    series = table.frame[guessed.name]
    picture = None
    if guessed.role not in ("identifier", *UNITS):
        try:
            picture = distribution({"original": variable(table.frame, guessed.name, guessed.level)})
        except InputError:  # a type that no level fits is shown without a picture, and said when it is used
            picture = None
    return {
        "name": guessed.name,
        "type": str(series.dtype),
        "missing": series.null_count(),
        "distinct": series.n_unique() - (series.null_count() > 0),
        "guess": guessed.role,
        "level": guessed.level,
        "reason": guessed.reason,
        "label": table.labels.get(guessed.name, ""),
        "picture": picture,
        "values": code_labels(table, guessed.name),
        "unique": _unique(series),
    }


def _unique(series: pl.Series) -> int:
    """Records whose value nobody else has."""
    return int(series.drop_nulls().is_unique().sum())


def variable(frame: pl.DataFrame, name: str, level: str | None) -> Variable:
    """A column in numbers, as a quasi-identifier."""
    series = nw.from_native(frame[name], series_only=True)
    stated: Any = level if level in get_args(Level) else None
    return encode(series, Column(role="quasi-identifier", level=stated, missing="keep"), Path())


class KeyExposure:
    """Records that the columns which others may know single out, in the table as it is.

    Encoded columns are kept from one question to the next, so that a changed role is answered at once.
    """

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self._variables: dict[tuple[str, str | None], Variable] = {}

    def of(self, levels: Mapping[str, str | None]) -> Answer:
        """Counts of records.

        Parameters
        ----------
        levels
            The columns that others may know, with their levels of measurement.
        """
        variables = [self._variable(name, level) for name, level in levels.items() if name in self.frame.columns]
        n = len(self.frame)
        if not variables or not n:
            return {"records": n, "known": len(variables), "below": {}, "expected": 0.0, "columns": []}
        records = Records.of(variables)
        stands = standing(records, records.names())
        return {
            "records": n,
            "known": len(variables),
            "below": {str(k): count for k, count in stands.fewer_than.items()},
            "expected": stands.expected,
            "columns": [{"name": s.name, "fewer": s.spared, "alone": s.alone} for s in stands.columns],
        }

    def _variable(self, name: str, level: str | None) -> Variable:
        if (name, level) not in self._variables:
            self._variables[name, level] = variable(self.frame, name, level)
        return self._variables[name, level]


def order_by(cells: pl.Series, *, descending: bool) -> np.ndarray:
    """Row numbers in the order of a column, missing cells last."""
    if cells.dtype != pl.String:
        return cells.arg_sort(descending=descending, nulls_last=True).to_numpy()
    of_value = pl.DataFrame({"cell": cells}).with_row_index("row").group_by("cell").agg("row")  # few texts are compared
    return of_value.sort("cell", descending=descending, nulls_last=True)["row"].explode().to_numpy()


def rows(frame: pl.DataFrame, order: np.ndarray | None, offset: int) -> Answer:
    """A page of rows as texts, in an order from `order_by`, or None for their own."""
    begin = max(0, offset)
    part = np.arange(begin, min(begin + PAGE, len(frame))) if order is None else order[begin : begin + PAGE]
    cells = frame[part.tolist()]
    return {
        "columns": frame.columns,
        "of": len(frame),
        "offset": offset,
        "rows": [[None if cell is None else str(cell) for cell in row] for row in cells.iter_rows()],
        "numbers": [int(at) + 1 for at in part],
    }


def values_of(frame: pl.DataFrame, name: str) -> dict[str, int]:
    """Numbers of records by value of a column, in the data's own order; refused if there is no such column."""
    if name not in frame.columns:
        raise InputError("There is no such column any more. Look at it again.")
    return value_counts(nw.from_native(frame[name], series_only=True))


def levels(frame: pl.DataFrame, name: str, spec: Any, folder: Path) -> Answer:
    """A column's hierarchy level by level: labels with their numbers of records, and values that it lacks."""
    counts = values_of(frame, name)
    tree = hierarchy_of(spec, counts, folder)
    return {"levels": _listed(tree, counts), "lacking": len(tree.missing(counts)), "values": len(counts)}


def _listed(tree: Hierarchy, counts: Mapping[str, int]) -> list[Answer]:
    listed = []
    for level in range(tree.height + 1):
        labels: dict[str, int] = {}
        parents: dict[str, str] = {}
        for path in tree.paths:
            labels[path[level]] = labels.get(path[level], 0) + counts.get(path[0], 0)
            parents[path[level]] = path[min(level + 1, tree.height)]
        shown = sorted(labels.items(), key=lambda labelled: -labelled[1])[:MOST_LABELS]
        listed.append(
            {
                "labels": [{"label": label, "records": n, "parent": parents[label]} for label, n in shown],
                "of": len(labels),
                "smallest": min(labels.values()),
            }
        )
    return listed


def built(
    frame: pl.DataFrame, name: str, how: str, sizes: list[float], labels: Mapping[str, str] | None = None
) -> Answer:
    """A hierarchy for a column, in the form that a plan has.

    Parameters
    ----------
    how
        `intervals`: numbers in intervals of these widths. `prefix`: codes by their first so many characters.
        `order`: values in their order, so many together. `dates`: days in months, quarters and years.
    sizes
        Sizes, from the finest level to the coarsest.
    labels
        Labels of codes; in an `order` a code that stands for no answer is never put together with its neighbours.
    """
    if how not in BUILT:
        raise InputError(f"A hierarchy is built from {', '.join(BUILT[:-1])} or {BUILT[-1]}.")
    whole = [int(s) if float(s).is_integer() else s for s in sizes]
    form = {how: ["month", "quarter", "year"] if how == "dates" else whole}
    counts = values_of(frame, name)
    if how != "order":
        hierarchy_of(form, counts, Path())  # which refuses what cannot be built
        return form
    apart = [value for value in counts if NO_ANSWER.search((labels or {}).get(value, ""))]
    tree = hierarchy_of(form, {value: n for value, n in counts.items() if value not in apart}, Path())
    lone = [[value] * tree.height + [tree.paths[0][-1]] for value in apart]
    return {"paths": [*map(list, tree.paths), *lone]}
