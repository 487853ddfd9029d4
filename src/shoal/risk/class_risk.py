"""Base of measures that count the records which match a record on the quasi-identifiers."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from shoal.judges.base import NEEDS
from shoal.judges.class_figures import ClassCounts
from shoal.judges.prelude import Finding, Generator, MissingCells, Records, TablePair
from shoal.judges.table_pair import NOBODY
from shoal.risk.base import RiskMeasure
from shoal.risk.population import Lookalikes, lookalikes
from shoal.vocabulary.prelude import NoFigure, OfRelease, family, in_digits


def in_full(number: float) -> str:
    """An expected number of records: three digits at most below a hundred, and no powers of ten above."""
    return f"{number:,.0f}" if number >= 100 else in_digits(number, 3)


def beyond(share: float, threshold: float) -> str:
    """The end of a sentence: how many risks exceed a threshold; nothing where none does."""
    return f"; {in_digits(100 * share, 3)} % of the records exceed {in_digits(100 * threshold, 3)} %" if share else ""


TAKEN: dict[MissingCells, str] = {
    "equal": "A missing cell is taken to match missing cells alone",
    "wildcard": "A missing cell is taken to match every value",
    "nothing": "A record with a missing cell is taken to match no other",
}
IF_OTHERWISE: dict[MissingCells, str] = {
    "equal": "it matched missing cells alone",
    "wildcard": "it matched every value",
    "nothing": "its record matched no other",
}
"""Readings of missing cells, as a sentence says how a figure was taken, and how it could have been."""


@family
class ClassRisk(RiskMeasure):
    """A risk read off how many records match each one, which depends on what a missing cell matches.

    Where quasi-identifiers of the release lack cells, the figure says under which reading it was taken, and the facts
    hold it under the others too.

    Parameters
    ----------
    missing
        What a missing cell matches: another missing cell and nothing else (`equal`), every value, as after local
        suppression in sdcMicro (`wildcard`), or nothing, so that a record with a missing cell counts for no other
        (`nothing`). By default what the plan's requirements say, or else its steps that blank cells, and `equal` where
        nothing does. Where it makes a difference, the finding holds the figure under every reading.
    """

    of_release_alone = True
    needs = ("records", "quasi-identifiers", "people")
    cheap = True

    missing: MissingCells | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        released = pair.closure.records
        chosen = self.missing or pair.missing
        finding = self.under(released, chosen)
        if finding.value is None or released.complete_in(released.quasi_identifiers):
            return finding
        values = {
            reading: finding.value if reading == chosen else self.under(released, reading).value for reading in TAKEN
        }
        others: dict[str, list[str]] = {}
        for reading, value in values.items():
            if value is not None and in_digits(value, 3) != in_digits(finding.value, 3):
                others.setdefault(f"{in_digits(100 * value, 3)} %", []).append(IF_OTHERWISE[reading])
        by_reading = ", ".join(f"{value} if {' or '.join(readings)}" for value, readings in others.items())
        differs = f"; the figure would be {by_reading}" if by_reading else ""
        return replace(
            finding,
            sentence=f"{finding.sentence} {TAKEN[chosen]}{differs}.",
            facts={**finding.facts, "missing": OfRelease(chosen), "by what a missing cell matches": OfRelease(values)},
        )

    @abstractmethod
    def under(self, released: Records, missing: MissingCells) -> Finding:
        """The figure of a table filled in as far as it allows, under one reading of its missing cells."""


@family
class LookalikeRisk(ClassRisk):
    """A risk that is a function of how many records match each one, so that parts of a table add up to it."""

    scales = "classes"
    weights_needed: ClassVar[bool] = False

    @abstractmethod
    def of(self, alike: Lookalikes) -> Finding:
        """The figure of a table with records."""

    def under(self, released: Records, missing: MissingCells) -> Finding:
        return self.of(lookalikes(released, missing, weights_needed=self.weights_needed))

    def on_counts(self, counts: ClassCounts, bound: float | None = None) -> Finding | None:
        if self.missing not in (None, "equal"):
            return None
        if not len(counts.sizes):
            raise NoFigure(NOBODY)
        return self.of(Lookalikes.of_classes(counts, weights_needed=self.weights_needed))

    def look(self, one_of_each: TablePair, counts: Callable[[], ClassCounts]) -> Lookalikes | str:
        """Lookalikes in some classes of a table, or the reason why there is no figure.

        `one_of_each`: a record of each class; `counts`: gives the records of the classes.
        """
        try:
            for need in self.needs:
                NEEDS[need](self, one_of_each)
            return Lookalikes.joined([Lookalikes.of_classes(counts(), weights_needed=self.weights_needed)])
        except NoFigure as reason:
            return str(reason)

    def finding_of(self, parts: Sequence[Lookalikes | str], *, complete: bool) -> Finding:
        """The figure of a table from what was seen of at least one of its parts.

        `complete`: true if no quasi-identifier lacks a cell. Otherwise the figure says how missing cells were read:
        parts know one reading only.
        """
        seen = [part for part in parts if isinstance(part, Lookalikes)]
        if len(seen) < len(parts):
            return self.without(next(part for part in parts if isinstance(part, str)))
        if not complete and self.missing not in (None, "equal"):
            return self.without(f"{TAKEN[self.missing]}, by which it is measured only on a table in memory.")
        finding = replace(self.of(Lookalikes.joined(seen)), record_risk=None)
        if complete:
            return finding
        return replace(finding, sentence=f"{finding.sentence} {TAKEN['equal']}.")
