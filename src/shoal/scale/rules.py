"""Edit rules judged on a table larger than memory: each record by itself, part by part, by the code of memory mode."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from shoal.constraints import Constraints
from shoal.constraints.blank_columns import with_blank_numbers
from shoal.data.schema import Schema
from shoal.errors import Refused, plural
from shoal.facts import of_release
from shoal.judges.evidence import Verdict
from shoal.scale.moments import WholeTable
from shoal.scale.part_work import released_records
from shoal.scale.stage import Stage


def rules_on(stage: Stage, whole: WholeTable, schema: Schema, rules: Sequence[str]) -> list[Verdict]:
    """What becomes of a plan's rules on a released table.

    Raises
    ------
    Refused
        If the rules let missing cells be filled in, for a large table is not judged with these filled in.
    """
    if not rules:
        return []
    parts = stage.each(partial(_checked, whole=whole, schema=schema, rules=tuple(rules)))
    return [_joined(verdicts) for verdicts in zip(*parts)]


def _checked(chunk: pl.DataFrame, whole: WholeTable, schema: Schema, rules: Sequence[str]) -> list[Verdict]:
    released = with_blank_numbers(released_records(chunk, whole), rules)
    bound = Constraints.parse(rules, released, released=True).as_written(schema.decimals)
    if bound.deduced(released) is not released:
        raise Refused(
            "Nothing was released. The rules of the plan determine missing cells, so that these are given away; a "
            "table larger than memory is not judged with such cells filled in. Take --engine memory."
        )
    return bound.check(released)


def _joined(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on one rule from those of all parts."""
    if lost := [verdict for verdict in verdicts if verdict.achieved is None]:
        return lost[0]
    broken = [verdict for verdict in verdicts if not verdict.holds]
    count = int(sum(verdict.achieved or 0 for verdict in verdicts))
    records = sum(int(verdict.details["records"]) for verdict in verdicts)
    text = verdicts[0].requirement
    if not broken:
        sentence = f"All {records:,} records obey the rule {text!r}."
    else:
        advice = {verdict.sentence.partition(f"the rule {text!r}.")[2] for verdict in broken}
        sentence = f"{plural(count, 'record')} {'breaks' if count == 1 else 'break'} the rule {text!r}."
        sentence += advice.pop() if len(advice) == 1 else ""
    return replace(
        verdicts[0],
        holds=not broken,
        achieved=float(count),
        sentence=sentence,
        facts=of_release({"records": records, "records that break it": count}),
        failing=None,
    )
