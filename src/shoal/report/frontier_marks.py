"""The candidates of an exploration: their numbers, their standing, and their marks on the map."""

from collections.abc import Mapping
from typing import Any

from shoal.report.forms import is_share
from shoal.report.risk_map import Axis, Kind, Mark

UNPROTECTED = "unprotected"


def along_frontier(frontier: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The candidates on the frontier in the order of their numbers: as risk rises."""
    return sorted((p for p in frontier["points"] if p["name"] in frontier["pareto"]), key=lambda p: p["risk"])


def numbered(frontier: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Every candidate by its number, those of the frontier first, with its kind of mark and its standing in words."""
    on = along_frontier(frontier)
    others = [point for point in frontier["points"] if point["name"] not in frontier["pareto"]]
    return {
        number: {**point, "kind": _kind(point, frontier), "standing": _standing(point, frontier)}
        for number, point in enumerate([*on, *others], 1)
    }


def _kind(point: Mapping[str, Any], frontier: Mapping[str, Any]) -> Kind:
    if point["name"] == frontier["recommended"]:
        return "release"
    if point["name"] in frontier["pareto"]:
        return "frontier"
    return "beaten" if point["holds"] else "refused"


def _standing(point: Mapping[str, Any], frontier: Mapping[str, Any]) -> str:
    if point["name"] == frontier["recommended"]:
        return "recommended"
    if point["name"] in frontier["pareto"]:
        return "on the frontier"
    return str(point.get("reason") or ("beaten" if point["holds"] else "a requirement does not hold"))


def marks(frontier: Mapping[str, Any]) -> list[Mark]:
    """The marks of every candidate that has both figures, and of the unprotected table."""
    shown = [
        Mark(label=str(number), kind=point["kind"], risk=point["risk"], loss=point["utility"])
        for number, point in numbered(frontier).items()
        if point["risk"] is not None and point["utility"] is not None
    ]
    bare = frontier["unprotected"]
    if bare is None or bare["risk"] is None or bare["utility"] is None or not shown:
        return shown
    return [*shown, Mark(label=UNPROTECTED, kind="unprotected", risk=bare["risk"], loss=bare["utility"])]


def axes(frontier: Mapping[str, Any]) -> tuple[Axis, Axis]:
    """What the two axes measure."""
    risk, utility = (axis_of(frontier["axes"][kind]) for kind in ("risk", "utility"))
    return risk, utility


def axis_of(measure: Mapping[str, Any]) -> Axis:
    """The axis of a measure, as evidence.json has it."""
    return Axis(title=measure["title"], better=measure["better"], as_share=is_share(measure))
