"""Refusal of plans that ask for what cannot hold, before a record is read."""

from collections.abc import Iterator

from shoal.judges.class_figures import MEANING
from shoal.mask.remove_identifiers import RemoveIdentifiers
from shoal.plan.model import Plan
from shoal.privacy.k_anonymity import KAnonymity
from shoal.table.schema import UNITS
from shoal.vocabulary.errors import Mistake, PlanError, quoted

NEVER_ANEW = (*UNITS, "stratum")
"""Roles of columns that no step draws anew: units stay together, and records are drawn inside their stratum."""

IN_WORDS = {"equal": "a missing cell matching another one only", **MEANING}
"""Readings of a missing cell, in words."""


def admit(plan: Plan) -> None:
    """Refuse a plan whose copies would tell more together than each alone, or whose readings of missing cells clash.

    A step and a requirement clash where they read missing cells in ways that cannot both hold. A plan that describes
    columns by `*` is checked for the columns that it names, until `Plan.covering` names all.

    Raises
    ------
    PlanError
        Naming the columns, or the two places, and what to do.
    """
    if mistakes := [*_copies(plan), *_readings(plan)]:
        raise PlanError(" ".join(sentence for _, sentence in mistakes), mistakes)


def _copies(plan: Plan) -> Iterator[Mistake]:
    """The mistake of asking for copies that share cells: joined on these, or averaged, copies give records away."""
    if plan.output.copies == 1 or not (left := _not_anew(plan)):
        return
    role = plan.schema.names(*NEVER_ANEW)
    other_role = f"give {quoted(role)} another role, and " if role else ""
    yield (
        ("output", "copies"),
        f"output: copies must be 1, for {quoted(left)} would not be made anew for the whole table, and what copies "
        f"share joins them into more than each is proved for. To release several, {other_role}replace every released "
        f"column as in {{partition: whole, replace: {{method: cart, min_leaf: 10}}, columns: [...]}}.",
    )


def _not_anew(plan: Plan) -> list[str]:
    """Released columns whose cells still depend on single records after all steps.

    Cells are drawn anew if all records are one group and the predictors were drawn anew as well. Once no other column
    is left, later steps change nobody's record.
    """
    identifiers = {
        name
        for step in plan.steps
        if "identifier" in step.default_roles and not isinstance(step.method, RemoveIdentifiers)
        for name in step.changes(plan.schema)
    }
    columns = plan.schema.columns
    released = [name for name in columns if columns[name].role != "identifier" or name in identifiers]
    drawn = {name for name in released if columns[name].role not in NEVER_ANEW}
    anew: set[str] = set()
    for step in plan.steps:
        changed = step.changes(plan.schema)
        predictors = set(released).difference(changed) if step.predictors is None else set(step.predictors)
        if step.as_a_whole and predictors <= anew:
            anew |= drawn.intersection(changed)
        elif not anew.issuperset(released):
            anew -= set(changed)
    return [name for name in released if name not in anew]


def _readings(plan: Plan) -> Iterator[Mistake]:
    """Clashes between the last step that counts how often cells occur and each requirement on its columns.

    Records that are alike under any other reading are alike where a missing cell matches every value. No other reading
    implies another.
    """
    steps = [(number, step) for number, step in enumerate(plan.steps) if getattr(step.method, "reading", None)]
    for number, step in steps[-1:]:
        read = plan.as_read(step).method.reading
        for model in plan.on_columns_of(step):
            required = getattr(model, "missing", None)
            if required in (None, "wildcard", read) or (isinstance(model, KAnonymity) and model.k == 1):
                continue
            place = next(place for place, requirement in enumerate(plan.requirements, 1) if requirement is model)
            yield (
                ("steps", number),
                f"steps {number + 1} ({step.name}) works with {IN_WORDS[read]}, requirements {place} "
                f"({model.method_name}) with {IN_WORDS[required]}, which the step does not reach. Give both the same "
                f"'missing', or leave it out of the step.",
            )
