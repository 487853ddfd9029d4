"""The sections of a plan, from which the same plan is made again, with defaults spelled out."""

from typing import TYPE_CHECKING, Any

from shoal.plan.lines import plain
from shoal.privacy.gate import Gate
from shoal.table.schema import Column
from shoal.vocabulary.registry import Spec, spec_of

if TYPE_CHECKING:
    from shoal.plan.model import Plan

OPTIONAL = ("measures", "constraints", "release", "publish", "accept", "explore", "ledger")
"""Sections that are left out where they are empty."""

SECTIONS = ("columns", "steps", "requirements", "output", *OPTIONAL)
SETTINGS = ("for", "exact", "block_size")


def sections_of(plan: "Plan") -> Spec:
    """The sections of a plan that are not empty, and its settings."""
    sections = {
        "columns": {name: _described(column) for name, column in plan.schema.root.items()},
        "steps": [step.as_mapping() for step in plan.steps],
        "requirements": [_keyed(model) for model in plan.requirements],
        "measures": [_keyed(measure) for measure in plan.measures],
        "constraints": plan.edit_rules.model_dump(mode="json") if plan.edit_rules.rules else {},
        "release": plan.about.as_mapping(),
        "publish": list(plan.publish) if isinstance(plan.publish, tuple) else plan.publish,
        "accept": list(plan.accept),
        "output": plan.output.model_dump(),
        "explore": plain(plan.explore.model_dump()) if plan.explore else {},
        "ledger": plain(plan.ledger.model_dump(exclude_defaults=True)) if plan.ledger else {},
    }
    sections = {name: content for name, content in sections.items() if content or name not in OPTIONAL}
    chosen = {"for": plan.context, "exact": plan.exact, "block_size": plan.block_size}
    return sections | {name: value for name, value in chosen.items() if value is not None}


def _described(column: Column) -> Spec:
    content = column.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"})
    hierarchy = column.hierarchy
    if hierarchy is None:
        return content
    inline = hierarchy if isinstance(hierarchy, (str, dict)) else {"paths": [list(path) for path in hierarchy.paths]}
    return {**content, "hierarchy": inline}


def _keyed(method: Any) -> Spec:
    if isinstance(method, Gate):
        return {**_keyed(method.measure), **method.as_mapping()}
    spec = spec_of(method)
    return {method.method_kind: spec.pop("method"), **spec}
