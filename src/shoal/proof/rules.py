"""Edit rules judged on a table in parts: each record by itself, part by part, by the code of memory mode."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from shoal.constraints import Constraints
from shoal.constraints.blank_columns import with_blank_numbers
from shoal.constraints.precision import Decimals, of_all
from shoal.constraints.verdicts import joined
from shoal.judges.evidence import Verdict
from shoal.table.parts.encoding import released_records
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.stage import Stage
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused


def rules_on(stage: Stage, whole: WholeTable, rules: Sequence[str]) -> list[Verdict]:
    """Verdicts on a plan's rules for a released table.

    Raises
    ------
    Refused
        If the rules let missing cells be filled in, for a large table is not judged with these filled in.
    """
    if not rules:
        return []
    texts = tuple(rules)
    decimals = of_all(list(stage.each(partial(_decimals, whole=whole, rules=texts))))
    parts = stage.each(partial(_checked, whole=whole, rules=texts, decimals=decimals))
    return [joined(verdicts) for verdicts in zip(*parts)]


def _bound(chunk: pl.DataFrame, whole: WholeTable, rules: Sequence[str]) -> tuple[Constraints, Records]:
    released = with_blank_numbers(released_records(chunk, whole), rules)
    return Constraints.parse(rules, released, released=True).as_written(), released


def _decimals(chunk: pl.DataFrame, whole: WholeTable, rules: Sequence[str]) -> Decimals:
    bound, released = _bound(chunk, whole, rules)
    return bound.decimals_of(released)


def _checked(chunk: pl.DataFrame, whole: WholeTable, rules: Sequence[str], decimals: Decimals) -> list[Verdict]:
    bound, released = _bound(chunk, whole, rules)
    if bound.deduced(released) is not released:
        raise Refused(
            "Nothing was released. The rules of the plan determine missing cells, so that these are given away; a "
            "table in parts is not judged with such cells filled in. Say exact: true in the plan."
        )
    return replace(bound, decimals=decimals).check(released)
