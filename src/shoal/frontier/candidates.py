"""Every combination that a plan's section `explore` asks for, each a whole plan."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from shoal.errors import PlanError, unknown
from shoal.files.names import slug
from shoal.methods import entry, registered
from shoal.plan import Plan

DEFAULT_RISK = "distance-linkage"
DEFAULT_UTILITY = "sse"
RECIPES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "microhybrid": ({"partition": "mdav", "replace": {"method": "ipso", "small": "merge"}},),
    "local-synthesis": ({"partition": "local-synthesis", "replace": "class-conditional"},),
    "refined": ({"partition": "refined", "start": "mdav"},),
}
"""What a name stands for beyond a step with the method of that name: k-microhybrid is a partition followed by IPSO
(Domingo-Ferrer & Gonzalez-Nicolas 2010, procedure 1), local synthesis draws inside its groups, and what is refined
is a partition by MDAV."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One plan to try.

    Parameters
    ----------
    name
        The method and what of the ranges was chosen, as in `mdav k=5`; no two candidates have the same.
    method
        The method's name alone.
    plan
        The whole plan.
    """

    name: str
    method: str
    plan: Plan


def candidates(plan: Plan) -> list[Candidate]:
    """Every combination that a plan's section `explore` asks for.

    Raises
    ------
    PlanError
        If the section names an unknown method, or a range that no method has.
    """
    if plan.explore is None:
        raise PlanError(
            "explore needs the section 'explore' with at least one method, as in method: [mdav, rank-swap]."
        )
    ranges = plan.explore.ranges
    if empty := [key for key, choices in ranges.items() if not choices]:
        raise PlanError(f"explore: the range of '{empty[0]}' is empty. Give it values, or take it out.")
    axes = axes_of(plan)
    used: set[str] = set()
    candidates: dict[str, Candidate] = {}
    for name, steps in plan.explore.candidates.items():
        for shown, made in _combinations(str(name), steps, ranges, used):
            mapping = {**plan.as_mapping(), "steps": [*_before(plan), *made]}
            mapping.pop("explore", None)
            candidate = Candidate(
                name=f"{name} {shown}".strip(), method=str(name), plan=_withaxes_of(Plan.of(mapping, plan.folder), axes)
            )
            twin = candidates.setdefault(slug(candidate.name), candidate)
            if twin.plan.as_mapping() != candidate.plan.as_mapping():
                raise PlanError(
                    f"explore: '{twin.name}' and '{candidate.name}' are two candidates whose plans would "
                    f"have one file name. Rename one."
                )
    if idle := sorted(set(ranges) - used):
        raise PlanError(f"explore: none of the methods has the parameter '{idle[0]}'. Take the range out.")
    return list(candidates.values())


def _before(plan: Plan) -> list[dict[str, Any]]:
    """Steps that every candidate shares: those the plan has anyway."""
    return [step.as_mapping() for step in plan.steps]


def axes_of(plan: Plan) -> tuple[str, str]:
    """The names of the two measures that candidates are compared by."""
    explored = plan.explore
    axes = (explored.risk, explored.utility) if explored else (DEFAULT_RISK, DEFAULT_UTILITY)
    for kind, name in zip(("risk", "utility"), axes):
        entry(kind, name)
        if sum(m.method_name == name for m in plan.measures) > 1:
            raise PlanError(f"explore: {kind} is '{name}', which measures names more than once. Leave one of them.")
    return axes


def _withaxes_of(plan: Plan, axes: tuple[str, str]) -> Plan:
    """The plan with the two measures that were asked for among those that every release with it takes."""
    have = {m.method_name for m in plan.measures}
    asked = [entry(kind, name).cls for kind, name in zip(("risk", "utility"), axes) if name not in have]
    return replace(plan, measures=(*plan.measures, *(cls() for cls in asked if not cls.cheap)))


def _combinations(
    name: str, steps: Any, ranges: Mapping[str, list[Any]], used: set[str]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """What was chosen, as a text, and the steps that it makes."""
    given = [dict(step) for step in steps] if steps is not None else _steps_of(name)
    open_places: list[tuple[int, str, list[Any]]] = []
    for number, step in enumerate(given):
        kind = next((r for r in ("partition", "mask") if r in step), None)
        if kind is None:
            raise PlanError(f"explore: a step of '{name}' must name a partition or a mask.")
        known = entry(kind, step[kind]).parameters
        for key in known:
            if key in step and isinstance(step[key], list) and not _takes_lists(kind, step[kind], key):
                open_places.append((number, key, step[key]))
            elif key not in step and key in ranges:
                open_places.append((number, key, ranges[key]))
                used.add(key)
    keys = [key for _, key, _ in open_places]
    for values in product(*(choices for _, _, choices in open_places)):
        made = [dict(step) for step in given]
        chosen = []
        for (number, key, _), value in zip(open_places, values):
            made[number][key] = value
            chosen.append(f"{key}={value}" if keys.count(key) == 1 else f"{key}{number + 1}={value}")
        yield " ".join(chosen), made


def _takes_lists(kind: str, name: str, key: str) -> bool:
    return "array" in json.dumps(entry(kind, name).json_schema()["properties"].get(key, {}))


def _steps_of(name: str) -> list[dict[str, Any]]:
    if name in RECIPES:
        return [dict(step) for step in RECIPES[name]]
    for kind in ("partition", "mask"):
        if name in [e.name for e in registered(kind)]:
            return [{kind: name}]
    names = [e.name for kind in ("partition", "mask") for e in registered(kind)]
    raise PlanError(f"explore: {unknown('method', name, {*RECIPES, *names})}")
