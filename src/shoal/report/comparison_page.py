"""Several releases side by side: rows of figures in groups, and the page that shows them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from shoal.report.decision import MAIN_LOSSES, MAIN_RISKS, UNCHANGED
from shoal.report.forms import number_of
from shoal.report.frontier_marks import UNPROTECTED, axis_of
from shoal.report.page import map_of, render
from shoal.report.risk_map import Mark

GROUPS = {
    "requirement": "What was required",
    "reached": "Levels reached, required or not",
    "risk": "Disclosure risk",
    "utility": "Information loss",
    "release": "The release itself",
}
"""Headings of the groups of rows, in order."""

LACKING = {"requirement": "not required", "reached": "not known", "release": "not known"}
"""What a gap means, by group; a gap is no evidence of safety."""


def comparison(evidence: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a requirement, level, measure or count, one cell a release.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release; what earlier versions of it lack is a gap.

    Returns
    -------
    Rows with `group` (a key of `GROUPS`, in whose order they stand), `title`, `better` (None where neither is),
    `unit`, `limits`, `cells` (a figure or a bound on it, or None where a release lacks it), `lacking` (what such a gap
    means, in words) and `best` (positions of the best cells).
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for position, content in enumerate(evidence.values()):
        for group, figure, value in _numbered(_figures(content)):
            row = rows.setdefault((group, figure["title"]), _row(group, figure, len(evidence)))
            row["cells"][position] = value
            row["better"] = row["better"] or figure["better"]
    for row in rows.values():
        numbers = [number_of(cell) for cell in row["cells"]]
        known = [number for number in numbers if number is not None]
        if row["better"] is not None and known:
            best = min(known) if row["better"] == "lower" else max(known)
            row["best"] = [i for i, number in enumerate(numbers) if number == best]
    return sorted(rows.values(), key=lambda row: list(GROUPS).index(row["group"]))


def _row(group: str, figure: Mapping[str, Any], n: int) -> dict[str, Any]:
    return {
        "group": group,
        "title": figure["title"],
        "better": None,
        "unit": figure.get("unit", ""),
        "limits": figure.get("limits", (None, None)),
        "cells": [None] * n,
        "lacking": LACKING.get(group, "no figure"),
        "best": [],
    }


def _numbered(figures: Iterable[tuple[str, Mapping[str, Any], Any]]) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """The same, with a number after a title that came before: two measures may differ in what no title says."""
    seen: Counter[tuple[str, str]] = Counter()
    for group, figure, value in figures:
        seen[group, figure["title"]] += 1
        number = seen[group, figure["title"]]
        yield group, figure if number == 1 else {**figure, "title": f"{figure['title']} ({number})"}, value


def _figures(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Any]]:
    """The group, the description and the value of everything that is compared."""
    for verdict in content["requirements"]:
        described = {"title": verdict["requirement"], "better": _direction(verdict)}
        yield "requirement", described, verdict["achieved"]
    for level in content.get("reached", ()):
        yield "reached", level, level["value"]
    for figure in content["measures"]:
        yield figure["kind"], figure, figure["value"]
    if "records" in content:
        yield "release", {"title": "Records", "better": None}, content["records"]
    if shares := list(_changed(content)):
        described = {"title": "Cells changed", "better": "lower", "limits": (0.0, 1.0)}
        yield "release", described, sum(shares) / len(shares)


def _direction(verdict: Mapping[str, Any]) -> str | None:
    """On which side of its limit a requirement holds; None where it is met to the dot, or has no figure."""
    required, achieved = verdict.get("required"), verdict["achieved"]
    if required is None or achieved is None or achieved == required:
        return None
    return "higher" if (achieved > required) == verdict["holds"] else "lower"


def _changed(content: Mapping[str, Any]) -> Iterator[float]:
    for column in content.get("columns", ()):
        if column.get("original") is not None:
            yield column["original"]["changed"]


def comparison_page(evidence: Mapping[str, Mapping[str, Any]], *, private: bool = False) -> str:
    """One self-contained page with a column for each release.

    Parameters
    ----------
    private
        Whether the figures are those of private evidence, so that the page is private, too.
    """
    return render("comparison.html", **comparison_parts(evidence, private=private))


def comparison_parts(evidence: Mapping[str, Mapping[str, Any]], *, private: bool) -> dict[str, Any]:
    """What the parts of the page are filled with."""
    rows = comparison(evidence)
    groups = [{"title": GROUPS[group], "rows": [row for row in rows if row["group"] == group]} for group in GROUPS]
    return {
        "names": list(evidence),
        "private": private,
        "groups": [group for group in groups if group["rows"]],
        "map": comparison_map(list(evidence.values())),
    }


def comparison_map(contents: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The releases by their numbers between risk and loss; None where no two measures have a figure in all."""
    risk = _common(contents, "risk", MAIN_RISKS)
    loss = _common(contents, "utility", tuple(MAIN_LOSSES))
    if risk is None or loss is None:
        return None
    marks = [
        Mark(label=str(number), kind="release", risk=x["value"], loss=y["value"])
        for number, (x, y) in enumerate(zip(risk, loss), 1)
    ]
    unprotected = risk[0].get("original")
    if unprotected is not None and loss[0]["measure"] in UNCHANGED:
        nothing = UNCHANGED[loss[0]["measure"]]
        marks.append(Mark(label=UNPROTECTED, kind="unprotected", risk=unprotected, loss=nothing))
    return map_of(marks, axis_of(risk[0]), axis_of(loss[0]), release="a release, by its number")


def _common(contents: Sequence[Mapping[str, Any]], kind: str, first: Sequence[str]) -> list[Mapping[str, Any]] | None:
    """The same measure of each release, with figures as they are; those that readers know best come first."""
    known = [
        {f["title"]: f for f in content["measures"] if f["kind"] == kind and isinstance(f["value"], (int, float))}
        for content in contents
    ]
    titles = [title for title in known[0] if all(title in of for of in known)] if known else []
    places = {name: place for place, name in enumerate(first)}
    titles.sort(key=lambda title: places.get(known[0][title]["measure"], len(first)))
    return [of[titles[0]] for of in known] if titles else None
