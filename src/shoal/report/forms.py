"""What verdicts, findings and facts look like in evidence.json, and in the words of a page."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from shoal.facts import Band, Interval

ROUNDING = 1e-12
"""Figures below this are what rounding leaves of nothing."""


def jsonable(value: Any) -> Any:
    """Bands as mappings, as in `{"at most": 0.2}`; everything else as it is."""
    if isinstance(value, Band):
        bound = {"at most": value.at_most} if value.at_least is None else {"at least": value.at_least}
        return {**bound, "unit": value.unit} if value.unit else bound
    if isinstance(value, Interval):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: jsonable(below) for key, below in value.items()}
    return [jsonable(below) for below in value] if isinstance(value, (list, tuple)) else value


def without_bands(value: Any) -> Any:
    """The same without whatever depends on the original, were it only in a band: None in its place."""
    if isinstance(value, Band):
        return None
    if isinstance(value, Interval):
        return asdict(value)
    if isinstance(value, Mapping):
        return {key: without_bands(below) for key, below in value.items()}
    return [without_bands(below) for below in value] if isinstance(value, (list, tuple)) else value


def in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    """Facts as a reader wants them; what is nested is set side by side."""
    return {label: figure(value) for label, value in _plain(facts) if value is not None}


def _plain(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in facts.items():
        if isinstance(value, Mapping) and not is_bound(value):
            yield from _plain(value, f"{before}{key}: ")
        else:
            yield f"{before}{key}", value


def is_bound(value: Any) -> bool:
    """Whether a value is a band, as evidence.json has it."""
    return isinstance(value, Band) or (isinstance(value, Mapping) and bool({"at most", "at least"} & value.keys()))


def number_of(value: Any) -> float | None:
    """A figure or the bound on it; None where there is none."""
    if isinstance(value, Mapping):
        return next((value[key] for key in ("at most", "at least") if key in value), None)
    return value  # type: ignore[no-any-return]


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
    if isinstance(value, Mapping) and is_bound(value):
        key = "at most" if "at most" in value else "at least"
        return f"{key} {figure(value[key])} {value.get('unit', '')}".rstrip()
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {figure(below)}" for key, below in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(figure(below) for below in value)
    return str(value)
