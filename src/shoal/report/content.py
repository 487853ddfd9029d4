"""What a report says of the tables and the steps, before it is drawn on a page or written as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.data.records import Variable
from shoal.report.charts import distribution
from shoal.report.dossier import Dossier

DEFAULT_THRESHOLD = 5
"""Counts below this are not shown where the plan requires no k of its own."""
SAID_ELSEWHERE = ("step", "loss", "lower_bound")
"""Facts of a step that its heading and its sentence on the loss hold already."""
FIGURES = (
    "largest relative error inside a group",
    "largest relative error overall",
    "values as drawn",
    "values as released",
)
"""Facts of a synthesis that hold several figures each, none of them a cell's: what exactness and support it kept."""
COUNTED = ("record", "cell", "household", "unit", "risk", "swapped", "dropped", "suppressed")
"""Words by which a fact of a step is known to count records or their cells."""
ROUNDING = 1e-12
"""Figures below this are what rounding leaves of nothing."""


def threshold_of(dossier: Dossier) -> int:
    """Counts below this are not for the public: the k that is required, and five at least."""
    asked = [int(model.k) for model in dossier.plan.requirements if hasattr(model, "k")]
    return max([*asked, DEFAULT_THRESHOLD])


def columns_of(dossier: Dossier, threshold: int, *, public: bool) -> list[dict[str, Any]]:
    """The released columns that the original has, each with its shares of records in bins in both tables."""
    shown = []
    for variable in dossier.released.variables:
        if variable.name not in dossier.original or variable.role in ("identifier", "household"):
            continue
        before = dossier.original[variable.name]
        column = dossier.plan.schema.columns[variable.name]
        shown.append(
            {
                "name": variable.name,
                "label": column.label or "",
                "role": variable.role,
                "level": before.level,
                "distribution": distribution(before, variable, max(threshold, 2), public=public),
            }
        )
    return shown


def removed(dossier: Dossier) -> list[str]:
    """Columns of the original that were not released."""
    return [v.name for v in dossier.original.variables if v.name not in dossier.released]


def unchanged(dossier: Dossier) -> list[str]:
    """Columns whose cells are those of the original; whoever knows them can find the record by them."""
    order = np.argsort(dossier.original.rows)
    at = order[np.searchsorted(dossier.original.rows, dossier.released.rows, sorter=order)]
    same = []
    for variable in dossier.released.variables:
        if variable.name not in dossier.original or variable.role == "household":
            continue
        before = dossier.original[variable.name].take(at)
        if before.continuous != variable.continuous:
            continue
        if np.array_equal(_cells(before), _cells(variable), equal_nan=variable.continuous):
            same.append(variable.name)
    return same


def _cells(variable: Variable) -> NDArray[Any]:
    return variable.values if variable.continuous else np.array([*map(str, variable.categories), ""])[variable.values]


def in_words(facts: Mapping[str, Any], threshold: int, n: int) -> tuple[str, list[tuple[str, str]]]:
    """A step's name and its plain facts; counts of a few records, and their shares of n, are not for the public."""
    simple = []
    for key, value in _plain(facts):
        counts = isinstance(value, int) and not isinstance(value, bool) and any(word in key for word in COUNTED)
        shares = isinstance(value, float) and key.startswith("share") and 0 < value * n < threshold * (1 - 1e-9)
        few = f"fewer than {threshold}" if counts and 0 < value < threshold else ""
        simple.append((key, f"less than {figure(threshold / n)}" if shares else few or figure(value)))
    return str(facts["step"]), simple


def _plain(facts: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Facts that are one value, and the figures of a synthesis, also of one inside another method's facts."""
    for key, value in facts.items():
        if key in FIGURES:
            yield from ((f"{key}: {part}", error) for part, error in value.items())
        elif isinstance(value, Mapping):
            yield from ((label, error) for label, error in _plain(value) if label.startswith(FIGURES))
        elif key not in SAID_ELSEWHERE and value is not None:
            yield key, value


def figure(value: Any) -> str:
    """A figure as a reader wants it: four digits, thousands set apart."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not computed"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if np.isinf(value):
            return "any value"
        if abs(value) < ROUNDING:
            return "0"
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(v) for v in value)
    return str(value)
