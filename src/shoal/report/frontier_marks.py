"""The candidates of an exploration: their numbers, their standing, and their marks on the map."""

from shoal.report.exploration import Exploration, Explored, FrontierFile, Tried, TriedPlan
from shoal.report.forms import UnitAndLimits, is_share
from shoal.report.risk_map import Axis, Mark, MarkKind, marks_of
from shoal.vocabulary.facts import Better

UNPROTECTED = "unprotected"


class RankedCandidate(Tried):
    """A candidate with its standing in words."""

    standing: str


class Titled(UnitAndLimits):
    """A measure with what the axis of a map needs."""

    title: str
    better: Better


def along_frontier(frontier: Exploration | FrontierFile) -> list[TriedPlan]:
    """The candidates on the frontier in the order of their numbers: as risk rises."""
    return sorted((p for p in frontier["points"] if p["name"] in frontier["pareto"]), key=lambda p: p["risk"] or 0.0)


def in_order(frontier: Exploration | FrontierFile) -> list[TriedPlan]:
    """All candidates in the order of their numbers; those on the frontier come first."""
    return along_frontier(frontier) + [p for p in frontier["points"] if p["name"] not in frontier["pareto"]]


def numbered(frontier: FrontierFile) -> dict[int, RankedCandidate]:
    """Every candidate by its number, with its standing in words."""
    tried = {point["name"]: point for point in frontier["points"]}
    named = [tried[point["name"]] for point in in_order(frontier)]
    return {number: {**point, "standing": _standing(point, frontier)} for number, point in enumerate(named, 1)}


def _kind(point: TriedPlan, frontier: Explored) -> MarkKind:
    if point["name"] == frontier["recommended"]:
        return "release"
    if point["name"] in frontier["pareto"]:
        return "frontier"
    return "beaten" if point["holds"] else "refused"


def _standing(point: Tried, frontier: Explored) -> str:
    if point["name"] == frontier["recommended"]:
        return "recommended"
    if point["name"] in frontier["pareto"]:
        return "on the frontier"
    return point["reason"] or ("beaten" if point["holds"] else "a requirement does not hold")


def marks(frontier: Exploration | FrontierFile) -> list[Mark]:
    """The marks of every candidate that has both figures, and of the unprotected table."""
    shown = [
        mark
        for number, point in enumerate(in_order(frontier), 1)
        for mark in marks_of(str(number), _kind(point, frontier), point["risk"], point["utility"])
    ]
    bare = frontier["unprotected"]
    if bare is None or not shown:
        return shown
    return shown + marks_of(UNPROTECTED, "unprotected", bare["risk"], bare["utility"])


def axes(frontier: Explored) -> tuple[Axis, Axis]:
    """The two axes of the map."""
    return axis_of(frontier["axes"]["risk"]), axis_of(frontier["axes"]["utility"])


def axis_of(measure: Titled) -> Axis:
    """The axis of a measure."""
    return Axis(title=measure["title"], better=measure["better"], as_share=is_share(measure))
