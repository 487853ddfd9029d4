"""Ranges of numbers in a large release that laws of the original bound (`shoal.table.narrowed_ranges`).

On a table in memory such ranges are narrowed down, and everything must hold then as well. A table in parts is not: if
a law narrows ranges down in records at equal distances, the release is refused.
"""

from shoal.judges.closure import remedy
from shoal.proof.given_away import records_seen
from shoal.table.arithmetic import Arithmetic
from shoal.table.dependencies import gives_back
from shoal.table.laws import with_steps
from shoal.table.narrowed_ranges import generalised, has_ranges, narrowed
from shoal.table.parts.stage import OWN, Stage
from shoal.table.schema import Schema
from shoal.vocabulary.errors import Refused


def refuse_bounded(stage: Stage, schema: Schema, original: Stage) -> None:
    """Refuse a released table with ranges that laws of the table it was made from narrow down.

    Raises
    ------
    Refused
        Naming the columns.
    """
    came = original.schema
    names = [name for name in stage.schema if name not in OWN and name in came]
    labels = [name for name in names if not stage.schema[name].is_numeric()]
    if not labels or not any(map(has_ranges, records_seen(stage, schema, labels).variables)):
        return
    released = records_seen(stage, schema, names)
    before = records_seen(original, schema, names)
    arithmetic = Arithmetic(before, generalised(released, before))
    for law, name, _ in narrowed(released, [with_steps(law, arithmetic) for law in arithmetic.laws])[1]:
        raise Refused(
            f"Nothing was released. {remedy([gives_back(law.others(name), name)])} A table in parts is not judged with "
            f"ranges narrowed down."
        )
