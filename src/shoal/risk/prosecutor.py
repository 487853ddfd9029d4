"""Prosecutor risk: the target is known to be in the table."""

from typing import Annotated

from shoal.judges.evidence import Finding
from shoal.risk.class_risk import LookalikeRisk, beyond
from shoal.risk.population import Lookalikes
from shoal.vocabulary.prelude import Gt, Le, Setting, in_digits, method, of_release


@method("prosecutor", title="Prosecutor risk", source="El Emam & Dankar (2008)")
class Prosecutor(LookalikeRisk):
    """Highest chance of picking the right record for someone known to be in the table: 1 / smallest class size.

    A class is the records that share all quasi-identifiers in the released table, compared as written; where
    missing cells match more than each other there are no classes, and what counts is how many records match a record.
    The mean over records is, with classes, their number divided by that of the records.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    """

    question = "singling out"
    prominence = 50
    headline = ": of the worst record"
    over_tables = "classes"
    of_persons = "Whoever knows all records of a person picks the right one with a chance of {} % at worst."

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.2

    def of(self, alike: Lookalikes) -> Finding:
        risk = 1.0 / alike.sizes
        above, mean = alike.share(risk > self.threshold), alike.mean(risk)
        return self.finding(
            float(risk.max()),
            f"Someone known to be in the table is matched to the right record with a chance of "
            f"{in_digits(100 * risk.max(), 3)} % at worst and {in_digits(100 * mean, 3)} % on average"
            f"{beyond(above, self.threshold)}.",
            facts=of_release(
                {
                    "mean": mean,
                    "threshold": self.threshold,
                    "share above threshold": above,
                    "share unique": alike.share(alike.sizes == 1),
                }
            ),
            record_risk=risk,
        )
