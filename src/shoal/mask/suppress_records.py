"""Suppression of whole records."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.judges.table_pair import TablePair
from shoal.mask._generalisation.requirements import as_quasi_identifiers
from shoal.mask.base import Mask
from shoal.privacy.base import PrivacyModel
from shoal.table.prelude import Bools, Floats, Generator, Longs, MissingCells, Progress, Records, StepResult
from shoal.vocabulary.prelude import Count, Ge, Le, Refused, Setting, Share, method, nested


@method(
    "suppress-records",
    title="Suppression of records",
    source="Samarati (2001)",
    example={"k": 3, "limit": 1},
    example_columns=("sex",),
)
class SuppressRecords(Mask):
    """Drops the records that share the step's columns with fewer than k records, up to a limit.

    A record dropped may leave others with too few matches, or a requirement that they fail; they are dropped in turn
    until what is left satisfies all.

    Parameters
    ----------
    k
        Records that must share the columns.
    limit
        Largest share of the records that may be dropped; if more would have to be, nothing is released.
    missing
        What a missing cell matches: another missing cell (`equal`), everything (`wildcard`), or `nothing`. By default
        as the plan's requirements on these columns read it, else as the plan does (`Plan.reading`), else `equal`.
    requirements
        Privacy models that what is left must satisfy on the step's columns beside k, as in
        `[{method: k-map, k: 5, population: people.csv}]`: the records that one fails on are dropped, of `average-risk`
        those of the smallest classes. A model that fails and says of no record that it fails on it refuses the step.
    """

    scales = "combinations"
    default_reading = "equal"

    k: Annotated[int, Ge(1)]
    limit: Annotated[float, Ge(0), Le(1), Setting()]
    missing: MissingCells | None = None
    requirements: tuple[Annotated[PrivacyModel, nested("privacy")], ...] = ()

    def apply(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> StepResult:
        left = records
        while len(left) and (failing := self._failing(records, left, columns)) is not None:
            left = left.take(~failing)
        return self._result(left, len(records) - len(left), len(records))

    @property
    def reading(self) -> MissingCells:
        return self.missing or self.default_reading

    @property
    def whole_needed(self) -> str:
        return "the records that its requirements fail on; require them of the table" if self.requirements else ""

    def on_combinations(
        self, records: Records, times: Longs, columns: Sequence[str], progress: Progress = None
    ) -> StepResult:
        """Drop distinct combinations of a table; the facts are those of the table.

        `records`: one for each combination of the columns, and of the strata; `times`, shape (n,): how many records of
        the table have it.
        """
        left, count, total = records, times, int(times.sum())
        while len(left):
            kept = self._matching(left, count, columns) >= self.k
            if kept.all():
                break
            left, count = left.take(kept), count[kept]
        return self._result(left, total - int(count.sum()), total)

    def _matching(self, records: Records, times: Longs, columns: Sequence[str]) -> Floats:
        """Shape (n,); records that one of each combination may stand for."""
        matching = records.matching_weight(columns, times.astype(np.float64), self.reading)
        if self.reading != "nothing":
            return matching
        lacking = np.logical_or.reduce([records[name].missing for name in columns])
        return np.where(lacking, matching - times + 1, matching)  # such a record counts for itself alone

    def _result(self, left: Records, dropped: int, total: int) -> StepResult:
        """Result for the records that are left; refused where too many were dropped."""
        if dropped > self.limit * total * (1 + 1e-12):
            reached = f"k = {self.k}" + (" and what else is required" if self.requirements else "")
            raise Refused(
                f"suppress-records would have to drop {dropped:,} of {total:,} records to reach {reached}, "
                f"more than the limit of {self.limit:g}. Raise the limit, or recode first."
            )
        bounded = self.reading == "equal" and not self.requirements  # else one record may carry many that lack cells
        influence = float(self.k) if bounded else None
        of_share = None if influence is None or total < 2 else influence / (total - 1)
        facts = {
            "records dropped": Count(n=dropped, influence=influence),
            "share": Share(value=dropped / max(total, 1), influence=of_share),
        }
        return StepResult(records=left, facts=facts)

    def _failing(self, records: Records, left: Records, columns: Sequence[str]) -> Bools | None:
        """Shape (n',); which of the records left are to be dropped next; None where all is satisfied."""
        few = left.matching(columns, self.reading) < self.k
        if few.any() or not self.requirements:
            return np.asarray(few) if few.any() else None
        pair = TablePair.of(as_quasi_identifiers(records, columns), as_quasi_identifiers(left, columns), traced=True)
        for model in self.requirements:
            verdict = model.verdict_on(pair)
            if not verdict.holds and (verdict.failing is None or not verdict.failing.any()):
                why = f" {verdict.sentence}" if verdict.achieved is None else ""
                raise Refused(
                    f"suppress-records: {verdict.requirement} does not hold, and does not say on which records it "
                    f"fails.{why} Recode first, or require it of the table, under requirements."
                )
            if not verdict.holds:
                return verdict.failing
        return None
