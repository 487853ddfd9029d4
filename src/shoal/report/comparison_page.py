"""Several releases side by side: rows of figures in groups, and the page that shows them."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shoal.report.evidence import Comparable, MeasureKind, ReportedFigure, Requirement
from shoal.report.forms import WHOLE, Bound, Limits, UnitAndLimits, number_of
from shoal.report.frontier_marks import UNPROTECTED, axis_of
from shoal.report.page import Filled, Map, map_of, render
from shoal.report.risk_map import marks_of
from shoal.vocabulary.facts import Better

Group = Literal["requirement", "reached", "risk", "utility", "release"]

GROUPS: dict[Group, str] = {
    "requirement": "What was required",
    "reached": "Levels reached, required or not",
    "risk": "Disclosure risk",
    "utility": "Information loss",
    "release": "The release itself",
}
"""Headings of the groups of rows, in order."""

LACKING: dict[Group, str] = {"requirement": "not required", "reached": "not known", "release": "not known"}
"""Meaning of an empty cell, by group; it is no evidence of safety."""


class ComparisonRow(UnitAndLimits):
    """A requirement, level, measure or count, with one cell a release.

    `group` is a key of `GROUPS`; `better` is None where neither direction is better. A cell is a figure or a bound on
    it, None where a release lacks it; `lacking` tells what that means. `best` holds the places of the best cells.
    """

    group: Group
    title: str
    better: Better | None
    cells: list[float | Bound | None]
    lacking: str
    best: list[int]


def comparison(evidence: Mapping[str, Comparable]) -> list[ComparisonRow]:
    """One row a requirement, level, measure or count, one cell a release, in the order of `GROUPS`.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release.
    """
    rows: dict[tuple[Group, str], ComparisonRow] = {}
    for position, content in enumerate(evidence.values()):
        for figure in _numbered(_figures(content)):
            row = rows.setdefault((figure.group, figure.title), _row(figure, len(evidence)))
            row["cells"][position] = figure.value
            row["better"] = row["better"] or figure.better
    for row in rows.values():
        numbers = [number_of(cell) for cell in row["cells"]]
        values = [number for number in numbers if number is not None]
        if row["better"] is not None and values:
            best = min(values) if row["better"] == "lower" else max(values)
            row["best"] = [i for i, number in enumerate(numbers) if number == best]
    return sorted(rows.values(), key=lambda row: list(GROUPS).index(row["group"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFigure:
    """A figure of one release, as `ComparisonRow` describes it."""

    group: Group
    title: str
    value: float | Bound | None
    better: Better | None = None
    unit: str = ""
    limits: Limits = (None, None)


def _row(figure: ReleaseFigure, n: int) -> ComparisonRow:
    return {
        "group": figure.group,
        "title": figure.title,
        "better": None,
        "unit": figure.unit,
        "limits": figure.limits,
        "cells": [None] * n,
        "lacking": LACKING.get(figure.group, "no figure"),
        "best": [],
    }


def _numbered(figures: Iterable[ReleaseFigure]) -> Iterator[ReleaseFigure]:
    """The figures, with a number after a title that came before: titles do not show every parameter of a measure."""
    seen: Counter[tuple[Group, str]] = Counter()
    for figure in figures:
        seen[figure.group, figure.title] += 1
        number = seen[figure.group, figure.title]
        yield figure if number == 1 else replace(figure, title=f"{figure.title} ({number})")


def _figures(content: Comparable) -> Iterator[ReleaseFigure]:
    """All figures of a release that are compared; those of one of several tables with its name before them."""
    for verdict in content["requirements"]:
        title = verdict["requirement"]
        yield ReleaseFigure(group="requirement", title=title, value=verdict["achieved"], better=_direction(verdict))
    for level in content["reached"]:
        yield ReleaseFigure(group="reached", title=level["title"], value=level["value"], better=level["better"])
    for measure in content["measures"]:
        yield ReleaseFigure(
            group=measure["kind"],
            title=measure["title"],
            value=measure["value"],
            better=measure["better"],
            unit=measure["unit"],
            limits=measure["limits"],
        )
    yield ReleaseFigure(group="release", title="Records", value=content["records"])
    if (score := _score(content["measures"])) is not None:
        title = "Score: half risk, half loss, in per cent"
        yield ReleaseFigure(group="release", title=title, value=score, better="lower", limits=(0.0, 100.0))
    if shares := [before["changed"] for column in content["columns"] if (before := column["original"])]:
        changed = sum(shares) / len(shares)
        yield ReleaseFigure(group="release", title="Cells changed", value=changed, better="lower", limits=WHOLE)
    for name, of_table in content.get("by table", {}).items():  # whose requirements stand above, under its name
        for figure in _figures(of_table):
            if figure.group != "requirement":
                yield replace(figure, title=f"{name}: {figure.title}")


def _score(measures: Sequence[ReportedFigure]) -> float | None:
    """The score in per cent; None unless every measure that has a weight in it has one figure."""
    parts = [figure for figure in measures if figure["score_weight"]]
    shares = [
        figure["score_weight"] * value / figure["limits"][1]
        for figure in parts
        if isinstance(value := figure["value"], (int, float)) and figure["limits"][1]
    ]
    complete = len(shares) == len(parts) and math.isclose(sum(figure["score_weight"] for figure in parts), 1)
    return 100 * sum(shares) if complete else None


def _direction(verdict: Requirement) -> Better | None:
    """The side of its limit on which a requirement holds; None if it is met exactly, or has no figure."""
    required, achieved = verdict["required"], verdict["achieved"]
    if achieved is None or achieved == required:
        return None
    return "higher" if (achieved > required) == verdict["holds"] else "lower"


def comparison_page(evidence: Mapping[str, Comparable], *, private: bool = False) -> str:
    """One self-contained page with a column for each release.

    Parameters
    ----------
    private
        True if the figures are those of private evidence, so that the page is private as well.
    """
    return render("comparison.html", **comparison_parts(evidence, private=private))


def comparison_parts(evidence: Mapping[str, Comparable], *, private: bool) -> Filled:
    """Values that fill the templates of the page."""
    rows = comparison(evidence)
    groups = [{"title": GROUPS[group], "rows": [row for row in rows if row["group"] == group]} for group in GROUPS]
    return {
        "names": list(evidence),
        "private": private,
        "groups": [group for group in groups if group["rows"]],
        "map": comparison_map(list(evidence.values())),
    }


def comparison_map(contents: Sequence[Comparable]) -> Map | None:
    """The releases by their numbers between risk and loss; None if no two measures have figures in all of them."""
    risk, loss = _common(contents, "risk"), _common(contents, "utility")
    if not risk or not loss:
        return None
    pairs = enumerate(zip(risk, loss), 1)
    marks = [mark for number, (x, y) in pairs for mark in marks_of(str(number), "release", x["value"], y["value"])]
    marks += marks_of(UNPROTECTED, "unprotected", risk[0]["original"], loss[0]["unchanged"])
    return map_of(marks, axis_of(risk[0]), axis_of(loss[0]), release="a release, by its number")


def _common(contents: Sequence[Comparable], kind: MeasureKind) -> list[ReportedFigure]:
    """The best known measure of a kind with an exact figure in every release: its figure in each."""
    measures = [
        {f["title"]: f for f in content["measures"] if f["kind"] == kind and isinstance(f["value"], (int, float))}
        for content in contents
    ]
    titles = [title for title in measures[0] if all(title in of for of in measures)] if measures else []
    best = max(titles, key=lambda title: measures[0][title]["prominence"], default="")
    return [of[best] for of in measures if best]
