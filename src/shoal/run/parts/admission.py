"""Which tables are worked on in parts, and what a plan may ask of them; said before a record is read."""

from collections.abc import Callable, Iterator

from shoal.plan import Plan
from shoal.plan.steps import MaskStep, PartitionStep, Step
from shoal.privacy.base import ClassModel
from shoal.privacy.gate import Gate
from shoal.table.schema import ALL_OTHERS
from shoal.vocabulary.errors import PlanError
from shoal.vocabulary.registry import SCALE_NAMES, Scales, registered

EXACT_CELLS = 20_000_000
"""Cells (records times columns) of a table that is held whole where its plan does not say how it is to be worked on."""

FORMATS = ("parquet", "csv")

OF_RANKS = ("mad", "rank")
"""Standardisations that means, variances and ends of columns are not enough for."""

WHOSE = (
    "Hold the table whole (exact: true), or give the column the role household, which leaves as a new number, and say "
    "unit: household."
)
"""What to do where an identifier says whose records are whose."""


def is_for_parts(plan: Plan, cells: Callable[[], int], *, judged: bool = False) -> bool:
    """Whether a table is worked on in parts: as the plan says, else by its size, never by who works on it or where.

    Up to `EXACT_CELLS` cells a table is held whole and groups are formed exactly. Beyond, it is worked on in parts
    where all that the plan asks for can be done so; groups are formed in blocks of near records, which costs a little
    loss.

    Parameters
    ----------
    cells
        Called for the records times the columns of the table, where the plan leaves the choice to them.
    judged
        Whether the table is a released one, on which no step is carried out.

    Raises
    ------
    PlanError
        If the plan asks for parts, and for what needs the whole table, naming each step or section.
    """
    if plan.exact:
        return False
    problems = list(_requirements(plan)) if judged else whole_needed(plan)
    if plan.exact is None and plan.block_size is None:
        return not problems and cells() > EXACT_CELLS
    if problems:
        raise PlanError(
            f"On a table in parts, as 'exact: false' and block_size ask for: {' '.join(problems)} Or leave exact and "
            f"block_size out: a table that is held whole can do all of this."
        )
    return True


def whole_needed(plan: Plan) -> list[str]:
    """The steps, sections and requirements of a plan that need the whole table at once, each in a sentence."""
    return [*_steps(plan), *_sections(plan), *_requirements(plan)]


def class_models(plan: Plan) -> list[ClassModel]:
    """The requirements of a plan for a table in parts, all of which are proved class by class."""
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
        if isinstance(model, Gate):
            name = model.method_name
            yield f"A bound on {name} is proved only on a whole table. Name {name} in measures, without a bound."
        elif not isinstance(model, ClassModel):
            provable = ", ".join(entry.name for entry in registered("privacy") if entry.cls.scales == "classes")
            yield f"The requirement {model.method_name} is proved only on a whole table; on any are: {provable}."
        elif unseen := [name for name in model.identifiers if name not in plan.pseudonyms]:
            yield f"The values of '{unseen[0]}' are counted only where it is released. {WHOSE}"


def _sections(plan: Plan) -> Iterator[str]:
    if plan.constraints:
        yield "Edit rules (constraints) are restored only in a whole table. Leave them out."
    if plan.output.copies != 1:
        yield "output: copies must be 1. Release one table."
    if plan.output.format not in FORMATS:
        yield f"output: format must be parquet or csv; it is {plan.output.format}."
    columns = {**plan.schema.columns, ALL_OTHERS: plan.schema.all_others}
    for name, column in columns.items():
        if column is not None and column.scale in OF_RANKS and column.level in (None, "continuous"):
            yield f"scale: {column.scale} of '{name}' needs all its values at once. Set scale: sd or range."
    if "category" in {column.missing_policy for column in plan.schema.columns.values()}:
        yield "missing: category is for whole tables. Set missing: drop, impute or keep."
