"""Distance to the closest record: are released records nearer to the people behind them than to others?"""

from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import like
from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Finding, Generator, TablePair, common, comparable
from shoal.judges.space import embedded
from shoal.kernels.search.nearest import TIE, nearest_distance
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Count, Figure, NoFigure, OfPlan, Share, TablePath, method


@method(
    "closest-record",
    title="Released records nearer to originals than to a holdout",
    source="Platzer & Reutterer (2021)",
)
class ClosestRecord(RiskMeasure):
    """Share of released records that are nearer to an original record than to any record of a holdout.

    The holdout comes from the same population and was not used for the release. The larger of the two sets is cut at
    random to the size of the other; ties count one half. A release that tells nothing about its own originals beyond
    the population has a share of one half, a copy of the originals a share of 1.

    Parameters
    ----------
    holdout
        Records of the same population with the same columns: a path, a data frame, Microdata, Records or an array.
        Without it there is no figure; a small distance alone says nothing.
    columns
        By default the quasi-identifiers and confidential columns.
    """

    question = "linkability"
    of_made_up = True
    needs = ("holdout",)

    holdout: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        others = like(released, self.holdout)
        names = pair.common(self.columns, "quasi-identifier", "confidential")
        names = comparable(original, others, comparable(original, released, common(others, released, names)))
        if not names or not min(len(original), len(released), len(others)):
            raise NoFigure("There is no common column, or one of the three tables has no records.")
        x, y = pair.space(names).coordinates()
        _, z = embedded(original, others, names)
        size = min(len(x), len(z))
        x = x[rng.choice(len(x), size, replace=False)]
        z = z[rng.choice(len(z), size, replace=False)]
        to_own, to_others = nearest_distance(x, y), nearest_distance(z, y)
        tie = np.abs(to_own - to_others) <= TIE * (1 + to_own)
        nearer = float((to_own < to_others)[~tie].sum() + 0.5 * tie.sum())
        share = nearer / len(y)
        return self.finding(
            share,
            f"{100 * share:.1f} % of the released records are nearer to an original record than to the holdout; "
            f"50 % would be so if the release knew nothing about its own people.",
            interval=cautious_interval(nearer, len(y)),
            facts={
                "records of each side": Count(n=size),
                "without risk": OfPlan(0.5),
                "share at distance 0 of an original": Share(value=float((to_own <= TIE).mean())),
                "share at distance 0 of the holdout": Share(value=float((to_others <= TIE).mean())),
                "distance at 5 percent, to originals": Figure(value=float(np.quantile(to_own, 0.05))),
                "distance at 5 percent, to the holdout": Figure(value=float(np.quantile(to_others, 0.05))),
            },
        )
