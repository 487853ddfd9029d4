"""delta-presence (Nergiz, Atzori & Clifton 2007)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from shoal.judges.population import in_population
from shoal.judges.prelude import MissingCells, Records, TablePair, Verdict
from shoal.privacy.base import PeopleLimits, PrivacyModel, unproved
from shoal.vocabulary.errors import NoFigure, in_digits, plural
from shoal.vocabulary.prelude import ColumnName, Ge, Le, Scales, Setting, TablePath, method, of_release


@method("delta-presence", title="delta-presence", source="Nergiz, Atzori & Clifton (2007)", example={"largest": 0.5})
class DeltaPresence(PrivacyModel):
    """An intruder who knows the population is never surer than delta that a person is in the table, or is not.

    The probability that a person of the population is in the table is the number of released records that may be the
    person's, each divided by the number of people to whom it may belong. It must lie from `least` to `largest` for
    everybody in the population.

    Parameters
    ----------
    largest, least
        Limits of the probability.
    population
        The population, the people of the table included, with the columns that are quasi-identifiers here: a path, a
        data frame, Microdata or Records. Without it nothing is proved.
    count
        The column of the population with the number of people that a row stands for; one each by default.
    missing
        What a missing cell matches: a missing cell (`equal`), every value (`wildcard`) or nothing (`nothing`).
    unit
        Unit whose presence is limited: records, or persons, of whom each class holds as many as have a record in it. By
        default persons where the table has a person column. A population with that column has several rows of a person.
    """

    scales: ClassVar[Scales] = "memory"
    emptily: ClassVar[Mapping[str, float]] = {"largest": 1, "least": 0}
    blanked_for = True

    largest: Annotated[float, Ge(0), Le(1), Setting()]
    least: Annotated[float, Ge(0), Le(1), Setting()] = 0.0
    population: Annotated[Any, TablePath()] = None
    count: Annotated[str | None, ColumnName()] = None
    missing: MissingCells = "equal"
    unit: Literal["record", "person"] | None = None

    @property
    def needs_original(self) -> bool:
        return self.population is not None

    def people_limits(self, records: Records) -> PeopleLimits | None:
        if self.population is None or (self.unit != "record" and records.names("person")):
            return None
        limits = {"least": self.least, "largest": self.largest}
        return PeopleLimits.of(records, self.population, self.count, self.missing, **limits)

    def judge(self, pair: TablePair) -> Verdict:
        name = f"presence from {self.least:g} to {self.largest:g}"
        if self.population is None:
            return unproved(name, self.largest, "no table of the population was given.")
        try:
            among = in_population(pair, self.population, self.count, self.missing, self.unit)
        except NoFigure as reason:
            return unproved(name, self.largest, str(reason))
        sizes = among.candidates.sizes
        if outside := int(sizes[among.people < sizes].sum()):
            return unproved(
                name,
                self.largest,
                f"{plural(outside, 'record')} may be of fewer people than there are such records, so "
                f"the population lacks people of the table.",
            )
        low, high = (float(end) for end in (among.presence.min(initial=1.0), among.presence.max(initial=0.0)))
        slack = 1e-12
        sure = among.exposure > self.largest + slack
        return Verdict(
            requirement=name,
            holds=high <= self.largest + slack and low >= self.least - slack,
            required=self.largest,
            achieved=high,
            sentence=f"A person of the population is in the table with probability {in_digits(low)} to "
            f"{in_digits(high)}, where {self.least:g} to {self.largest:g} is allowed.",
            facts=of_release({"least probability": low, "largest probability": high}),
            influence=0,
            failing=sure[among.candidates.of_record] if sure.any() else None,
        )
