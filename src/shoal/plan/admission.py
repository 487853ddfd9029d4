"""What a plan asks for that cannot hold: said before a record is read."""

from collections.abc import Iterator

from shoal.judges.class_figures import MEANING
from shoal.mask.remove_identifiers import RemoveIdentifiers
from shoal.plan.model import Plan
from shoal.privacy.k_anonymity import KAnonymity
from shoal.vocabulary.errors import Mistake, PlanError, quoted

NEVER_ANEW = ("household", "stratum")
"""Roles of columns that no step makes anew: who lives together stays, and records are drawn inside their stratum."""

IN_WORDS = {"equal": "a missing cell matching another one only", **MEANING}
"""Readings of a missing cell."""


def admit(plan: Plan) -> None:
    """Refuse a plan whose copies tell more together than each of them, or whose steps and requirements read missing
    cells in ways that cannot both hold.

    Of a plan that describes columns by `*` only those that it names are looked at, until `Plan.covering` names all.

    Raises
    ------
    PlanError
        Naming the columns, or the two places, and what to do.
    """
    if mistakes := [*_copies(plan), *_readings(plan)]:
        raise PlanError(" ".join(sentence for _, sentence in mistakes), mistakes)


def _copies(plan: Plan) -> Iterator[Mistake]:
    """Copies share whatever is not drawn anew for all records: joined on it, or averaged, they give cells away."""
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
    """The released columns whose cells tell of single records when all steps are done.

    Cells are made anew where all records are one group, and what they are drawn from was made anew as well. Whatever
    other steps do to such a table is done to nobody's records, once no other column is left in it.
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
    """The last step that asks how often cells occur against each requirement on its columns that does.

    Records that are alike where a missing cell matches anything less are alike where it matches every value; nothing
    else follows from another reading.
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
