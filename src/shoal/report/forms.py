"""Figures in the words of a page."""

from collections.abc import Iterator, Mapping
from math import ceil, isinf, sqrt
from typing import Any, NotRequired

from pydantic import ConfigDict
from typing_extensions import TypedDict

from shoal.vocabulary.errors import in_digits
from shoal.vocabulary.facts import RANGE, Band

CLOSED = ConfigDict(extra="forbid")
"""Configuration of layouts that allow no further keys."""

Bound = TypedDict("Bound", {"at most": NotRequired[float], "at least": NotRequired[float], "unit": NotRequired[str]})
"""A band: all that is shown of a figure that depends on the original."""

READINGS = {
    "equal": "a missing cell matching only a missing cell",
    "wildcard": "a missing cell matching every value",
    "nothing": "a missing cell matching nothing",
}
"""Readings of missing cells, in words."""

Limits = tuple[float | None, float | None]
"""Smallest and largest value of a figure; None for no limit."""

WHOLE = (0.0, 1.0)
"""Limits of a share or a probability."""


class UnitAndLimits(TypedDict):
    """The parts of a measure that are needed to write its figures."""

    unit: str
    limits: Limits


ROUNDING = 1e-12
"""Figures below this are rounding errors of 0."""


def in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Facts as texts for a reader; nested facts are flattened."""
    return {label: figure(value) for label, value in _plain(facts) if value is not None}


def _plain(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping) and not is_bound(value):
            yield from _plain(value, f"{before}{key}: ")
        else:
            yield f"{before}{key}", value


def is_bound(value: Any) -> bool:
    """True if a value is a band, as in evidence.json."""
    return isinstance(value, Mapping) and bool({"at most", "at least"} & value.keys())


def number_of(value: float | Bound | None) -> float | None:
    """A figure or its bound as a number; None if there is none."""
    return value.get("at most", value.get("at least")) if isinstance(value, dict) else value


def figure(value: Any) -> str:
    """A figure for a reader: four digits, thousands set apart."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "not computed"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        if isinf(value):
            return "any value"
        if abs(value) < ROUNDING:
            return "0"
        whole = abs(value) >= 10_000 or (abs(value) >= 1_000 and value.is_integer())
        return f"{value:,.0f}" if whole else in_digits(value)
    if isinstance(value, Mapping) and is_bound(value):
        key = "at most" if "at most" in value else "at least"
        return f"{key} {figure(value[key])} {value.get('unit', '')}".rstrip()
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {figure(below)}" for key, below in value.items())
    if isinstance(value, (list, tuple)):
        apart = "; " if any(isinstance(below, (list, tuple)) for below in value) else ", "
        return apart.join(figure(below) for below in value)
    return str(value)


def share(value: float) -> str:
    """A share in per cent: at most three digits, and 0 or 100 % only if it is exactly that."""
    if value in (0, 1):
        return f"{100 * value:.0f} %"
    percent = 100 * value
    if 0 < percent < 0.01:
        return "under 0.01 %"
    if 99.95 <= percent < 100:
        return "over 99.9 %"
    return f"{percent:.2f} %" if abs(percent) < 1 else f"{percent:.3g} %"


def in_unit(value: float | Bound | None, of: UnitAndLimits, *, named: bool = True) -> str:
    """A figure of a measure, or its bound, for a reader: shares in per cent, others with their unit.

    Parameters
    ----------
    named
        False to leave the unit out.
    """
    number = number_of(value)
    if number is None:
        return figure(value)
    unit = (value.get("unit") if isinstance(value, dict) else "") or of["unit"] if named else ""
    text = share(number) if tuple(of["limits"]) == WHOLE and not unit else f"{figure(number)} {unit}".rstrip()
    if not isinstance(value, dict):
        return text
    return f"at {'most' if 'at most' in value else 'least'} {text}"


def of_range(bound: Band) -> str:
    """A bound on changes, counted in the range of a released column, in words; for squares on their root."""
    largest = bound.at_most or 0.0
    if bound.unit == RANGE:
        return f"at most {share(largest)} {RANGE}"
    root = ceil(1000 * sqrt(largest)) / 1000
    return f"at most {share(root)} {RANGE}, as the root of the mean square of all changes"


def is_share(of: UnitAndLimits) -> bool:
    """True if a measure's figure is a share or a probability."""
    return tuple(of["limits"]) == WHOLE and not of["unit"]
