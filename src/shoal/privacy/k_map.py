"""k-map (Sweeney 2002; El Emam & Dankar 2008)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.judges.population import Candidates, in_population, records_of_each
from shoal.judges.prelude import Floats, MissingCells, Records, TablePair, Verdict
from shoal.privacy.base import PeopleLimits, PrivacyModel, unproved
from shoal.vocabulary.prelude import ColumnName, Ge, NoFigure, Scales, TablePath, method, of_release, plural


@method("k-map", title="k-map", source="Sweeney (2002); El Emam & Dankar (2008)", example={"k": 3})
class KMap(PrivacyModel):
    """Every released record matches at least k people of the population.

    A person matches a record if each quasi-identifier of the person is among the values that the record's label stands
    for. People are counted in a table of the population, if there is one. Otherwise their number is estimated by the
    sum of the sampling weights of the matching records, and the verdict says so.

    Parameters
    ----------
    k
        Fewest people whom a record matches.
    population
        The population, with the columns that are quasi-identifiers here: a path, a data frame, Microdata or Records.
    count
        The column of the population with the number of people that a row stands for; one each by default.
    missing
        What a missing cell matches: a missing cell (`equal`), every value (`wildcard`) or nothing (`nothing`).
    unit
        Unit that sampling weights are of: records, or persons, each of whom counts once. By default persons where the
        table has a person column. A population with that column has several rows of a person, who counts as one.
    """

    monotone: ClassVar[bool] = True
    scales: ClassVar[Scales] = "memory"
    emptily: ClassVar[Mapping[str, float]] = {"k": 1}
    blanked_for = True

    k: Annotated[int, Ge(1)]
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
        return PeopleLimits.of(records, self.population, self.count, self.missing, fewest=self.k)

    def judge(self, pair: TablePair) -> Verdict:
        estimated = self.population is None
        name = f"{self.k}-map" + (", estimated by sampling weights" if estimated else "")
        try:
            people = self.people(pair)
        except NoFigure as reason:
            return unproved(name, self.k, str(reason))
        few = people < self.k
        reached = float(people.min()) if len(people) else None
        records = int(few.sum())
        whom = "estimated" if estimated else "counted in the population"
        sentence = (
            f"{plural(records, 'record')} may be of fewer than {self.k} people, {whom}."
            if records
            else f"Every record may be of at least {self.k} people, {whom}."
        )
        return Verdict(
            requirement=name,
            holds=not few.any(),
            required=self.k,
            achieved=reached,
            sentence=sentence,
            facts=of_release({"records of fewer people": records, "estimated": estimated}),
            influence=0,
            failing=few if records else None,
        )

    def candidates(self, pair: TablePair) -> Candidates:
        """People whom the released records match; without a population, a missing cell matches every value.

        Raises NoFigure if nobody can be counted.
        """
        if self.population is None:
            return Candidates.of_sample(pair.released, self.weights_of(pair))
        return Candidates.of(pair, self.population, self.count, self.missing, self.unit)

    def people(self, pair: TablePair) -> Floats:
        """Shape (n,); number of people whom each released record matches. Raises NoFigure if nobody can be counted."""
        released = pair.released
        if self.population is None:
            return released.matching_weight(released.quasi_identifiers, self.weights_of(pair), self.missing)
        among = in_population(pair, self.population, self.count, self.missing, self.unit)
        return among.people[among.candidates.of_record]

    def weights_of(self, pair: TablePair) -> Floats:
        """Shape (n,); people that each record stands for, those of a person divided among the person's records.

        Raises NoFigure if these are not known.
        """
        weights = pair.released.weights
        if weights is None or not (np.isfinite(weights) & (weights > 0)).all():
            raise NoFigure(
                "Neither a table of the population nor sampling weights above 0 are known, so nobody can be counted."
            )
        units = None if self.unit == "record" else pair.units_by("person")
        return weights if units is None else weights / records_of_each(units)
