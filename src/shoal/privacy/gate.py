"""A bound on any measure's figure as a requirement, refused like a privacy model if it does not hold."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, cast

import numpy as np
from pydantic import BeforeValidator

from shoal.judges.base import Measure
from shoal.judges.class_figures import MEANING, ClassCounts
from shoal.judges.closure import Closure
from shoal.judges.prelude import Finding, MissingCells, TablePair, Verdict
from shoal.privacy.base import PrivacyModel
from shoal.vocabulary.parameters import Method
from shoal.vocabulary.prelude import NoFigure, ParameterError, Setting, in_digits
from shoal.vocabulary.registry import Spec, build, entry, spec_of

BOUNDS = {"at most": "at_most", "at least": "at_least"}
"""Names of the bounds in a plan, and the parameters that hold them."""


@dataclass(frozen=True, kw_only=True)
class Gate(PrivacyModel):
    """A requirement that a measure's figure is at most, or at least, a bound; for an estimate, its whole interval.

    A measure without a figure proves nothing, so that the requirement does not hold. Measures that sample draw the same
    numbers each time: no verdict depends on luck.

    Parameters
    ----------
    measure
        A measure of risk or utility.
    at_most, at_least
        The bound; exactly one of the two.
    """

    measure: Annotated[Measure, Method("risk")]
    at_most: Annotated[float | None, Setting()] = None
    at_least: Annotated[float | None, Setting()] = None

    def __post_init__(self) -> None:
        bounds = [bound for bound in (self.at_most, self.at_least) if bound is not None]
        number = len(bounds) == 1 and isinstance(bounds[0], (int, float)) and not isinstance(bounds[0], bool)
        if not number or not math.isfinite(bounds[0]):
            raise ParameterError(_bound_needed(self.measure.method_kind, self.measure.method_name))

    @property
    def method_name(self) -> str:  # type: ignore[override] # that of the measure given, where a class has one for all
        return self.measure.method_name

    @property
    def needs_original(self) -> bool:
        return not self.measure.of_release_alone

    @property
    def protects(self) -> bool:
        """True if the bound keeps a risk on its better side, and away from the worst possible figure."""
        if self.measure.method_kind != "risk":
            return False
        low, high = self.measure.limits
        bound, worst = (self.at_most, high) if self.measure.better == "lower" else (self.at_least, low)
        return bound is not None and low <= bound <= high and bound != worst

    @property
    def missing(self) -> Any:
        """The reading of missing cells that the measure names; None if it names none."""
        return getattr(self.measure, "missing", None)

    def reading(self, missing: MissingCells) -> "Gate":
        """The same bound under a reading of missing cells, unless the measure names its own."""
        if getattr(self.measure, "missing", missing) is not None:
            return self
        return replace(self, measure=replace(self.measure, missing=missing))  # type: ignore[type-var] # a dataclass

    def as_mapping(self) -> Spec:
        """The bound, as a plan names it."""
        return {word: getattr(self, name) for word, name in BOUNDS.items() if getattr(self, name) is not None}

    def as_spec(self) -> Spec:
        """The mapping from which `requirement` makes it again."""
        spec = spec_of(self.measure)
        return {self.measure.method_kind: spec.pop("method"), **spec, **self.as_mapping()}

    def verdict_on(self, pair: TablePair) -> Verdict:
        """The verdict on a released table, with its cells as they stand or filled in, whichever is worse.

        Measures that count classes do so on the closure. The bound must also hold for an intruder who knows the
        laws of the original; that figure is not reported.
        """
        worst = self.judge(pair)
        for records in () if not pair.closure.filled else (pair.released, *pair.closure.stages[:-1]):
            if not worst.holds:
                break
            verdict = self.judge(replace(pair, closure=Closure(records=records, filled={})))
            if not verdict.holds or self._worse(verdict, worst):
                worst = verdict
        for stage in pair.informed if worst.holds else ():
            verdict = self.judge(replace(pair, closure=Closure(records=stage.released, filled={})))
            if not verdict.holds:
                return replace(verdict, sentence=f"{stage.closure.sentence} Filled in: {verdict.sentence}")
        return worst

    def _worse(self, first: Verdict, second: Verdict) -> bool:
        """True if the figure of a verdict is nearer to the bound than that of another, or one has no figure."""
        if first.achieved is None or second.achieved is None:
            return True
        return first.achieved > second.achieved if self.at_most is not None else first.achieved < second.achieved

    def judge(self, pair: TablePair) -> Verdict:
        verdict = self.verdict_of(self.measure.finding_on(pair, np.random.default_rng(0)))
        if pair.missing == "equal" or getattr(self.measure, "missing", "equal") is not None:
            return verdict
        return replace(verdict, requirement=f"{verdict.requirement}, {MEANING[pair.missing]}")

    def on_counts(self, counts: ClassCounts) -> Verdict | None:
        try:
            finding = self.measure.on_counts(counts, self.at_most)
        except NoFigure as reason:
            finding = self.measure.without(str(reason))
        return None if finding is None else self.verdict_of(finding)

    def verdict_of(self, finding: Finding) -> Verdict:
        """The verdict on a figure of the measure."""
        (word, bound), end = *self.as_mapping().items(), self._end(finding)
        holds = end is not None and (end <= bound if self.at_most is not None else end >= bound)
        influence = finding.influence if finding.influence == 0 else None
        return Verdict(
            requirement=f"{finding.title} {word} {bound:g}",
            holds=holds,
            required=bound,
            achieved=end,
            sentence=self._sentence(finding, end, f"{word} {bound:g}"),
            facts=finding.facts,
            influence=influence,
            protects=self.protects,
            model=self.method_name,
            limited=finding.title,
        )

    def _end(self, finding: Finding) -> float | None:
        """The end of the figure's interval to which the bound applies."""
        if finding.value is None or finding.interval is None:
            return finding.value
        return finding.interval.high if self.at_most is not None else finding.interval.low

    def _sentence(self, finding: Finding, end: float | None, bound: str) -> str:
        if end is None:
            return f"There is no figure, which proves nothing. {finding.reason}"
        of_interval = "" if finding.interval is None else f", by the end of its interval{finding.interval}"
        return f"The figure is {in_digits(end)}{of_interval}, where {bound} is required. {finding.sentence}"


def with_reading(method: Any, missing: MissingCells) -> Any:
    """A step's method, with a reading of missing cells filled in wherever its bounds on figures name none."""
    if missing == getattr(method, "missing", "equal"):
        return method  # as it reads them anyway
    required = getattr(method, "requirements", ())
    read = tuple(model.reading(missing) if isinstance(model, Gate) else model for model in required)
    return replace(method, requirements=read) if read != required else method


def requirement(item: Any) -> PrivacyModel:
    """A privacy model, by its name or a mapping; or a measure with a bound, as in `{risk: NAME, at most: 0.05}`."""
    spec = dict(item) if isinstance(item, Mapping) else {}
    kind = next((kind for kind in ("risk", "utility") if kind in spec), None)
    if isinstance(item, Gate):
        return item
    if kind is None:
        return cast(PrivacyModel, build("privacy", item))
    return bound_on(kind, spec)


def bound_on(kind: str, spec: Spec) -> Gate:
    """A measure of a kind, risk or utility, with a bound on its figure, from the keys of a plan."""
    bounds = {name: spec.pop(word) for word, name in BOUNDS.items() if word in spec}
    if not bounds and isinstance(spec[kind], str):  # said first, for a bound spelled otherwise is no parameter either
        raise ParameterError(_bound_needed(kind, entry(kind, spec[kind]).name))
    return Gate(measure=build(kind, spec), **bounds)


def _bound_needed(kind: str, name: str) -> str:
    return (
        f"{name}: a requirement needs a finite number, 'at most' or 'at least', as in "
        f"{{{kind}: {name}, at most: 0.05}}."
    )


Required = Annotated[PrivacyModel, BeforeValidator(requirement, json_schema_input_type=str | Spec), Method("privacy")]
"""A requirement as a parameter of a method."""
