"""Audit: a plan's requirements proved or refuted on a released table of any size, whoever made it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.desk.audit_whole import audit_whole
from shoal.desk.given import EngineName, Given
from shoal.judges.evidence import Evidence
from shoal.plan import Plan
from shoal.plan.any_plan import any_plan
from shoal.run.parts.admission import whole_needed_to_judge
from shoal.table.files.table import Table
from shoal.table.parts.session import allowance
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.progress import OnProgress, shown

if TYPE_CHECKING:
    from shoal.plan.linked import LinkedPlan


def audit(
    table: Any,
    plan: "Plan | LinkedPlan | Mapping[str, Any] | str | Path",
    *,
    original: Any = None,
    private: str | Path | None = None,
    seed: int = 0,
    memory: str | int | None = None,
    workers: int | None = None,
    engine: EngineName | None = None,
    stage: OnProgress | None = None,
    reading: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Evidence:
    """Prove or refute a plan's requirements on a released table, whoever made it.

    Parameters
    ----------
    table
        The released table, as for `shoal.protect`. Cells that a file spells differently stay different. A table of more
        than 20 million cells is judged in parts, with the same verdicts. For a plan with `tables`, a mapping of tables
        by their names, a list of their files, or the folder that these are in.
    plan
        Only its columns, requirements, measures and constraints matter.
    original
        The table that the release was made from. Only with it are risk and loss measured, and do cells that its laws
        restore (`shoal.table.laws`) count as given away.
    private
        The private folder of the release, which pairs released with original records and holds their groups. Without
        it both tables must hold the same records in the same order, and the plan must say so:
        `output: {shuffle: false}`.
    seed
        Seed of measures that sample.
    memory, workers, engine, stage, reading, folder
        As for `shoal.protect`.

    Raises
    ------
    Refused
        If a table in parts lets missing cells be deduced: such a table is judged only as a whole.
    DataError
        If the table has no records, since every requirement would hold emptily.
    InputError
        If a table, the plan or the private folder cannot be used.
    """
    described = any_plan(plan, folder)
    if not isinstance(described, Plan):
        if original is not None or private is not None:
            raise ParameterError("Several tables are audited by themselves. Leave original and private out.")
        from shoal.desk.linked import audit_linked

        return audit_linked(table, described, memory=memory, reading=reading)
    given = Given.of(table, reading, judged=True)
    allowed = allowance(memory)
    alone = original is None and private is None
    with shown(stage) as tell:
        if alone and given.in_parts(described):
            from shoal.desk.audit_in_parts import audit_in_parts
            from shoal.desk.in_parts import Workshop

            return audit_in_parts(given, described, Workshop(memory=allowed, workers=workers, engine=engine, tell=tell))
        needed = whole_needed_to_judge(described) if alone else ["Leave the original out."]
        data = given.in_memory(allowed, needed)
        before = original.frame if isinstance(original, Table) else original
        return audit_whole(data, described, original=before, private=private, seed=seed)
