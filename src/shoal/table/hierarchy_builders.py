"""Builders of the paths of a hierarchy from the values of a column.

Every builder takes values, each once and written as categories are, and returns the path of each from the value itself
to the root. If labels follow from the value alone (intervals, rounding, codes, days, priorities), a label of a higher
level may be given in place of a value: its path repeats it up to its own level. So the tree of a released column can be
made from the labels in it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, Literal, get_args

import numpy as np

from shoal.vocabulary.errors import SchemaError, unknown

ROOT = "*"
"""The label that stands for every value."""

ROUNDING = 1e-12
"""Relative error of a quotient up to which it counts as a whole number."""

Path = tuple[str, ...]
Unit = Literal["month", "quarter", "year", "decade"]
Side = Literal["left", "right"]

SPANS: Mapping[str, re.Pattern[str]] = {
    "day": re.compile(r"(\d{4})-(\d\d)-\d\d"),
    "month": re.compile(r"(\d{4})-(\d\d)"),
    "quarter": re.compile(r"(\d{4})-Q([1-4])"),
    "year": re.compile(r"(\d{4})"),
    "decade": re.compile(r"(\d{3}0)s"),
}
"""Patterns of the labels of time spans, from the shortest."""


def value_label(value: Any) -> str:
    """A cell in the form of a category."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return number_label(float(value)) if number else str(value)


def number_label(value: float) -> str:
    """A number in the form of a category: integers without a decimal point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def value_labels(values: Iterable[Any]) -> list[str]:
    """Distinct values in the form of categories, in order of appearance; empty cells are left out."""
    return list(dict.fromkeys(value_label(value) for value in values if value is not None and value == value))


def intervals(values: Iterable[float], widths: Sequence[float], origin: float) -> list[Path]:
    """Paths under intervals `[low, high)` of growing width."""
    check_multiples(widths, "Interval widths")
    distinct = dict.fromkeys(map(float, values))
    return [(number_label(x), *(_interval(x, width, origin) for width in widths), ROOT) for x in distinct]


def rounding(values: Iterable[float], bases: Sequence[float]) -> list[Path]:
    """Paths under multiples of each base in turn, each level rounded from the one below; halves up."""
    check_multiples(bases, "Bases of rounding")
    paths = []
    for value in dict.fromkeys(map(float, values)):
        rounded, path = value, [number_label(value)]
        for base in bases:
            rounded = float(np.floor(rounded / base + 0.5)) * base
            path.append(_edge(rounded))
        paths.append((*path, ROOT))
    return paths


def masking(codes: Iterable[str], side: Side, padding: str = "") -> list[Path]:
    """Paths with one more character masked at each level.

    Shorter codes are padded with blanks where masking begins, which labels do not show; with `padding`, a character, on
    the other side, as numbers are with zeros: 005, 00*, 0**, *.
    """
    if side not in get_args(Side):
        raise SchemaError("A code is masked from the left or from the right; say masking: left or masking: right.")
    if not isinstance(padding, str) or len(padding) > 1 or padding in (ROOT, " "):
        raise SchemaError(f"Codes are padded with one character, neither a blank nor {ROOT}, as in padding: '0'.")
    codes = list(codes)
    width = max(map(len, codes), default=0)

    def masked(code: str, level: int) -> str:
        if side == "right":
            return (code.rjust(width, padding) if padding else code.ljust(width))[
                : width - level
            ].rstrip() + "*" * level
        return "*" * level + (code.ljust(width, padding) if padding else code.rjust(width))[level:].lstrip()

    return [(code, *(masked(code, level) for level in range(1, width)), ROOT) for code in codes]


def prefix(codes: Iterable[str], lengths: Sequence[int]) -> list[Path]:
    """Paths under the first characters, the others masked: 08021, 080**, 0****."""
    if not _falling(lengths) or lengths[-1] < 1:
        raise SchemaError("Lengths of prefixes must be a list of whole numbers above 0 that falls, as in [3, 2, 1].")
    return [(code, *(code[:n] + "*" * (len(code) - n) for n in lengths), ROOT) for code in codes]


def dates(days: Iterable[str], units: Sequence[Unit]) -> list[Path]:
    """Paths under time spans; `units` from the shortest to the longest."""
    order = list(get_args(Unit))
    if not isinstance(units, (list, tuple)) or not units:
        raise SchemaError(f"Units of dates must be a list of some of {', '.join(order)}.")
    for unit in units:
        if unit not in order:
            raise SchemaError(unknown("unit of dates", unit, order))
    if not _falling([order.index(unit) for unit in units], sign=-1):
        raise SchemaError(f"Units of dates must rise: some of {', '.join(order)}, in this order.")
    return [(day, *_spans(day, units), ROOT) for day in days]


def order(values: Sequence[str], sizes: Sequence[int]) -> list[Path]:
    """Paths under groups of neighbours in the given order."""
    check_multiples(sizes, "Sizes of groups", whole=True)

    def group(place: int, size: int) -> str:
        first = place // size * size
        last = min(first + size, len(values)) - 1
        return values[first] if first == last else f"{values[first]} to {values[last]}"

    return [(value, *(group(i, size) for size in sizes), ROOT) for i, value in enumerate(values)]


def frequency(counts: Mapping[str, int], least: Sequence[int], other: str) -> list[Path]:
    """Paths under `other` from the first level on that requires more records than a value has."""
    if not _falling(least, sign=-1):
        raise SchemaError(
            "The records that a value needs to keep its name must be a list of rising whole numbers, as in [5, 20]."
        )
    _check_other(other, counts)
    return [(name, *(name if count >= needed else other for needed in least), ROOT) for name, count in counts.items()]


def priority(values: Iterable[str], tiers: Sequence[Any], other: str) -> list[Path]:
    """Paths under `other`: values in no tier at level 1, the last tier at level 2, and so on to the second tier."""
    if not isinstance(tiers, (list, tuple)) or not tiers:
        raise SchemaError("Priorities must be a list of values, or of lists of equal ones, the most important first.")
    named = [value_labels(tier if isinstance(tier, (list, tuple)) else [tier]) for tier in tiers]
    tier_of = {value: number for number, tier in enumerate(named) for value in tier}
    if len(tier_of) < sum(map(len, named)):
        raise SchemaError("Priorities must name every value once; some are named again.")
    _check_other(other, tier_of)
    kept = range(len(named), 0, -1)  # tiers that keep their names at level 1, 2, ...
    return [(v, *(v if tier_of.get(v, len(named)) < n else other for n in kept), ROOT) for v in values]


def counted(values: Iterable[Any]) -> Mapping[str, int]:
    """Number of records with each value; a mapping is taken as it is."""
    if isinstance(values, Mapping):
        return values
    return Counter(value_label(value) for value in values if value is not None and value == value)


def check_multiples(steps: Sequence[float], what: str, *, whole: bool = False) -> None:
    """Refuse anything but a list of positive numbers, each a multiple of the one before."""
    kinds = int if whole else (int, float)
    if not _list_of(steps, kinds) or not all(0 < step < float("inf") for step in steps):
        raise SchemaError(f"{what} must be a list of {'whole ' * whole}numbers above 0.")
    for small, large in zip(steps, steps[1:]):
        if _whole(large / small) is None:
            raise SchemaError(f"{what} must be multiples of each other; got {small} and {large}.")


def _list_of(numbers: Any, kinds: Any) -> bool:
    """True for a non-empty list of numbers."""
    if not isinstance(numbers, (list, tuple)) or not numbers:
        return False
    return all(isinstance(n, kinds) and not isinstance(n, bool) for n in numbers)


def _falling(numbers: Any, sign: int = 1) -> bool:
    """True for a list of integers that fall, or, with `sign` -1, rise."""
    return _list_of(numbers, int) and all(
        sign * number > sign * following for number, following in zip(numbers, numbers[1:])
    )


def _check_other(other: str, values: Iterable[str]) -> None:
    if other in values:
        raise SchemaError("The name of rare values is itself a value of the column; give another one.")


def span_of(label: str) -> tuple[str, int, int] | None:
    """Kind, year and last month of a time span as `dates` writes it; None for any other label."""
    for span, pattern in SPANS.items():
        if match := pattern.fullmatch(label):
            year, part = int(match[1]), int((*match.groups(), 1)[1])
            with suppress(ValueError):
                if span == "day":
                    date.fromisoformat(label)
                return span, year, 3 * part if span == "quarter" else part
    return None


def _spans(label: str, units: Sequence[Unit]) -> list[str]:
    """The time spans that contain a day or a shorter span."""
    read = span_of(label)
    if read is None:
        raise SchemaError("A hierarchy of dates is for days written YYYY-MM-DD, and some values are not.")
    span, year, month = read
    written = {
        "month": f"{year:04}-{month:02}",
        "quarter": f"{year:04}-Q{(month + 2) // 3}",
        "year": f"{year:04}",
        "decade": f"{year // 10 * 10:04}s",
    }
    place = list(SPANS).index(span)
    return [label if list(SPANS).index(unit) <= place else written[unit] for unit in units]


def _interval(value: float, width: float, origin: float) -> str:
    steps = (value - origin) / width
    number = _whole(steps)
    low = int(np.floor(steps)) if number is None else number
    return f"[{_edge(origin + low * width)}, {_edge(origin + (low + 1) * width)})"


def _whole(ratio: float) -> int | None:
    """The integer that a quotient of decimals stands for (3 for 0.3 / 0.1); None if it is none."""
    return round(ratio) if abs(ratio - round(ratio)) <= ROUNDING * abs(ratio) else None


def _edge(value: float) -> str:
    """An interval's end without the digits that float arithmetic adds (0.3 for 3 x 0.1)."""
    return number_label(value if float(value).is_integer() else float(f"{value:.15g}"))
