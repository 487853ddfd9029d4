"""Marketer risk: as many right matches as possible, no matter whose."""

from typing import ClassVar

import numpy as np

from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.risk.base import RiskMeasure
from shoal.risk.population import population_classes


@method("marketer", title="Marketer risk", source="Dankar & El Emam (2010)")
class Marketer(RiskMeasure):
    """Expected share of records matched rightly when all are matched: (1/n) sum over classes of f / F.

    f is a class's size in the table and F in the population, estimated by the sum of its sampling weights (never
    below f). Without weights the attacker is taken to hold exactly the people in the table, F = f, and the
    figure is the number of classes over the number of records.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        released = pair.closure.records
        classes = population_classes(released, weights_needed=False)
        share = float((classes.sizes / classes.population).sum() / len(released))
        whom = "the population" if released.weights is not None else "everyone in the table"
        return self.finding(
            share,
            f"Someone who knows the quasi-identifiers of {whom} and matches every record is right for "
            f"{100 * share:.3g} % of them.",
            facts={"weighted": released.weights is not None},
        )
