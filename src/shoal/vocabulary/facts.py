"""Facts that methods and judges report, as values whose types say how they may be shown.

A fact has two forms. Its private form is the figure itself, for record.json and the private report. Its public
form is for publication, and there it matters how the figure depends on the original table, for a
figure about the original is a release of its own: a count of dropped records less than the records left names
them, a mean before and after gives a top-coded value away. So every fact carries its `influence`: the largest
change of its value if any one record of the original (one person, one household) were removed or replaced by any
other.

- 0: the fact is a function of the released table, or of the plan as published. It is shown as it is.
- a positive number: it is shown as a band on a 1-2-5 scale, and only a band in which the value stays whichever
  record is removed or replaced; otherwise the next wider one that does. What that proves, and what it cannot, is
  explained in docs/explanation/what-is-public.md.
- None: nobody has bounded it. It has no public form.

Most facts about a partition are of the last kind: one more record may regroup all others, and so change the number of
groups, their sizes and all that is made from them. The same holds for the course of a search, for figures of fitted
models, and for random draws, since one more record shifts all later draws.

`Facts` are typed, so that a type checker finds a bare value among them. A bare value that gets there all the same (a
number, a text, an array) has no public form.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from shoal.vocabulary.errors import in_digits

ByLabel = dict[str, Any]
"""Figures, texts, bands, and lists and mappings of these, by the labels that readers see."""

Better = Literal["lower", "higher"]

BandScale = tuple[float, ...]
SCALES: tuple[BandScale, ...] = ((1.0, 2.0, 5.0), (1.0,), (3.0,))
"""Scales of bands, from the finest: factors, times the powers of ten. The last ones lie across each other."""

FEWEST = 20
"""Records whose joint influence is the narrowest band.

A table then seldom lies at the edge of a band, where a neighbouring table would be given another band.
"""


ROUNDING = 1e-12
"""Share of a figure that is rounding, not knowledge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval, `low <= high`, at a confidence in (0, 1)."""

    low: float
    high: float
    confidence: float = 0.95

    @property
    def decimals(self) -> int | None:
        """Decimal places to which a figure with this interval is known: one more than those of half its width.

        None where the ends are equal but for rounding.
        """
        half = (self.high - self.low) / 2
        certain = half <= ROUNDING * max(abs(self.low), abs(self.high)) or not math.isfinite(half)
        return None if certain else max(1 - Decimal(half).adjusted(), 0)

    def __str__(self) -> str:
        return f" [{as_known(self.low, self)}, {as_known(self.high, self)}]"


def as_known(value: float, interval: Interval | None = None) -> str:
    """A figure with the digits it carries: those that its interval leaves certain and one more, else four."""
    if interval is None or interval.decimals is None:
        return in_digits(value)
    return f"{value:.{interval.decimals}f}"


RANGE = "of the range of a released column"
SQUARED_RANGE = "of the squared range of a released column"
"""Units of changes that are counted in the range of released values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A bound on a figure: at most `at_most`, or at least `at_least`; one of the two is given.

    Parameters
    ----------
    unit
        Unit of the figure, as in "records"; empty for a pure number.
    """

    at_most: float | None = None
    at_least: float | None = None
    unit: str = ""

    def __str__(self) -> str:
        bound, word = (self.at_most, "at most") if self.at_least is None else (self.at_least, "at least")
        return f"{word} {bound:,.10g} {self.unit}".rstrip()


class Fact(ABC):
    """A reportable fact, with a private and a public form."""

    @abstractmethod
    def private(self) -> Any:
        """The figure itself, JSON-able."""

    @abstractmethod
    def public(self) -> Any:
        """The form that may be published, JSON-able or a `Band`; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Count(Fact):
    """A number of records, cells, groups or other things.

    Parameters
    ----------
    n, of
        The count, and the total that it is part of; None where there is no total.
    unit
        Things that are counted, in the plural.
    influence
        See the module; 1 for a count of records each of which counts by itself.
    """

    n: int
    of: int | None = None
    unit: str = "records"
    influence: float | None = None

    def private(self) -> int:
        return self.n

    def public(self) -> int | Band | None:
        if self.influence == 0:
            return self.n
        return band(self.n, self.influence, unit=self.unit)

    def __str__(self) -> str:
        return f"{self.n:,} {self.unit}" + (f" of {self.of:,}" if self.of is not None else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Fact):
    """A part of a whole, in [0, 1]."""

    value: float
    influence: float | None = None
    better: Better = "lower"

    def private(self) -> float:
        return self.value

    def public(self) -> float | Band | None:
        if self.influence == 0:
            return self.value
        published = band(self.value, self.influence, better=self.better)
        return None if published is None or (published.at_most is not None and published.at_most > 1) else published


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure(Fact):
    """A number in a unit, with its interval where it is an estimate.

    Parameters
    ----------
    better
        The better direction, `lower` or `higher`; a band bounds the figure on the other side.
    """

    value: float
    unit: str = ""
    interval: Interval | None = None
    influence: float | None = None
    better: Better = "lower"

    def private(self) -> float:
        return self.value

    def public(self) -> float | Band | None:
        if self.influence == 0:
            return self.value
        return band(self.value, self.influence, better=self.better, unit=self.unit)


@dataclass(frozen=True, slots=True)
class ByColumn(Fact):
    """A fact for each of some columns, or several by name."""

    columns: Mapping[str, Fact]

    def private(self) -> ByLabel:
        return {name: private(fact) for name, fact in self.columns.items()}

    def public(self) -> ByLabel | None:
        shown = {name: form for name, fact in self.columns.items() if (form := public(fact)) is not None}
        return shown or None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLoss(Fact):
    """Differential privacy spent on columns: epsilon (and delta), known before any record was seen.

    Parameters
    ----------
    rho
        The zero-concentrated loss, if the method has one, rounded up. It is added up and not shown.
    """

    epsilon: float
    columns: tuple[str, ...]
    delta: float = 0.0
    rho: float | None = None

    def private(self) -> ByLabel:
        spent = {"epsilon": self.epsilon, "columns": list(self.columns)}
        return spent if self.delta == 0 else {**spent, "delta": self.delta}

    def public(self) -> ByLabel:
        return self.private()


@dataclass(frozen=True, slots=True)
class _AsItIs(Fact):
    """A value shown as it is."""

    value: Any

    def private(self) -> Any:
        return self.value

    def public(self) -> Any:
        return self.value


@dataclass(frozen=True, slots=True)
class OfPlan(_AsItIs):
    """Anything that follows from the published plan alone, shown as it is: a setting that was used.

    A setting that may be a cell (a cut point, a bound) does not belong here. Nor does a figure that depends on the
    number of records that came in, which tells how many were dropped.
    """


@dataclass(frozen=True, slots=True)
class OfRelease(_AsItIs):
    """Anything that can be computed from the released table alone, shown as it is."""


def of_release(values: Mapping[str, Any]) -> dict[str, OfRelease]:
    """Several figures of the released table alone."""
    return {label: OfRelease(value) for label, value in values.items()}


@dataclass(frozen=True, slots=True)
class OfOriginal(_AsItIs):
    """Anything that depends on the original and whose influence nobody has bounded; it has no public form."""

    def public(self) -> None:
        return None


def of_original(values: Mapping[str, Any]) -> dict[str, OfOriginal]:
    """Several figures that depend on the original and whose influence nobody has bounded."""
    return {label: OfOriginal(value) for label, value in values.items()}


Facts = Mapping[str, Fact]
"""Facts by the label that a reader sees; no code looks one up by its label."""


@dataclass(frozen=True, slots=True)
class Nested(Fact):
    """The facts of a part: of a stratum, of a method that another one uses."""

    facts: Facts = field(default_factory=dict)

    def private(self) -> ByLabel:
        return private_form(self.facts)

    def public(self) -> ByLabel | None:
        return public_form(self.facts) or None


def private(value: Any) -> Any:
    """The private form of a fact; any other value as it is."""
    return value.private() if isinstance(value, Fact) else value


def public(value: Any) -> Any:
    """The public form of a fact; None for any other value."""
    return value.public() if isinstance(value, Fact) else None


def private_form(facts: Facts) -> ByLabel:
    """The private forms of all facts."""
    return {label: private(value) for label, value in facts.items()}


def public_form(facts: Facts) -> ByLabel:
    """The public forms of the facts that have one."""
    return {label: form for label, value in facts.items() if (form := public(value)) is not None}


def unbounded(facts: Facts) -> dict[str, Fact]:
    """The facts without their bounds: for a step after one that may have changed many records on account of one.

    A step bounds how much one record of its input changes a fact. If one record of the original may have changed many
    records of that input, nothing is bounded.
    """
    return {label: _unbounded(fact) for label, fact in facts.items()}


def _unbounded(fact: Fact) -> Fact:
    if isinstance(fact, (Count, Share, Figure)):
        return fact if fact.influence == 0 else replace(fact, influence=None)
    if isinstance(fact, Nested):
        return Nested(unbounded(fact.facts))
    return ByColumn(unbounded(fact.columns)) if isinstance(fact, ByColumn) else fact


def losses(facts: Facts) -> Iterator[PrivacyLoss]:
    """All the differential privacy that facts report as spent, nested facts included."""
    for value in facts.values():
        if isinstance(value, PrivacyLoss):
            yield value
        elif isinstance(value, Nested):
            yield from losses(value.facts)


def band(value: float, influence: float | None, *, better: Better = "lower", unit: str = "") -> Band | None:
    """The narrowest band that the value does not leave whichever single record is removed or replaced.

    Bands lie between neighbouring numbers of a scale: 1-2-5, else powers of ten, else three times these. No band is
    narrower than what `FEWEST` records can do.

    Parameters
    ----------
    influence
        Largest change of the value by one record, above 0; None gives no band.
    better
        `lower` bounds the value from above, `higher` from below.
    """
    if influence is None or not math.isfinite(value) or not math.isfinite(influence):
        return None
    low, high = value - influence, value + influence
    for scale in SCALES:
        if better == "lower":
            least = _up(FEWEST * influence, scale)
            bounds = [max(least, _up(end, scale)) for end in (low, high)]
        else:
            bounds = [_down(end, scale) for end in (low, high)]
        if bounds[0] == bounds[1]:
            bound = bounds[0]
            if better == "lower":
                return Band(at_most=bound, unit=unit)
            return Band(at_least=bound, unit=unit) if bound > 0 else None
    return None


def _up(value: float, scale: BandScale) -> float:
    """The least number of the scale that is at least the value; 0 for nothing or less."""
    if value <= 0:
        return 0.0
    power = _power_of_ten(value)
    bounds = [*(_decimal(factor, power) for factor in scale), _decimal(scale[0], power + 1)]
    return next(bound for bound in bounds if bound >= value)


def _down(value: float, scale: BandScale) -> float:
    """The largest number of the scale that is at most the value; 0 for nothing or less."""
    if value <= 0:
        return 0.0
    power = _power_of_ten(value)
    bounds = [*(_decimal(factor, power) for factor in reversed(scale)), _decimal(scale[-1], power - 1)]
    return next(bound for bound in bounds if bound <= value)


def _power_of_ten(value: float) -> int:
    """The largest power of ten that is at most the value: from its digits, since logarithms are not exact."""
    return Decimal(value).adjusted()


def _decimal(factor: float, power: int) -> float:
    """The float nearest to a factor times a power of ten; a product of two floats may be another, as 3 times 0.1 is."""
    return float(f"{factor}e{power}")
