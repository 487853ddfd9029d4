"""A plan carried out once more on other records, for attackers who know the plan and try it on tables of their own."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.kernels.draws import keyed_generator
from shoal.plan import Plan
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import InputError, NoFigure, Refused, quoted
from shoal.vocabulary.progress import OnProgress


@dataclass(frozen=True, kw_only=True, eq=False)
class OnOtherRecords:
    """A plan that can be carried out on some records of its table and of another (`shoal.judges.table_pair.Again`).

    Parameters
    ----------
    carry_out
        Carries the plan out on a table with a seed, and returns the records that would be released.
    """

    plan: Plan
    original: Microdata
    carry_out: Callable[[Microdata, Plan, int], Records]
    tell: OnProgress

    def __call__(self, others: Any, mine: Longs, theirs: Longs, seed: int, course: tuple[int, int]) -> Records:
        self.tell(f"carrying the plan out again, {course[0] + 1} of {course[1]}", course[0] / course[1])
        frame = pl.concat([self.original.frame.to_polars()[mine], self._like_mine(others)[theirs]])
        order = keyed_generator(seed, 0).permutation(len(frame))
        table = replace(self.original, frame=nw.from_native(frame[order], eager_only=True), kind="frame", spellings={})
        try:
            return self.carry_out(table, self.plan, seed)
        except (InputError, Refused) as error:
            raise NoFigure(f"The plan cannot be carried out on other records, some of the holdout: {error}") from None

    def _like_mine(self, others: Any) -> pl.DataFrame:
        """The same columns of a further table, in the types of the plan's."""
        mine: pl.DataFrame = self.original.frame.to_polars()
        try:
            frame: pl.DataFrame = nw.from_native(others, eager_only=True).to_polars()
        except TypeError:
            raise NoFigure("The holdout must be a file or a data frame: the plan is carried out on it.") from None
        if absent := [name for name in mine.columns if name not in frame.columns]:
            raise NoFigure(f"The holdout must have all columns of the table, and lacks {quoted(absent)}.")
        try:
            return frame.select(pl.col(name).cast(kind) for name, kind in mine.schema.items())
        except pl.exceptions.PolarsError:
            raise NoFigure("Columns of the holdout are of other types than those of the table.") from None
