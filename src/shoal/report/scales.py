"""Scales of charts: from figures to pixels, with round ticks and their labels; as in D3 and Vega.

Ticks are multiples of 1, 2 or 5 times a power of ten, as many as come nearest to what is asked for; those of times are
on whole seconds, hours, days, months or years, in UTC.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, copysign, floor, sqrt
from typing import Any

Chart = dict[str, Any]
"""A specification in Vega-Lite, or a part of one."""

SURE = 9
"""Decimals of a count of steps that rounding leaves alone."""

STEPS = [("millisecond", 1), *((unit, n) for unit in ("second", "minute") for n in (1, 5, 15, 30))]
STEPS += [("hour", 1), ("hour", 3), ("hour", 6), ("hour", 12), ("day", 1), ("day", 2), ("day", 7)]
STEPS += [("month", 1), ("month", 3), ("year", 1)]
"""Steps between ticks of times."""
MILLISECONDS: Mapping[str, int] = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "month": 2_592_000_000,
    "year": 31_536_000_000,
}
MONTHS: tuple[str, ...] = ("January", "February", "March", "April", "May", "June")
MONTHS += ("July", "August", "September", "October", "November", "December")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEARS = (1, 9999)
"""Years with ticks."""


@dataclass(frozen=True, slots=True)
class Scale:
    """A continuous scale.

    Parameters
    ----------
    low, high
        Figures at its ends.
    start, end
        Their places, in pixels.
    root
        True if places are proportional to the square roots of figures.
    times
        True if figures are milliseconds since 1970.
    """

    low: float
    high: float
    start: float
    end: float
    root: bool = False
    times: bool = False

    def place(self, figure: float) -> float:
        """The place of a figure; the middle if all figures are the same."""
        low, high, at = (_root(end) if self.root else end for end in (self.low, self.high, figure))
        part = (at / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5  # the difference may be too large
        return self.start + part * (self.end - self.start)

    def ticks(self, asked: int, format: str | None) -> list[tuple[float, str]]:
        """Figures with ticks, and their labels.

        Parameters
        ----------
        asked
            About how many.
        format
            "%" for per cent with as many decimals as the ticks need, ".3~%" for per cent with three at most.
        """
        if self.high <= self.low:
            return []
        if self.times:
            return [(tick, _time_label(tick)) for tick in _times(self.low, self.high, asked)]
        step, decimals = round_step(self.low, self.high, asked)
        first, last = ceil(round(self.low / step, SURE)), floor(round(self.high / step, SURE))
        ticks = [round(n * step, decimals) for n in range(first, last + 1)]
        return [(tick, _label(tick, decimals, format)) for tick in ticks]


def scale_of(
    figures: Sequence[float], ends: tuple[float, float], described: Chart, kind: str, *, from_zero: bool
) -> Scale:
    """The scale of a channel.

    Parameters
    ----------
    figures
        All that it shows.
    ends
        Places of the least and the greatest, in pixels.
    described
        The `scale` of its encoding.
    kind
        "quantitative" or "temporal".
    from_zero
        True if it has 0 and ends at round figures, where nothing else is said.
    """
    low, high = described.get("domain", (min(figures), max(figures)))
    if from_zero and "domain" not in described:
        low, high = min(low, 0.0), max(high, 0.0)
        if described.get("nice", "domainMin" not in described) and high > low:
            step, decimals = round_step(low, high, 10)
            first, last = floor(round(low / step, SURE)), ceil(round(high / step, SURE))
            low, high = round(first * step, decimals), round(last * step, decimals)
    root = described.get("type") == "sqrt"
    if margin := described.get("padding"):
        low, high = _widened(low, high, margin / abs(ends[1] - ends[0]), root=root)
    start, end = reversed(ends) if described.get("reverse") else ends
    return Scale(low=low, high=high, start=start, end=end, root=root, times=kind == "temporal")


def _widened(low: float, high: float, part: float, *, root: bool) -> tuple[float, float]:
    """Ends with a part of the whole length beyond each."""
    a, b = (_root(low), _root(high)) if root else (low, high)
    beyond = (b - a) * part / (1 - 2 * part)
    a, b = a - beyond, b + beyond
    return (a * abs(a), b * abs(b)) if root else (a, b)


def _root(figure: float) -> float:
    return copysign(sqrt(abs(figure)), figure)


def round_step(low: float, high: float, asked: int) -> tuple[float, int]:
    """1, 2 or 5 times a power of ten, of which about so many lie between two figures; with its decimals."""
    raw = high / asked - low / asked
    power = int(f"{raw:e}".partition("e")[2])
    error = raw / 10.0**power
    factor = 10 if error >= sqrt(50) else 5 if error >= sqrt(10) else 2 if error >= sqrt(2) else 1
    return factor * 10.0**power, max(0, -power - (factor == 10))


def _label(figure: float, decimals: int, format: str | None) -> str:
    if format is None:
        return f"{figure:,.{decimals}f}".replace("-", "\N{MINUS SIGN}")
    text = f"{100 * figure:.3g}" if "~" in format else f"{100 * figure:.{max(0, decimals - 2)}f}"
    return f"{text}%".replace("-", "\N{MINUS SIGN}")


def _times(low: float, high: float, asked: int) -> Iterator[float]:
    """Whole units of time between two, about so many."""
    target = (high - low) / asked
    lengths = [n * MILLISECONDS[unit] for unit, n in STEPS]
    longer = next((place for place, length in enumerate(lengths) if length > target), len(lengths))
    place = max(0, longer - 1)
    if 0 < longer < len(lengths) and lengths[longer] / target < target / lengths[place]:
        place = longer
    unit, n = STEPS[place]
    if unit == "year":
        n = max(1, round(round_step(low / lengths[-1], high / lengths[-1], asked)[0]))
    if unit in ("month", "year"):
        yield from _months(low, high, n * (12 if unit == "year" else 1))
    else:
        yield from _evenly(low, high, n, unit)


def _evenly(low: float, high: float, n: int, unit: str) -> Iterator[float]:
    """Every n-th unit; weeks begin on Sundays, and every second day is an odd one of its month."""
    length = MILLISECONDS[unit]
    days = unit == "day"
    for count in range(ceil(low / length), floor(high / length) + 1):
        day = _moment(count * length)
        if day is None:
            continue
        if (days and n == 7 and day.weekday() != 6) or (days and n == 2 and day.day % 2 == 0):
            continue
        if days or count % n == 0:
            yield count * length


def _months(low: float, high: float, n: int) -> Iterator[float]:
    """Every n-th month since the year 0."""
    first, last = (_moment(end) for end in (low, high))
    begin, end = (first or datetime(YEARS[0], 1, 1)).year, (last or datetime(YEARS[1], 1, 1)).year
    for month in range(-(-12 * begin // n) * n, 12 * (end + 1), n):
        year, number = divmod(month, 12)
        if YEARS[0] <= year <= YEARS[1]:
            tick = (datetime(year, number + 1, 1, tzinfo=UTC) - EPOCH) / timedelta(milliseconds=1)
            if low <= tick <= high:
                yield tick


def _moment(milliseconds: float) -> datetime | None:
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:  # a year that the calendar of Python lacks
        return None


def _time_label(milliseconds: float) -> str:
    """A time by its smallest unit: a year, a month, a day, an hour ..."""
    at = EPOCH + timedelta(milliseconds=milliseconds)
    if at.microsecond:
        return f".{at.microsecond // 1000:03}"
    if at.second:
        return f":{at.second:02}"
    if at.minute:
        return f"{at:%H:%M}"
    if at.hour:
        return f"{at:%H:00}"
    if at.day > 1:
        return f"{at.day} {MONTHS[at.month - 1][:3]}"
    return MONTHS[at.month - 1] if at.month > 1 else str(at.year)
