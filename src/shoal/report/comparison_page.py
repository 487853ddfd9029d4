"""Several releases side by side."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from shoal.errors import FileError
from shoal.report.evidence_file import Bound
from shoal.report.forms import number_of
from shoal.report.page import render

FINITE = ConfigDict(allow_inf_nan=False)


@with_config(FINITE)
class ComparedRequirement(TypedDict):
    """What of a requirement is compared."""

    requirement: str
    achieved: float | None


@with_config(FINITE)
class ComparedFigure(TypedDict):
    """What of a measure is compared."""

    title: str
    better: Literal["lower", "higher"]
    value: float | Bound | None


@with_config(FINITE)
class Compared(TypedDict):
    """What of an evidence.json is compared: the same in both versions of it."""

    version: Literal[1, 2]
    requirements: list[ComparedRequirement]
    measures: list[ComparedFigure]


def check_comparable(name: str, content: Any) -> Mapping[str, Any]:
    """The content of an evidence.json, if it is one.

    Raises
    ------
    FileError
        If it is none, or one of a version that is not known.
    """
    try:
        TypeAdapter(Compared).validate_python(content)
    except ValidationError:
        raise FileError(
            f"'{name}' cannot be compared: its evidence.json is damaged, or of a later version of shoal. "
            f"Make the release again."
        ) from None
    return content  # type: ignore[no-any-return]


def comparison(evidence: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a requirement or measure, requirements first, one cell a release.

    Parameters
    ----------
    evidence
        Content of evidence.json by the name of the release.

    Returns
    -------
    Rows with `title`, `better` (None for requirements), `cells` (a figure or a bound on it, or None where a release
    lacks it), `lacking` (what such a gap means, in words: a gap is no evidence of safety) and `best` (positions of
    the best cells).
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
        numbers = [number_of(cell) for cell in row["cells"]]
        known = [number for number in numbers if number is not None]
        if row["better"] is not None and known:
            best = min(known) if row["better"] == "lower" else max(known)
            row["best"] = [i for i, number in enumerate(numbers) if number == best]
    return sorted(rows.values(), key=lambda row: row["better"] is not None)


def _row(
    rows: dict[tuple[str, str], dict[str, Any]], key: tuple[str, str], title: str, better: str | None, n: int
) -> dict[str, Any]:
    lacking = "not required" if key[0] == "requirement" else "no figure"
    return rows.setdefault(key, {"title": title, "better": better, "cells": [None] * n, "lacking": lacking, "best": []})


def comparison_page(evidence: Mapping[str, Mapping[str, Any]], *, private: bool = False) -> str:
    """One self-contained page with a column for each release.

    Parameters
    ----------
    private
        Whether the figures are those of private evidence, so that the page is private, too.
    """
    names: Sequence[str] = list(evidence)
    return render("comparison.html", names=names, rows=comparison(evidence), private=private)
