"""Several releases side by side: rows of figures in groups, and the page that shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from shoal.report.evidence import Comparable, Figure, Kind, Requirement
from shoal.report.forms import WHOLE, Bound, Limits, Scale, number_of
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
"""What a gap means, by group; a gap is no evidence of safety."""


SCORE = {"pil": 0.5, "distance-linkage": 12.5, "probabilistic-linkage": 12.5, "interval-disclosure": 25.0}
"""Weights of the score: half loss, half risk, of which one half is linkage and one half intervals (Domingo-Ferrer &
Torra 2001), the loss being the one with bounds (Mateo-Sanz et al. 2005). Risks are shares, PIL is in per cent."""


class Row(Scale):
    """A requirement, level, measure or count, with one cell a release.

    `group` is a key of `GROUPS`; `better` is None where neither is. A cell is a figure or a bound on it, None where a
    release lacks it; `lacking` says what such a gap means. `best` holds the places of the best cells.
    """

    group: Group
    title: str
    better: Better | None
    cells: list[float | Bound | None]
    lacking: str
    best: list[int]


def comparison(evidence: Mapping[str, Comparable]) -> list[Row]:
    """One row a requirement, level, measure or count, one cell a release, in the order of `GROUPS`.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release.
    """
    rows: dict[tuple[Group, str], Row] = {}
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
class Compared:
    """A figure of one release, as `Row` describes it."""

    group: Group
    title: str
    value: float | Bound | None
    better: Better | None = None
    unit: str = ""
    limits: Limits = (None, None)


def _row(figure: Compared, n: int) -> Row:
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


def _numbered(figures: Iterable[Compared]) -> Iterator[Compared]:
    """The same, with a number after a title that came before: two measures may differ in what no title says."""
    seen: Counter[tuple[Group, str]] = Counter()
    for figure in figures:
        seen[figure.group, figure.title] += 1
        number = seen[figure.group, figure.title]
        yield figure if number == 1 else replace(figure, title=f"{figure.title} ({number})")


def _figures(content: Comparable) -> Iterator[Compared]:
    """Everything that is compared."""
    for verdict in content["requirements"]:
        title = verdict["requirement"]
        yield Compared(group="requirement", title=title, value=verdict["achieved"], better=_direction(verdict))
    for level in content["reached"]:
        yield Compared(group="reached", title=level["title"], value=level["value"], better=level["better"])
    for measure in content["measures"]:
        yield Compared(
            group=measure["kind"],
            title=measure["title"],
            value=measure["value"],
            better=measure["better"],
            unit=measure["unit"],
            limits=measure["limits"],
        )
    yield Compared(group="release", title="Records", value=content["records"])
    if (score := _score(content["measures"])) is not None:
        title = "Score: half risk, half loss, in per cent"
        yield Compared(group="release", title=title, value=score, better="lower", limits=(0.0, 100.0))
    if shares := [before["changed"] for column in content["columns"] if (before := column["original"])]:
        changed = sum(shares) / len(shares)
        yield Compared(group="release", title="Cells changed", value=changed, better="lower", limits=WHOLE)


def _score(measures: Sequence[Figure]) -> float | None:
    """The score of Domingo-Ferrer and Torra; None unless all of its measures have figures, each with one choice of
    parameters."""
    parts = [f for f in measures if f["measure"] in SCORE]
    if sorted(f["measure"] for f in parts) != sorted(SCORE):
        return None
    values = [f["value"] for f in parts]
    numbers = [value for value in values if isinstance(value, (int, float))]
    return sum(SCORE[f["measure"]] * v for f, v in zip(parts, numbers)) if len(numbers) == len(values) else None


def _direction(verdict: Requirement) -> Better | None:
    """On which side of its limit a requirement holds; None where it is met to the dot, or has no figure."""
    required, achieved = verdict["required"], verdict["achieved"]
    if achieved is None or achieved == required:
        return None
    return "higher" if (achieved > required) == verdict["holds"] else "lower"


def comparison_page(evidence: Mapping[str, Comparable], *, private: bool = False) -> str:
    """One self-contained page with a column for each release.

    Parameters
    ----------
    private
        Whether the figures are those of private evidence, so that the page is private, too.
    """
    return render("comparison.html", **comparison_parts(evidence, private=private))


def comparison_parts(evidence: Mapping[str, Comparable], *, private: bool) -> Filled:
    """What the parts of the page are filled with."""
    rows = comparison(evidence)
    groups = [{"title": GROUPS[group], "rows": [row for row in rows if row["group"] == group]} for group in GROUPS]
    return {
        "names": list(evidence),
        "private": private,
        "groups": [group for group in groups if group["rows"]],
        "map": comparison_map(list(evidence.values())),
    }


def comparison_map(contents: Sequence[Comparable]) -> Map | None:
    """The releases by their numbers between risk and loss; None where no two measures have a figure in all."""
    risk, loss = _common(contents, "risk"), _common(contents, "utility")
    if not risk or not loss:
        return None
    pairs = enumerate(zip(risk, loss), 1)
    marks = [mark for number, (x, y) in pairs for mark in marks_of(str(number), "release", x["value"], y["value"])]
    marks += marks_of(UNPROTECTED, "unprotected", risk[0]["original"], loss[0]["unchanged"])
    return map_of(marks, axis_of(risk[0]), axis_of(loss[0]), release="a release, by its number")


def _common(contents: Sequence[Comparable], kind: Kind) -> list[Figure]:
    """The same measure of each release, with figures as they are; of several that which readers know best."""
    measures = [
        {f["title"]: f for f in content["measures"] if f["kind"] == kind and isinstance(f["value"], (int, float))}
        for content in contents
    ]
    titles = [title for title in measures[0] if all(title in of for of in measures)] if measures else []
    best = max(titles, key=lambda title: measures[0][title]["prominence"], default="")
    return [of[best] for of in measures if best]
