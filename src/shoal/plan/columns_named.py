"""Columns that a plan names outside its columns: as units, for its ledger, and as accepted; sections that clash."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from shoal.privacy.base import PrivacyModel
from shoal.vocabulary.errors import Mistake, unknown

if TYPE_CHECKING:
    from shoal.plan.model import Plan


def misnamed(plan: "Plan") -> Iterator[Mistake]:
    """Mistakes of naming a column that the plan lacks, or that has another role."""
    yield from _of_units(plan)
    yield from _of_ledger(plan)
    yield from _of_accepted(plan)
    yield from _of_rules(plan)
    if plan.explore is not None:
        yield from chosen_by_the_table(plan.requirements)


CHOSEN = (
    "explore: candidates are compared by figures of the table, and no step pays for what the choice of one of them "
    "tells, so that differential cannot be proved of it. Explore a public table, or an invented one of shoal.example, "
    "and protect this one by what was chosen there, in a plan without the section explore."
)


def chosen_by_the_table(requirements: Iterable[PrivacyModel]) -> Iterator[Mistake]:
    """The mistake of requiring differential with a section `explore`, which plans keep that were chosen by it."""
    if any(model.of_account for model in requirements):
        yield (("explore",), CHOSEN)


def _of_units(plan: "Plan") -> Iterator[Mistake]:
    """Mistakes of naming a column as a unit to count or group by that has no role identifier."""
    named = [("requirements", number, name) for number, m in enumerate(plan.requirements) for name in m.identifiers]
    named += [("steps", number, name) for number, step in enumerate(plan.steps) for name in step.identifiers]
    for section, number, name in named:
        column = plan.schema.columns.get(name, plan.schema.all_others)
        if column is None or column.role != "identifier":
            sentence = (
                f"{section} {number + 1}: unit must be record, person, household or a column with the role identifier; "
                f"'{name}' is none. Give it that role, or name another."
            )
            yield ((section, number, "unit"), sentence)


def _of_ledger(plan: "Plan") -> Iterator[Mistake]:
    """Mistakes of naming columns for the ledger that the plan lacks, or that would be released."""
    named = {} if plan.ledger is None else {"key": plan.ledger.key, "left": plan.ledger.left}
    for key, name in named.items():
        column = None if name is None else plan.schema.columns.get(name, plan.schema.all_others)
        if name is not None and (column is None or (key == "left" and column.role != "identifier")):
            must = "one of the plan's columns" if column is None else "an identifier, so that it is never released"
            yield (("ledger", key), f"ledger: {key} must be {must}; '{name}' is none.")


def _of_accepted(plan: "Plan") -> Iterator[Mistake]:
    """Mistakes of accepting what is no released column."""
    for number, name in enumerate(plan.accept):
        column = plan.schema.columns.get(name, plan.schema.all_others)
        if column is None:
            yield (("accept", number), f"accept: {unknown('column', name, plan.schema.columns)}")
        elif column.role == "identifier":
            yield (("accept", number), f"accept: '{name}' is an identifier and is not released. Take it out.")


def _of_rules(plan: "Plan") -> Iterator[Mistake]:
    """Mistakes of rules over several records of a person."""
    rules, place = plan.edit_rules.of_persons, ("constraints",)
    if rules and not plan.schema.names("person"):
        yield (
            place,
            f"constraints: {rules[0]!r} is of several records of a person, and no column has the role person. Give "
            f"the column that numbers persons that role.",
        )
    if rules and plan.broken_rules == "repair":
        yield (
            place,
            f"constraints: an input that breaks {rules[0]!r} is not repaired, for any of several records may be "
            f"wrong. Set broken_rules: report, or correct it.",
        )
