"""What a plan may ask of a table larger than memory, said before a record is read."""

from collections.abc import Iterator

from shoal.errors import PlanError
from shoal.methods import SCALE_NAMES, Scales, registered
from shoal.plan import Plan
from shoal.privacy.base import ClassModel
from shoal.steps import MaskStep, PartitionStep, Step

FORMATS = ("parquet", "csv")

WHOSE = (
    "Work in memory (--engine memory), or give the column the role household, which leaves as a new number, and say "
    "unit: household."
)
"""What to do where an identifier says whose records are whose."""


def check_scales(plan: Plan) -> None:
    """Refuse a plan that a table larger than memory cannot be treated by.

    Raises
    ------
    PlanError
        Naming each step or section, and what to do.
    """
    if problems := [*_steps(plan), *_sections(plan)]:
        raise PlanError("On a table larger than memory: " + " ".join(problems))


def check_requirements(plan: Plan) -> list[ClassModel]:
    """The plan's requirements, refused if some cannot be proved on a table larger than memory.

    Raises
    ------
    PlanError
        Naming each.
    """
    if problems := list(_requirements(plan)):
        raise PlanError("On a table larger than memory: " + " ".join(problems))
    return [model for model in plan.requirements if isinstance(model, ClassModel)]


def _steps(plan: Plan) -> Iterator[str]:
    for number, step in enumerate(plan.steps, 1):
        if why := _whole_needed(step):
            yield f"steps {number} ({step.name}) {why}"


def _whole_needed(step: Step) -> str:
    """Why a step cannot be carried out in parts; empty if it can."""
    if isinstance(step, PartitionStep):
        if step.identifiers:
            return f"needs the whole table at once to form groups of values of '{step.identifiers[0]}'. {WHOSE}"
        if step.small_strata == "merge":
            return "unites small strata, which parts cannot see. Recode the stratum column first."
        slow = [m.method_name for m in (step.method, step.replace) if m.scales != "blocks"]
        return f"needs the whole table at once for {slow[0]}. {_instead('partition', 'blocks')}" if slow else ""
    if isinstance(step, MaskStep):
        scales = step.method.scales
        if scales == "memory":
            return f"needs the whole table at once. {_instead('mask', 'rows', 'combinations', 'sorting')}"
        needed = step.method.whole_needed
        return f"needs {needed}." if needed else ""
    return "is of a kind that is not known here."


def _instead(kind: str, *scales: Scales) -> str:
    names = [entry.name for entry in registered(kind) if entry.cls.scales in scales]
    ways = " or ".join(SCALE_NAMES[scale] for scale in scales)
    return f"These work {ways}: {', '.join(names)}."


def _requirements(plan: Plan) -> Iterator[str]:
    for model in plan.requirements:
        if not isinstance(model, ClassModel):
            known = ", ".join(entry.name for entry in registered("privacy") if entry.cls.scales == "classes")
            yield (
                f"The requirement {model.method_name} is proved only on a table that fits into memory; these "
                f"are proved on any: {known}."
            )
        elif unseen := [name for name in model.identifiers if name not in plan.pseudonyms]:
            yield f"The values of '{unseen[0]}' are counted only where it is released. {WHOSE}"


def _sections(plan: Plan) -> Iterator[str]:
    if plan.constraints:
        yield "Edit rules (constraints) are restored only in memory. Leave them out."
    if plan.output.copies != 1:
        yield "output: copies must be 1. Release one table."
    if plan.output.format not in FORMATS:
        yield f"output: format must be parquet or csv; it is {plan.output.format}."
    if "category" in {column.missing_policy for column in plan.schema.columns.values()}:
        yield "missing: category is for tables in memory. Set missing: drop, impute or keep."
