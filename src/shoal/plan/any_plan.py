"""A plan as it is given: for one table, or for several linked ones, whose modules are imported for these alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.plan.lines import load_yaml
from shoal.plan.model import Plan, read_sections

if TYPE_CHECKING:
    from shoal.plan.linked import LinkedPlan


def any_plan(plan: Any, folder: str | Path | None = None) -> "Plan | LinkedPlan":
    """A plan from a plan, a mapping of its sections, or the path of a YAML file; `folder` as for `Plan.of`.

    Raises PlanError, naming every mistake.
    """
    if isinstance(plan, (str, Path)):
        sections, folder = load_yaml(plan), Path(plan).parent if folder is None else Path(folder)
        if is_linked(sections):
            from shoal.plan.linked import read_tables

            return read_tables(sections, str(plan), folder)
        return read_sections(sections, str(plan), folder)
    if is_linked(plan):
        from shoal.plan.linked import LinkedPlan

        return LinkedPlan.of(plan, folder)
    return Plan.of(plan, folder)


def is_linked(plan: Any) -> bool:
    """True for a plan for several tables, or its sections."""
    return "tables" in plan if isinstance(plan, Mapping) else hasattr(plan, "tables")
