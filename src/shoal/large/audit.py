"""A plan's requirements proved or refuted on a released table larger than memory, whoever made it."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from shoal.audit import identifiers_left
from shoal.data.schema import Schema
from shoal.errors import SchemaError, quoted
from shoal.judges.evidence import Evidence
from shoal.large.given import engine_for, table_given
from shoal.plan import Plan
from shoal.progress import Stage
from shoal.scale.admission import check_requirements
from shoal.scale.given_away import refuse_given_away
from shoal.scale.intake import taken_in
from shoal.scale.moments import numbers
from shoal.scale.narrowed import refuse_narrowed
from shoal.scale.proof import Judged
from shoal.scale.rules import rules_on
from shoal.scale.session import bytes_of, half_of_memory, session
from shoal.scale.stage import Stage as Parts


def audit_large(
    data: Any,
    plan: Plan | Mapping[str, Any] | str | Path,
    *,
    memory: str | int | None = None,
    workers: int | None = None,
    engine: Literal["duckdb", "spark"] | None = None,
    stage: Stage | None = None,
    reading: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Evidence:
    """Prove or refute a plan's requirements on a released table that does not fit into memory.

    The figures are those of `audit`. Parameters are those of `protect_large`; only the plan's columns,
    requirements and constraints matter.

    Raises
    ------
    DataError
        If the table has no records, for then everything would hold.
    Refused
        If the table gives missing cells away itself, which is judged only in memory.
    InputError
        If the table or the plan cannot be used.
    """
    described = Plan.of(plan, folder)
    required = check_requirements(described)
    allowance = half_of_memory() if memory is None else bytes_of(memory)
    tell = stage or (lambda text, fraction: None)
    with tempfile.TemporaryDirectory(prefix="shoal-") as place, session(allowance, Path(place) / "spill") as connection:
        at_work = engine_for(data, engine, Path(place), allowance, workers)
        source = table_given(data, connection, reading, judged=True).source(lambda: Path(place, "given"))
        described = described.covering(source.columns)
        schema = described.schema
        if unknown := [name for name in source.columns if name not in schema.columns]:
            raise SchemaError(f"The released table has columns that the plan does not know: {quoted(unknown)}.")
        kept = {n: c.model_copy(update={"missing": "keep"}) for n, c in schema.columns.items() if n in source.columns}
        tell("reading", 0.0)
        Path(place, "parts").mkdir()
        table, _, _ = taken_in(source, Schema.model_construct(root=kept), Path(place, "parts"), at_work, judged=True)
        refuse_given_away(table, schema, allowance, Path(place))
        refuse_narrowed(table, schema, described.folder, allowance, Path(place))
        judged = Judged.of(table, schema, described.folder, Path(place), at_work, tell)
        rules = rules_on(table, judged.whole, described.constraints)
        verdicts = judged.judged(required)[0] + rules
        if left := [name for name in table.columns if _identifies(described, table, name)]:
            verdicts.append(identifiers_left(left))
    return Evidence(verdicts=tuple(verdicts), findings=())


def _identifies(plan: Plan, table: Parts, name: str) -> bool:
    """Whether a column is an identifier that no step of the plan leaves as it is."""
    column = plan.schema.columns[name]
    return column.role == "identifier" and not all(
        plan.coded(numbers(chunk[name], column)) for chunk in table.chunks((name,))
    )
