"""Several releases side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.report.page import render


def comparison(evidence: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a requirement or measure, requirements first, one cell a release.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release.

    Returns
    -------
    Rows with `title`, `better` (None for requirements), `cells` (a figure, or None where a release lacks it),
    `lacking` (what such a gap means, in words: a gap is no evidence of safety) and `best` (positions of the
    best cells).
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for position, content in enumerate(evidence.values()):
        for verdict in content["requirements"]:
            row = _row(rows, ("requirement", verdict["requirement"]), verdict["requirement"], None, len(evidence))
            row["cells"][position] = verdict["achieved"]
        for figure in content["measures"]:
            row = _row(rows, ("measure", figure["title"]), figure["title"], figure["better"], len(evidence))
            row["cells"][position] = figure["value"]
    for row in rows.values():
        known = [cell for cell in row["cells"] if cell is not None]
        if row["better"] is not None and known:
            best = min(known) if row["better"] == "lower" else max(known)
            row["best"] = [i for i, cell in enumerate(row["cells"]) if cell == best]
    return sorted(rows.values(), key=lambda row: row["better"] is not None)


def _row(
    rows: dict[tuple[str, str], dict[str, Any]], key: tuple[str, str], title: str, better: str | None, n: int
) -> dict[str, Any]:
    lacking = "not required" if key[0] == "requirement" else "not measured"
    return rows.setdefault(key, {"title": title, "better": better, "cells": [None] * n, "lacking": lacking, "best": []})


def comparison_page(evidence: Mapping[str, Mapping[str, Any]]) -> str:
    """One self-contained page with a column for each release."""
    names: Sequence[str] = list(evidence)
    return render("comparison.html", names=names, rows=comparison(evidence))
