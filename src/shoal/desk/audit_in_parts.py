"""A plan's requirements proved or refuted on a released table in parts."""

import tempfile
from pathlib import Path

from shoal.desk.audit_whole import identifiers_left
from shoal.desk.given import Given, engine_for
from shoal.desk.in_parts import Workshop
from shoal.judges.evidence import Evidence
from shoal.plan import Plan
from shoal.proof.given_away import refuse_given_away
from shoal.proof.in_parts import Judged
from shoal.proof.narrowed import refuse_narrowed
from shoal.proof.rules import rules_on
from shoal.run.parts.admission import class_models
from shoal.table.parts.intake import left_in_place
from shoal.table.parts.moments import numbers
from shoal.table.parts.session import session
from shoal.table.parts.stage import Stage as Parts
from shoal.table.schema import Schema
from shoal.vocabulary.errors import SchemaError, quoted


def audit_in_parts(given: Given, plan: Plan, workshop: Workshop) -> Evidence:
    """Prove or refute a plan's requirements on a released table in parts, with the figures of a whole table.

    Raises
    ------
    DataError
        If the table has no records, since every requirement would hold emptily.
    Refused
        If the table lets missing cells be deduced: such a table is judged only as a whole.
    InputError
        If the table or the plan cannot be used.
    """
    required = class_models(plan)
    allowance, tell = workshop.memory, workshop.tell
    with tempfile.TemporaryDirectory(prefix="shoal-") as place, session(allowance, Path(place) / "spill") as connection:
        at_work = engine_for(given.data, workshop.engine, Path(place), allowance, workshop.workers)
        source = given.source(connection, lambda: Path(place, "given"))
        described = plan.covering(source.columns)
        schema = described.schema
        if unknown := [name for name in source.columns if name not in schema.columns]:
            raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unknown)}.")
        kept = {n: c.model_copy(update={"missing": "keep"}) for n, c in schema.columns.items() if n in source.columns}
        tell("reading", 0.0)
        Path(place, "parts").mkdir()
        with source.checked():
            table = left_in_place(source, Schema.model_construct(root=kept), Path(place, "parts"), at_work)
            refuse_given_away(table, schema, allowance, Path(place) / "spill")
            refuse_narrowed(table, schema, described.folder, allowance, Path(place) / "spill")
            judged = Judged.of(table, schema, described.folder, Path(place), connection, allowance, tell)
            rules = rules_on(table, judged.whole, described.constraints)
            verdicts = judged.judged(required)[0] + rules
            if left := [name for name in table.columns if _identifies(described, table, name)]:
                verdicts.append(identifiers_left(left))
    return Evidence(verdicts=tuple(verdicts), findings=())


def _identifies(plan: Plan, table: Parts, name: str) -> bool:
    """True if a column is an identifier with cells that no step of the plan could have left."""
    column = plan.schema.columns[name]
    return column.role == "identifier" and not all(
        plan.coded(numbers(chunk[name], column)) for chunk in table.chunks((name,))
    )
