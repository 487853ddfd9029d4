"""The constraints of a plan for several linked tables: rules over their rows, checked before a table is read."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from shoal.constraints.grammar import parse
from shoal.constraints.of_rows import names_of
from shoal.plan.mistakes import mistakes_of
from shoal.plan.model import Plan
from shoal.plan.sections import EditRules
from shoal.vocabulary.errors import ConstraintError, Mistake, PlanError, unknown

PLACE = ("constraints",)


class _Section(BaseModel):
    constraints: EditRules


def read_rules(section: Any, tables: Mapping[str, Plan]) -> EditRules:
    """The rules over several tables. Raises PlanError naming every mistake."""
    if section is None:
        return EditRules()
    try:
        rules = _Section.model_validate({"constraints": section}).constraints
    except ValidationError as error:
        raise _refused(mistakes_of(error, PLACE)) from None
    if mistakes := list(_mistakes(rules, tables)):
        raise _refused(mistakes)
    return rules


def _refused(mistakes: list[Mistake]) -> PlanError:
    return PlanError(" ".join(sentence for _, sentence in mistakes), mistakes)


def _mistakes(rules: EditRules, tables: Mapping[str, Plan]) -> Iterator[Mistake]:
    if rules.rules and rules.broken_rules == "repair":
        yield (
            PLACE,
            "constraints: an input whose tables break a rule together is not repaired, for any of several rows may be "
            "wrong. Set broken_rules: report, or correct it.",
        )
    for number, text in enumerate(rules.rules, 1):
        try:
            sentence = parse(text, number)
            for name, position in names_of(sentence).items():
                if problem := _unknown(name, tables):
                    sentence.fail(position, problem)
        except ConstraintError as error:
            yield PLACE, f"constraints: {error}"


def _unknown(name: str, tables: Mapping[str, Plan]) -> str:
    """The reason why a column that a rule names is none of the plan; empty if it is."""
    table, _, column = name.partition(".")
    if table not in tables or not column:
        return f"'{name}' names no column of a table; write TABLE.COLUMN, for a table of: {', '.join(tables)}."
    schema = tables[table].schema
    if column in schema.columns or schema.all_others is not None:
        return ""
    problem = unknown(f"column of '{table}'", column, schema.columns)
    return problem[0].lower() + problem[1:]
