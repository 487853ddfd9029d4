"""Marketer risk: as many right matches as possible, no matter whose."""

from shoal.judges.evidence import Finding
from shoal.risk.class_risk import LookalikeRisk
from shoal.risk.population import Lookalikes
from shoal.vocabulary.prelude import in_digits, method, of_release


@method("marketer", title="Marketer risk", source="Dankar & El Emam (2010)")
class Marketer(LookalikeRisk):
    """Expected share of records matched rightly when all are matched: (1/n) sum over classes of f / F.

    f is a class's size in the table and F in the population, estimated by the sum of its sampling weights (never
    below f). Without weights the attacker is taken to hold exactly the people in the table, F = f, and the
    figure is the number of classes over the number of records.
    """

    question = "linkability"
    over_tables = "classes"
    of_persons = "Someone who knows all records of everybody, and matches every person, is right for {} % of them."

    def of(self, alike: Lookalikes) -> Finding:
        share = alike.mean(1.0 / alike.population)
        whom = "the population" if alike.weighted else "everyone in the table"
        return self.finding(
            share,
            f"Someone who knows the quasi-identifiers of {whom} and matches every record is right for "
            f"{in_digits(100 * share, 3)} % of them.",
            facts=of_release({"weighted": alike.weighted}),
        )
