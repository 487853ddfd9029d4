"""Candidates of a plan for several linked tables, which differ in steps and in who may be left out.

They are compared by figures over all tables: what is at stake counts persons, each known with all records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.desk.frontier.candidates import Axes, Candidate, axis_of, every_candidate
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_sections import check_over_tables
from shoal.report.exploration import KINDS
from shoal.vocabulary.errors import PlanError, quoted, unknown
from shoal.vocabulary.registry import Spec

USUAL = {"risk": "marketer", "utility": "information-kept"}
"""Measures of the axes where the plan names none."""

SHARE = "suppress_persons"


def linked_candidates(plan: LinkedPlan) -> list[Candidate]:
    """Every combination that the section `explore` asks for; refusals as for `candidates`."""
    axes = linked_axes(plan)
    ranges = {} if plan.explore is None else plan.explore.ranges
    further = {SHARE: ranges[SHARE]} if SHARE in ranges else {}

    def plan_of(steps: Sequence[Spec], chosen: Mapping[str, Any]) -> LinkedPlan:
        return _with_axes(LinkedPlan.of(_filled(plan, steps, chosen), plan.folder), axes)

    return every_candidate(plan.explore, further, plan_of)


def linked_unprotected(plan: LinkedPlan) -> Candidate:
    """The tables without protection, judged by the same measures: a landmark for the candidates."""
    mapping = _without_exploration(plan)
    mapping.pop(SHARE, None)
    mapping["steps"] = []
    for of_table in mapping["tables"].values():
        of_table["steps"] = []
    return Candidate(name="", method="", plan=_with_axes(LinkedPlan.of(mapping, plan.folder), linked_axes(plan)))


def linked_axes(plan: LinkedPlan) -> Axes:
    """The two measures by which candidates are compared, both over all tables."""
    explored = plan.explore
    chosen = (
        {} if explored is None else {kind: getattr(explored, kind) for kind in explored.model_fields_set & {*KINDS}}
    )
    axes = Axes(**{kind: axis_of(plan.measures, kind, chosen.get(kind, USUAL[kind])) for kind in KINDS})
    for kind, axis in zip(KINDS, axes.both):
        try:
            check_over_tables(axis, made_up=False)
        except PlanError as error:
            raise PlanError(f"explore: {kind}: {error}") from None
    return axes


def _without_exploration(plan: LinkedPlan) -> Spec:
    mapping = plan.as_mapping()
    mapping.pop("explore", None)
    return mapping


def _filled(plan: LinkedPlan, steps: Sequence[Spec], chosen: Mapping[str, Any]) -> Spec:
    """The plan with the steps of a candidate after its own, each in its table or among those of all tables."""
    mapping = {**_without_exploration(plan), **chosen}
    own = {name: list(of_table.get("steps", ())) for name, of_table in mapping["tables"].items()}
    whole = list(mapping.get("steps", ()))
    for step in steps:
        table = step.get("table")
        if table is not None and table not in own:
            raise PlanError(f"explore: {unknown('table', str(table), own)}")
        if table is None and step.get("mask") != "profiles":
            named = next(str(step[kind]) for kind in ("partition", "mask") if kind in step)
            raise PlanError(
                f"explore: {named} works table by table. Say on which, as in {{table: {plan.root}, ...}}, with one of "
                f"{quoted(own)}."
            )
        (whole if table is None else own[table]).append({key: value for key, value in step.items() if key != "table"})
    tables = {name: {**of_table, "steps": own[name]} for name, of_table in mapping["tables"].items()}
    return {**mapping, "tables": tables, "steps": whole}


def _with_axes(plan: LinkedPlan, axes: Axes) -> LinkedPlan:
    """The plan with the two measures of the axes among those that are taken."""
    asked = [axis for axis in axes.both if not any(axis.same_as(measure) for measure in plan.taken)]
    return replace(plan, measures=(*plan.measures, *asked))
