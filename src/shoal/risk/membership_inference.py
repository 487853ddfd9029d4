"""Membership inference: who was in the data behind a release?"""

from typing import Annotated, Any

import numpy as np

from shoal.judges.further_tables import like
from shoal.judges.membership_curve import MembershipCurve
from shoal.judges.prelude import Finding, Floats, Generator, TablePair, common, comparable
from shoal.judges.space import embedded
from shoal.kernels.search.nearest import nearest_distance
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Count, Gt, Le, NoFigure, Setting, Share, TablePath, method


@method(
    "membership-inference",
    title="Membership inference by distance",
    source="Chen, Yu, Zhang & Fritz (2020); DeLong, DeLong & Clarke-Pearson (1988)",
)
class MembershipInference(RiskMeasure):
    """Success of telling members of the original data from others by the distance to the nearest released record.

    The figure is the area under the curve: the probability that a random original record lies nearer to the release
    than a random record of the holdout, ties counting one half. One half is no risk; the interval is DeLong's.
    The details give the highest difference of true and false positive rate over all thresholds.

    Parameters
    ----------
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them there is no figure.
    columns
        What the attacker knows of a person; by default the quasi-identifiers and confidential columns.
    false_positives
        With it the figure is the share of members who are told at this rate of others taken for members (0.1 or 0.01,
        say) in place of the area.
    """

    question = "inference"
    of_made_up = True
    prominence = 10
    needs = ("holdout",)

    holdout: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    false_positives: Annotated[float, Gt(0), Le(0.5), Setting()] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        others = like(released, self.holdout)
        names = pair.common(self.columns, "quasi-identifier", "confidential")
        names = comparable(original, others, comparable(original, released, common(others, released, names)))
        if not names or not len(released) or min(len(original), len(others)) < 2:
            raise NoFigure("There is no common column, or one of the three tables has too few records.")
        x, y = pair.space(names).coordinates()
        _, z = embedded(original, others, names)
        of_members, of_others = nearest_distance(y, x), nearest_distance(y, z)
        curve = MembershipCurve.of(-of_members, -of_others, rng)
        area, interval = curve.figure(self.false_positives)
        return self.finding(
            area,
            f"A member of the data is told from someone else by distance {curve.sentence(self.false_positives)}",
            interval=interval,
            facts={
                **curve.facts,
                "holdout": Count(n=len(others)),
                "highest advantage": Share(value=_advantage(of_members, of_others)),
            },
        )


def _advantage(members: Floats, others: Floats) -> float:
    """Largest difference over thresholds of the shares of members and of others that lie below (Youden's index)."""
    cuts = np.unique(np.concatenate([members, others]))
    true = np.searchsorted(np.sort(members), cuts, "right") / len(members)
    false = np.searchsorted(np.sort(others), cuts, "right") / len(others)
    return max(float((true - false).max()), 0.0)
