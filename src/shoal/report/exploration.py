"""The layout of frontier.json, and of the part of it that evidence.json shows."""

from typing import Literal

from typing_extensions import TypedDict

from shoal.report.forms import Limits
from shoal.vocabulary.facts import Better

KINDS: tuple[Literal["risk"], Literal["utility"]] = ("risk", "utility")
"""The two axes."""


class TriedPlan(TypedDict):
    """A plan that was tried; null for a figure that could not be computed."""

    name: str
    risk: float | None
    utility: float | None
    holds: bool


class ExploredAxis(TypedDict):
    """A measure by which candidates are compared, with its parameters in its title."""

    measure: str
    title: str
    better: Better
    unit: str
    limits: Limits


class ExploredAxes(TypedDict):
    """The two measures by which candidates are compared."""

    risk: ExploredAxis
    utility: ExploredAxis


class Landmark(TypedDict):
    """The figures of the unprotected table; null for one that could not be computed."""

    risk: float | None
    utility: float | None


class Explored(TypedDict):
    """The axes, the unprotected table, and the candidates that stand out."""

    axes: ExploredAxes
    unprotected: Landmark | None
    pareto: list[str]
    recommended: str | None
    because: str


class Exploration(Explored):
    """The grounds for choosing a plan: risk and loss of all candidates."""

    points: list[TriedPlan]


class Tried(TriedPlan):
    """A candidate in frontier.json: all its figures, and why one is missing or a requirement fails."""

    method: str
    reason: str
    figures: dict[str, float | None]


class FrontierFile(Explored):
    """The content of frontier.json."""

    version: int
    risk: str
    utility: str
    better: list[Better]
    points: list[Tried]
