"""Unique exact matches: people whom nobody resembles, and who stand in the release as they are."""

from typing import Annotated

import numpy as np

from shoal.judges.exact_matches import exact_matches
from shoal.judges.prelude import Finding, Generator, MissingCells, TablePair
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Count, OfPlan, Share, in_digits, method, plural


@method(
    "unique-exact-matches", title="Unique records that stand in the release", source="Task, Bhagat & Howarth (2023)"
)
class UniqueExactMatches(RiskMeasure):
    """Share of the unique original records that some released record equals in every column.

    Original records are unique if no other one has the same cells in the columns compared. Where synthetic data show
    many of them a table with few columns may do so by chance; where released records are people's own it is the share
    of unique people who were let out unchanged. A cell that was recoded is another cell.

    Parameters
    ----------
    columns
        By default the quasi-identifiers and confidential columns that both tables hold.
    missing
        What a missing cell matches: a missing cell (`equal`), every cell (`wildcard`), so that a suppressed record
        shows whoever it may stand for, or none (`nothing`). By default what the plan's requirements say, or else its
        steps that blank cells, and `equal` where nothing does.
    """

    question = "singling out"
    of_made_up = True
    over_tables = "profiles"
    needs = ("columns", "records")

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names, missing = self.compared(pair), self.missing or pair.missing
        matches = exact_matches(pair.before, pair.closure.records, names, missing)
        unique, shown = int(matches.unique.sum()), int(matches.shown.sum())
        share = shown / unique if unique else 0.0
        return self.finding(
            share,
            f"Of {plural(unique, 'original record')} that nobody else resembles, {shown:,} "
            f"({in_digits(100 * share, 3)} %) stand "
            f"in the release with the same cells in {plural(len(names), 'column')}.",
            facts={
                "unique originals": Count(n=unique),
                "share of originals that are unique": Share(value=unique / len(matches.unique)),
                "unique originals in the release": Count(n=shown),
                "columns": OfPlan(list(names)),
                "missing": OfPlan(missing),
            },
            record_risk=matches.showing.astype(np.float64),
        )
