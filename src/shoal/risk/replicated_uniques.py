"""Replicated uniques: released records that are unique and equal a unique original."""

from typing import Annotated

import numpy as np

from shoal.judges.exact_matches import exact_matches
from shoal.judges.prelude import Finding, Generator, MissingCells, TablePair
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Count, OfPlan, OfRelease, in_digits, method, plural


@method("replicated-uniques", title="Replicated uniques", source="Nowok, Raab & Dibben (2016)")
class ReplicatedUniques(RiskMeasure):
    """Released records that are unique in the release and equal a unique original, per original record.

    Whoever finds the only released record with someone's quasi-identifiers, and knows that nobody else in the
    original has them, will take it for that person's. In synthetic data the record may be an invention; taking
    such records out before release is customary, since nobody outside can tell.

    Parameters
    ----------
    columns
        What the intruder knows; by default the quasi-identifiers.
    missing
        What a missing cell matches: a missing cell (`equal`), every cell (`wildcard`) or none (`nothing`). By default
        what the plan's requirements say, or else its steps that blank cells, and `equal` where nothing does.
    """

    question = "singling out"
    of_made_up = True
    over_tables = "profiles"
    needs = ("columns", "records")
    roles = ("quasi-identifier",)

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names, released, missing = self.compared(pair), pair.closure.records, self.missing or pair.missing
        matches = exact_matches(pair.before, released, names, missing)
        alone = released.matching(names, missing) == 1
        replicated = alone & matches.showing
        count, total = int(replicated.sum()), len(matches.unique)
        return self.finding(
            min(1.0, count / total),
            f"{plural(count, 'released record')} {'is' if count == 1 else 'are'} unique in "
            f"{plural(len(names), 'column')} and {'equals' if count == 1 else 'equal'} an original that is unique "
            f"there, too: "
            f"{in_digits(100 * count / total, 3)} for every 100 original records.",
            facts={
                "uniques of the original": Count(n=int(matches.unique.sum())),
                "uniques of the release": OfRelease(int(alone.sum())),
                "replicated uniques": Count(n=count),
                "columns": OfPlan(list(names)),
                "missing": OfPlan(missing),
            },
            record_risk=replicated.astype(np.float64),
        )
