"""The choice of tables that are worked on in parts, and the elements of a plan that need all records at once."""

from collections.abc import Callable, Iterator

from shoal.plan import Plan
from shoal.plan.steps import PartitionStep, Step
from shoal.privacy.base import ClassModel
from shoal.privacy.gate import Gate
from shoal.run.privacy_spent import private_steps
from shoal.vocabulary.registry import SCALE_NAMES, Scales, registered

EXACT_CELLS = 20_000_000
"""Cells (records times columns) of a table that is held whole where its plan does not say how it is to be worked on."""

FORMATS = ("parquet", "csv")
"""Of files that are written part by part."""


def is_for_parts(plan: Plan, cells: Callable[[], int]) -> bool:
    """True if a table is worked on in parts: as the plan says, else by its size, never by engine or place.

    Up to `EXACT_CELLS` cells a table is held whole and groups are formed exactly. Beyond, it is worked on in parts and
    groups are formed in blocks of near records, which costs a little loss.

    Parameters
    ----------
    cells
        Called for the records times the columns of the table, where the plan leaves the choice to them.
    """
    if plan.exact is None and plan.block_size is None:
        return cells() > EXACT_CELLS
    return not plan.exact


def whole_needed(plan: Plan) -> list[str]:
    """The sections and requirements for which a table must be held whole, each in a sentence.

    Its groups are still formed in blocks where the table is one for parts.
    """
    return [*_sections(plan), *whole_needed_to_judge(plan)]


def whole_needed_to_judge(plan: Plan) -> list[str]:
    """The requirements that are proved only on a table held whole, each in a sentence."""
    return list(_requirements(plan))


def class_models(plan: Plan) -> list[ClassModel]:
    """The requirements of a plan for a table in parts, all of which are proved class by class."""
    return [model for model in plan.requirements if isinstance(model, ClassModel)]


def needed_at_once(step: Step, plan: Plan) -> str:
    """Why a step needs all records of its columns at once, and what would not; empty if it works in parts."""
    columns = plan.schema.columns
    looked_at = columns if isinstance(step, PartitionStep) else set(columns) & set(step.changes(plan.schema))
    if own := [name for name in looked_at if columns[name].missing == "category"]:
        return f"needs all of '{own[0]}', whose missing cells are a category. Set missing: drop, impute or keep."
    if isinstance(step, PartitionStep):
        if step.identifiers:
            return f"forms groups of values of '{step.identifiers[0]}'. Say unit: household, or record."
        if step.small_strata == "merge":
            return "unites small strata. Recode the stratum column first."
        if step.replace.whole_needed:
            return f"needs {step.replace.whole_needed}."
        slow = [m.method_name for m in (step.method, step.replace) if m.scales != "blocks"]
        return f"needs all records at once for {slow[0]}. {_instead('partition', 'blocks')}" if slow else ""
    if step.method.scales == "memory":
        return f"needs all records at once. {_instead('mask', 'rows', 'combinations', 'sorting')}"
    needed = step.method.whole_needed
    return f"needs {needed}." if needed else ""


def columns_at_once(step: Step, plan: Plan) -> set[str] | None:
    """The columns that such a step looks at; None for all."""
    reads = None if isinstance(step, PartitionStep) else step.trace(plan.schema).reads
    return None if reads is None else {*reads, *step.changes(plan.schema)}


def _instead(kind: str, *scales: Scales) -> str:
    names = [entry.name for entry in registered(kind) if entry.cls.scales in scales]
    ways = " or ".join(SCALE_NAMES[scale] for scale in scales)
    return f"These work {ways}: {', '.join(names)}."


def _requirements(plan: Plan) -> Iterator[str]:
    if plan.edit_rules.of_persons:
        yield "Rules over several records of a person (constraints) are judged only on a whole table. Leave them out."
    for model in plan.requirements:
        if isinstance(model, Gate):
            name = model.method_name
            yield f"A bound on {name} is proved only on a whole table. Name {name} in measures, without a bound."
        elif not isinstance(model, ClassModel):
            provable = ", ".join(entry.name for entry in registered("privacy") if entry.cls.scales == "classes")
            yield f"The requirement {model.method_name} is proved only on a whole table; on any are: {provable}."
        elif not model.in_parts:
            yield f"The {model.units[0]}s of {model.method_name} are counted only in a whole table. Say unit: record."
        elif unseen := [name for name in model.identifiers if name not in plan.pseudonyms]:
            yield f"The values of '{unseen[0]}' are counted only in a whole table. Say unit: household, or record."


def _sections(plan: Plan) -> Iterator[str]:
    if plan.edit_rules.rules:
        yield "Edit rules (constraints) are restored only in a whole table. Leave them out."
    if plan.output.copies != 1:
        yield "Several copies are made only of a whole table. Set output: {copies: 1}."
    if plan.output.format not in FORMATS:
        yield f"A file of the format {plan.output.format} is written only of a whole table. Choose parquet or csv."
    for measure in plan.measures:
        if measure.scales == "memory":
            yield f"{measure.method_name} is measured only on a whole table. Leave it out."
    if plan.ledger is not None:
        yield "A ledger is kept only of a whole table. Leave the section ledger out."
    for step in private_steps(plan):
        yield f"The privacy loss of {step.name} is accounted for only in a whole table. Leave the step out."
