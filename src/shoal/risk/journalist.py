"""Journalist risk: the target is in the population, and not known to be in the table."""

from typing import Annotated

from shoal.judges.evidence import Finding
from shoal.risk.class_risk import LookalikeRisk, beyond
from shoal.risk.population import Lookalikes
from shoal.vocabulary.prelude import Gt, Le, Setting, in_digits, method, of_release


@method("journalist", title="Journalist risk", source="El Emam & Dankar (2008)")
class Journalist(LookalikeRisk):
    """Highest chance of a right match against the population: 1 / size of the class there.

    The size of a class in the population is the sum of the sampling weights of its records, never less than
    their number. Without weights the population is unknown and there is no figure: use the prosecutor risk,
    which bounds it from above.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    """

    question = "linkability"
    headline = ": of the worst record"

    weights_needed = True

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.2

    def of(self, alike: Lookalikes) -> Finding:
        risk = 1.0 / alike.population
        above = alike.share(risk > self.threshold)
        return self.finding(
            float(risk.max()),
            f"Someone in the population is matched to the right record with a chance of "
            f"{in_digits(100 * risk.max(), 3)} % at worst{beyond(above, self.threshold)}.",
            facts=of_release({"mean": alike.mean(risk), "threshold": self.threshold, "share above threshold": above}),
            record_risk=risk,
        )
