"""Inconsistencies: released records that cannot be."""

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from annotated_types import MinLen
from pydantic import AfterValidator

from shoal.constraints import Constraints
from shoal.constraints.grammar import parse
from shoal.judges.prelude import Bools, Finding, Generator, Records, TablePair
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import ConstraintError
from shoal.vocabulary.prelude import HoldsCells, NoFigure, OfOriginal, OfRelease, in_digits, method, plural


def _readable(rules: tuple[str, ...]) -> tuple[str, ...]:
    for number, rule in enumerate(rules, start=1):
        try:
            parse(rule, number)
        except ConstraintError as error:
            raise ValueError(str(error)) from None
    return rules


@method(
    "inconsistencies",
    title="Records that break rules",
    source="Task, Bhagat & Howarth (2023)",
    example={"rules": ["age >= 0"]},
)
class Inconsistencies(UtilityMeasure):
    """Share of released records that break at least one of some rules: children with a pension, rent for owners.

    Rules that a release must obey stand under `constraints` in the plan and are enforced. These here are only
    counted, in the release and, in private, in the original. A missing cell breaks no rule.

    Parameters
    ----------
    rules
        In the language of constraints: `age < 15 -> marital == 'never'`.
    """

    limits = (0.0, 1.0)
    needs = ("records",)

    rules: Annotated[tuple[str, ...], MinLen(1), AfterValidator(_readable), HoldsCells()]

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        try:
            broken = self._broken(pair.released)
        except ConstraintError as error:
            raise NoFigure(str(error)) from None
        rows = np.logical_or.reduce(list(broken.values()))
        count = int(rows.sum())
        share = count / len(rows)
        before = self._in_original(pair)
        return self.finding(
            share,
            f"{plural(count, 'released record')} ({in_digits(100 * share, 3)} %) "
            f"{'breaks' if count == 1 else 'break'} at least "
            f"one of {plural(len(self.rules), 'rule')}.",
            influence=0,
            facts={
                "records that break a rule": OfRelease(count),
                "by rule": OfOriginal(
                    {rule: int(breaking.sum()) for rule, breaking in broken.items()}
                ),  # rules may name cells
                **(
                    {}
                    if before is None
                    else {"by rule, in the original": OfOriginal({r: int(b.sum()) for r, b in before.items()})}
                ),
            },
            by_record={"broken rules": np.sum(list(broken.values()), axis=0)},
        )

    def _in_original(self, pair: TablePair) -> Mapping[str, Bools] | None:
        """The original records that break each rule; None where the rules do not fit that table.

        It has other columns or other labels then, and the figure of the release stands all the same: nothing of what
        is public may hang on the original.
        """
        try:
            return None if pair.original is None else self._broken(pair.original)
        except ConstraintError:
            return None

    def _broken(self, table: Records) -> Mapping[str, Bools]:
        return Constraints.parse(self.rules, table, released=True).violations(table)
