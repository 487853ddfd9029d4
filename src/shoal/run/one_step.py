"""One step of a plan on records, and the facts that it leaves, however the table is held."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.kernels.arrays import Bools
from shoal.mask._suppression.task import without_cells
from shoal.plan import Plan
from shoal.plan.steps import PartitionStep, Step, settings_of
from shoal.privacy.base import ClassModel
from shoal.table.records import Records
from shoal.table.schema import UNITS, default_unit
from shoal.table.step_result import StepAccount, StepResult
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import Facts, of_original, unbounded
from shoal.vocabulary.progress import OnProgress

SEQUENCE = "sequence of earlier releases"
"""Name of a column, never released, with equal cells for persons of whom earlier releases tell the same.

Its categories are pairs: a number, and the columns that were blank in the last of these releases.
"""


def result_of(
    step: Step, records: Records, columns: tuple[str, ...], plan: Plan, rng: np.random.Generator, tell: OnProgress
) -> StepResult:
    """A step carried out on all records at once.

    Raises
    ------
    Refused
        If the step refuses, or leaves no record.
    """
    tell(step.name, 0.0)
    blanks = getattr(step.method, "blanks_cells", False)  # beside what nobody will see no cell need be blanked
    unseen = {*plan.unreleased, SEQUENCE}
    hidden = (unseen & set(records.names())) - set(columns) - _counted(step, plan) if blanks else set()
    result = step.carry_out(records.without(hidden), columns, rng, lambda fraction: tell(step.name, fraction))
    if hidden:
        shown = result.records.with_variables(*(records[name] for name in sorted(hidden)))
        result = replace(result, records=shown)
    tell(step.name, 1.0)
    refuse_nothing_left(step, len(result.records))
    return result


def forms_groups_of_persons(step: Step, plan: Plan) -> bool:
    """True if a step puts the quasi-identifiers of single records into groups."""
    if not isinstance(step, PartitionStep) or step.method.one_group:
        return False
    of_records = (step.unit or default_unit(plan.schema.names)) == "record"
    return of_records and bool({*step.changes(plan.schema)} & {*plan.schema.names("quasi-identifier")})


def result_within_sequences(
    step: Step, records: Records, plan: Plan, rng: np.random.Generator, tell: OnProgress
) -> StepResult:
    """A step whose groups do not mix persons of whom earlier releases tell different things; without facts on these."""
    strata = records.with_variables(replace(records[SEQUENCE], role="stratum"))
    result = result_of(step, strata, step.changes(plan.schema), plan, rng, tell)
    back = result.records.with_variables(replace(result.records[SEQUENCE], role="identifier"))
    return replace(result, records=back, facts={n: fact for n, fact in result.facts.items() if n != "strata"})


def keeps_blanks(step: Step, records: Records) -> bool:
    """True if a step blanks cells for k-anonymity alone, and k share each sequence of earlier releases."""
    method = step.method
    if not getattr(method, "blanks_cells", False) or method.requirements or method.subsets is not None:
        return False
    sizes = np.bincount(records[SEQUENCE].values)[: len(records[SEQUENCE].categories) - 1]  # without newcomers
    return bool((sizes[sizes > 0] >= method.k).all())


def blanked_as_before(step: Step, records: Records, columns: Sequence[str]) -> StepResult:
    """The cells blanked that were blank in the last release of a person, and none of newcomers.

    Persons of whom earlier releases tell the same share their cells with k already, and will (`hold_back`).
    """
    patterns = [set(blank) for _, blank in records[SEQUENCE].categories]
    blank = np.array([[name in pattern for name in columns] for pattern in patterns])[records[SEQUENCE].values]
    counts = {"cells blanked as in the last release": int((blank & ~_missing(records, columns)).sum())}
    facts = {**settings_of(step.method), **of_original(counts)}
    return StepResult(records=without_cells(records, columns, blank), masked=tuple(columns), facts=facts)


def _missing(records: Records, columns: Sequence[str]) -> Bools:
    return np.column_stack([records[name].missing for name in columns])


def _counted(step: Step, plan: Plan) -> set[str]:
    """The columns whose values the step's requirements count."""
    models = getattr(step.method, "requirements", ())
    units = {name for model in models if isinstance(model, ClassModel) for name in model.units}
    return {*units, *plan.schema.names(*(unit for unit in units if unit in UNITS))}


def refuse_nothing_left(step: Step, records: int) -> None:
    """Refuse a step that left no record."""
    if not records:
        raise Refused(
            f"Nothing was released. The step {step.name} left no record. Let it ask for less, or leave it out."
        )


def facts_after(plan: Plan, facts: Facts, accounts: Sequence[StepAccount]) -> Facts:
    """The facts of a step, of which no record's influence is bounded where an earlier one may have spread it."""
    imputed = any(column.missing_policy == "impute" for column in plan.schema.columns.values())
    return unbounded(facts) if imputed or accounts else facts
