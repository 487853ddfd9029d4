"""Journalist risk: the target is in the population, and not known to be in the table."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le

from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.parameters import Setting
from shoal.risk.base import RiskMeasure
from shoal.risk.population import population_classes


@method("journalist", title="Journalist risk", source="El Emam & Dankar (2008)")
class Journalist(RiskMeasure):
    """Highest chance of a right match against the population: 1 / size of the class there.

    The size of a class in the population is the sum of the sampling weights of its records, never less than
    their number. Without weights the population is unknown and there is no figure: use the prosecutor risk,
    which bounds it from above.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.2

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        released = pair.closure.records
        classes = population_classes(released)
        risk = 1.0 / classes.population[classes.ids]
        above = float((risk > self.threshold).mean())
        return self.finding(
            float(risk.max()),
            f"Someone in the population is matched to the right record with probability {risk.max():.3g} at "
            f"worst; {100 * above:.1f} % of the records exceed {self.threshold:g}.",
            facts={"mean": float(risk.mean()), "threshold": self.threshold, "share above threshold": above},
            record_risk=risk,
        )
