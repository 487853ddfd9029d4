"""Every combination that a plan's section `explore` asks for, each a whole plan."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite
from typing import Any, TypeVar

from shoal.judges.base import Measure
from shoal.plan import Plan
from shoal.plan.linked import LinkedPlan
from shoal.plan.sections import SearchSpace
from shoal.privacy.base import hardest, reading_of
from shoal.report.exploration import KINDS, ExploredAxes, ExploredAxis
from shoal.run.judging import taken_by
from shoal.table.files.names import slug
from shoal.table.records import MissingCells
from shoal.vocabulary.errors import ParameterError, PlanError, unknown
from shoal.vocabulary.registry import Spec, build, entry, registered

T = TypeVar("T")

DEFAULT_RISK = "distance-linkage"
DEFAULT_UTILITY = "sse"
RECIPES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "microhybrid": ({"partition": "mdav", "replace": {"method": "ipso", "small": "merge"}},),
    "local-synthesis": ({"partition": "local-synthesis", "replace": "class-conditional"},),
    "refined": ({"partition": "refined", "start": "mdav"},),
}
"""Steps of a candidate whose name stands for more than a step with the method of that name.

K-microhybrid is a partition followed by IPSO (Domingo-Ferrer & Gonzalez-Nicolas 2010, procedure 1), local synthesis
draws inside its groups, and refinement starts from a partition by MDAV.
"""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One plan to try.

    Parameters
    ----------
    name
        The method and the chosen values of its ranges, as in `mdav k=5`; unique among the candidates.
    method
        The method's name alone.
    plan
        The whole plan.
    """

    name: str
    method: str
    plan: Plan | LinkedPlan

    def value_of(self, of_findings: Sequence[T], axis: Measure) -> T | None:
        """The entry for a measure, of a sequence in the order of the findings; None where there are no findings."""
        measures = self.plan.taken if isinstance(self.plan, LinkedPlan) else taken_by(self.plan)
        return next((value for measure, value in zip(measures, of_findings) if measure.same_as(axis)), None)


def candidates(plan: Plan) -> list[Candidate]:
    """Every combination that a plan's section `explore` asks for.

    Raises PlanError if the section names an unknown method, or a range that no method has.
    """
    axes, sections = axes_of(plan), plan.as_mapping()
    sections.pop("explore", None)

    def plan_of(filled: Sequence[Spec], _: Mapping[str, Any]) -> Plan:
        return _with_axes(Plan.of({**sections, "steps": [*_before(plan), *filled]}, plan.folder), axes)

    return every_candidate(plan.explore, {}, plan_of)


def every_candidate(
    explored: SearchSpace | None,
    further: Mapping[str, Sequence[Any]],
    plan_of: Callable[[Sequence[Spec], Mapping[str, Any]], Plan | LinkedPlan],
) -> list[Candidate]:
    """Every combination that a section asks for; refusals as for `candidates`.

    Parameters
    ----------
    further
        Ranges of what is no parameter of a step.
    plan_of
        Makes a plan of its steps and the values of those ranges.
    """
    if explored is None:
        raise PlanError(
            "explore needs the section 'explore' with at least one method, as in method: [mdav, rank-swap]."
        )
    ranges = {key: choices for key, choices in explored.ranges.items() if key not in further}
    if empty := [key for key, choices in {**ranges, **further}.items() if not choices]:
        raise PlanError(f"explore: the range of '{empty[0]}' is empty. Give it values, or take it out.")
    used: set[str] = set()
    candidates: dict[str, Candidate] = {}
    for name, steps in explored.candidates.items():
        if not name:
            raise PlanError("explore: the name of a candidate is empty. Give it one.")
        tried = product(_combinations(str(name), steps, ranges, used), product(*further.values()))
        for (values, filled), others in tried:
            chosen = dict(zip(further, others, strict=True))
            named = [str(name), values, *(f"{key}={value}" for key, value in chosen.items())]
            candidate = Candidate(name=" ".join(filter(None, named)), method=str(name), plan=plan_of(filled, chosen))
            twin = candidates.setdefault(slug(candidate.name), candidate)
            if twin.plan.as_mapping() != candidate.plan.as_mapping():
                raise PlanError(
                    f"explore: '{twin.name}' and '{candidate.name}' are two candidates whose plans would "
                    f"have one file name. Rename one."
                )
    if idle := sorted(set(ranges) - used):
        raise PlanError(f"explore: none of the methods has the parameter '{idle[0]}'. Take the range out.")
    return list(candidates.values())


def unprotected(plan: Plan) -> Candidate:
    """The table without protection, judged by the same measures: a landmark for the candidates."""
    mapping = {**plan.as_mapping(), "steps": []}
    mapping.pop("explore", None)
    mapping["output"] = {**mapping["output"], "copies": 1}  # nothing of it is released
    return Candidate(name="", method="", plan=_with_axes(Plan.of(mapping, plan.folder), axes_of(plan)))


def _before(plan: Plan) -> list[Spec]:
    """The plan's own steps, which every candidate shares."""
    return [step.as_mapping() for step in plan.steps]


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The two measures by which candidates are compared."""

    risk: Any
    utility: Any

    @property
    def both(self) -> tuple[Any, Any]:
        return self.risk, self.utility

    def as_mapping(self) -> ExploredAxes:
        """The axes for frontier.json."""
        return {"risk": _described(self.risk), "utility": _described(self.utility)}


def _described(measure: Measure) -> ExploredAxis:
    low, high = (end if isfinite(end) else None for end in measure.limits)
    return {
        "measure": measure.method_name,
        "title": measure.heading,
        "better": measure.better,
        "unit": measure.figure_unit,
        "limits": (low, high),
    }


def axes_of(plan: Plan) -> Axes:
    """The two measures by which candidates are compared.

    A name stands for the measure of that name in the section `measures`, with its parameters there. Where neither a
    requirement nor the measure sets a reading of missing cells, all candidates are judged with the reading of the
    candidates that blank cells.
    """
    explored = plan.explore
    named = (explored.risk, explored.utility) if explored else (DEFAULT_RISK, DEFAULT_UTILITY)
    both = {kind: axis_of(plan.measures, kind, spec) for kind, spec in zip(KINDS, named)}
    reading = "equal" if reading_of(plan.requirements) else hardest(_readings(plan)) or "equal"
    if reading != "equal":
        left_open = {kind: axis for kind, axis in both.items() if getattr(axis, "missing", reading) is None}
        both |= {kind: replace(axis, missing=reading) for kind, axis in left_open.items()}
    return Axes(**both)


def _readings(plan: Plan) -> Iterator[MissingCells]:
    """Readings of missing cells by the steps of candidates that blank cells."""
    if plan.explore is None:
        return
    for name, steps in plan.explore.candidates.items():
        for _, filled in _combinations(str(name), steps, plan.explore.ranges, set()):
            masks = [(step, entry("mask", step["mask"])) for step in (*_before(plan), *filled) if "mask" in step]
            yield from (
                step.get("missing") or mask.cls.default_reading for step, mask in masks if mask.cls.blanks_cells
            )


def axis_of(measures: Sequence[Measure], kind: str, spec: str | Mapping[str, Any]) -> Any:
    """The measure of an axis: of those of a plan, the one that has the name, or a new one."""
    existing = [measure for measure in measures if measure.method_name == spec and measure.method_kind == kind]
    if len(existing) > 1:
        raise PlanError(
            f"explore: {kind} is '{spec}', which stands under measures more than once. Say which, as in "
            f"{kind}: {{method: {spec}, ...}}."
        )
    try:
        if existing:
            return existing[0]
        if not isinstance(spec, str):
            return build(kind, spec)
        measure = entry(kind, spec).cls
        return measure(**measure.among_releases)
    except ParameterError as error:
        raise PlanError(f"explore: {kind}: {error}") from None


def _with_axes(plan: Plan, axes: Axes) -> Plan:
    """The plan with the two measures of the axes among the measures that its releases take."""
    asked = [axis for axis in axes.both if not any(axis.same_as(measure) for measure in taken_by(plan))]
    return replace(plan, measures=(*plan.measures, *asked))


def _combinations(
    name: str, steps: Any, ranges: Mapping[str, list[Any]], used: set[str]
) -> Iterator[tuple[str, list[Spec]]]:
    """The chosen values, as a text, and the steps with these values; for every combination."""
    patterns = [dict(step) for step in steps] if steps is not None else _steps_of(name)
    open_places: list[tuple[int, str, list[Any]]] = []
    for number, step in enumerate(patterns):
        kind = next((r for r in ("partition", "mask") if r in step), None)
        if kind is None:
            raise PlanError(f"explore: a step of '{name}' must name a partition or a mask.")
        parameters = entry(kind, step[kind]).parameters
        for key in parameters:
            if key in step and isinstance(step[key], list) and not _takes_lists(kind, step[kind], key):
                open_places.append((number, key, step[key]))
            elif key not in step and key in ranges:
                open_places.append((number, key, ranges[key]))
                used.add(key)
    keys = [key for _, key, _ in open_places]
    for values in product(*(choices for _, _, choices in open_places)):
        filled = [dict(step) for step in patterns]
        chosen = []
        for (number, key, _), value in zip(open_places, values):
            filled[number][key] = value
            chosen.append(f"{key}={value}" if keys.count(key) == 1 else f"{key}{number + 1}={value}")
        yield " ".join(chosen), filled


def _takes_lists(kind: str, name: str, key: str) -> bool:
    return "array" in json.dumps(entry(kind, name).json_schema()["properties"].get(key, {}))


def _steps_of(name: str) -> list[Spec]:
    if name in RECIPES:
        return [dict(step) for step in RECIPES[name]]
    for kind in ("partition", "mask"):
        if name in [e.name for e in registered(kind)]:
            return [{kind: name}]
    names = [e.name for kind in ("partition", "mask") for e in registered(kind)]
    raise PlanError(f"explore: {unknown('method', name, {*RECIPES, *names})}")
