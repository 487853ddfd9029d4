"""k-anonymity (Samarati & Sweeney 1998)."""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator

from shoal.judges.class_figures import MATCHING, MEANING, ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.known import PersonsInMemory
from shoal.judges.prelude import MissingCells, Records, TablePair, Verdict
from shoal.kernels.requirement import emd
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.of_units import UnitModel
from shoal.table.confidential_bins import values_without_missing
from shoal.vocabulary.errors import plural, quoted
from shoal.vocabulary.facts import ByLabel
from shoal.vocabulary.prelude import Columns, Ge, OfOriginal, OfRelease, Scales, method, of_release

UNITS = "units"
"""Name of the count of units in each class: households, or values of an identifier."""


def _some(columns: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if columns == ():
        raise ValueError("a list of at least one column, for on none it would hold emptily")
    return columns


@method("k-anonymity", title="k-anonymity", source="Samarati & Sweeney (1998)", example={"k": 3})
class KAnonymity(UnitModel):
    """Every combination of quasi-identifier values is shared by at least k records.

    Checked on the finished table alone: values are compared as they are written, so 0 and -0, or 1 and
    1.0000001, are different. A table without records holds no one and satisfies any k; a table without
    quasi-identifiers is a single class.

    Parameters
    ----------
    k
        Smallest number of records that must share a combination.
    columns
        The columns whose combinations are counted; by default all quasi-identifiers. Naming fewer states a
        weaker requirement, and the verdict says so.
    missing
        What a missing cell matches. `equal`: another missing cell and nothing else, so that records form
        equivalence classes. `wildcard`: every value, as after local suppression in sdcMicro; an
        intruder who knows the missing value could then be wrong about whom a record belongs to, but only by
        records with missing cells. `nothing`: a record with a missing cell counts for no other record, while
        its own visible cells must agree with k - 1 complete records.
    """

    scales: ClassVar[Scales] = "classes"
    counts_classes = True
    emptily: ClassVar[Mapping[str, float]] = {"k": 1}
    reported = True
    question = "singling out"

    k: Annotated[int, Ge(1)]
    columns: Annotated[tuple[str, ...] | None, AfterValidator(_some), Columns()] = None
    missing: MissingCells = "equal"

    @property
    def reads(self) -> tuple[str, ...]:
        return ("quasi-identifier",) if self.columns is None else self.columns

    @property
    def in_parts(self) -> bool:
        return self.unit != "person" and not self.knows_profiles

    @property
    def limit(self) -> float:
        return self.k

    def group_limits(self, records: Records) -> GroupLimits | None:
        if self.columns is not None or self.missing != "equal" or self.unit == "household" or self.knows_profiles:
            return None
        if not self.counts_units:
            return GroupLimits(k=self.k)
        names = records.names("person") if self.unit == "person" else self.identifiers
        if not names or names[0] not in records:
            return None
        column = values_without_missing(records[names[0]])
        return GroupLimits(k=self.k, columns=(column,), requirements=(emd.Diverse("distinct", self.k, 1.0),))

    @property
    def by_class(self) -> bool:
        return self.missing == "equal" or self.counts_units  # or a record may stand for those of other classes

    def class_columns(self, quasi_identifiers: Sequence[str]) -> tuple[str, ...]:
        return tuple(quasi_identifiers) if self.columns is None else self.columns

    def look(self, table: ClassTable) -> ClassFigures:
        if not self.counts_units:
            return table.matching(self.missing)
        units = table.units(str(self.unit))
        return ClassFigures(sizes=table.sizes, figures={} if units is None else {UNITS: units})

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        if self.counts_units:
            return self._by_unit(class_figures)
        sizes = class_figures.sizes
        matching = class_figures.figures.get(MATCHING, sizes)
        smallest = int(matching.min()) if len(sizes) else None
        small, short = int((sizes < self.k).sum()), int(sizes[matching < self.k].sum())
        details: ByLabel = {
            "classes": len(sizes),
            "smallest class": smallest,
            "mean class size": float(np.mean(sizes)) if len(sizes) else None,
            "classes too small": small,
            "records in classes too small": short,
        }
        if self.missing != "equal":
            details = {"missing": self.missing, "fewest matching records": smallest, "records below k": short}
        return Verdict(
            requirement=self._name(),
            holds=smallest is None or smallest >= self.k,
            required=self.k,
            achieved=smallest,
            sentence=self._sentence(len(sizes), small, short, smallest),
            facts=of_release(details),
            influence=0,
            failing=matching < self.k if short else None,
        )

    def judge(self, pair: TablePair) -> Verdict:
        if self.unit == "person" or self.knows_profiles:
            return super().judge(pair)
        verdict = ClassModel.judge(self, pair)
        return self.of_hidden(verdict, pair) if self.unit == "household" else verdict

    def on_persons(self, persons: PersonsInMemory) -> Verdict:
        fewest = persons.known.fewest_of()
        smallest = int(fewest.min()) if len(fewest) else None
        few, alone = int((fewest < self.k).sum()), int((fewest == 1).sum())
        on = "" if self.columns is None else f" on {', '.join(self.columns)}"
        return Verdict(
            requirement=f"{self.k}-anonymity{on}{self.of_units(persons.knowing)}",
            holds=not few,
            required=self.k,
            achieved=smallest,
            sentence=_of_persons(persons, len(fewest), few, alone, smallest, self.k),
            facts=of_release(
                {
                    f"{persons.unit}s": len(fewest),
                    "records": len(persons.pair.released),
                    "fewest alike": smallest,
                    f"{persons.unit}s below k": few,
                    f"{persons.unit}s alone": alone,
                }
            ),
            influence=0,
            failing=persons.sizes < self.k if few else None,
        )

    def _sentence(self, classes: int, small: int, short: int, smallest: int | None) -> str:
        """The verdict in words; `small` of the `classes`, with `short` records in all, are too small."""
        if smallest is None:
            return "The table has no records, so no one can be singled out."
        if smallest >= self.k:
            kind = f"{plural(classes, 'class')}, the smallest of {smallest:,}"
            if self.missing != "equal":
                kind = MEANING[self.missing]
            return f"Every record shares its {self._what()} with at least {plural(smallest - 1, 'other')} ({kind})."
        if self.missing == "equal":
            return (
                f"{plural(small, 'class')} with {plural(short, 'record')} in all "
                f"{'is' if small == 1 else 'are'} smaller than {self.k}; the smallest holds {smallest}."
            )
        verb = "shares its" if short == 1 else "share their"
        others = "no other" if self.k == 2 else f"fewer than {self.k - 1:,} others"
        return f"{plural(short, 'record')} {verb} {self._what()} with {others} ({MEANING[self.missing]})."

    def _by_unit(self, class_figures: ClassFigures) -> Verdict:
        influence = None if self.identifiers else 0
        if UNITS not in class_figures.figures or self.missing != "equal":
            why = (
                self.uncounted()
                if UNITS not in class_figures.figures
                else (f"{self.units_in_words.capitalize()} can only be counted under missing: equal.")
            )
            return Verdict(
                requirement=self._name(), holds=False, required=self.k, achieved=None, sentence=why, influence=influence
            )
        counts = class_figures.figures[UNITS]
        smallest = int(counts.min()) if len(counts) else None
        short = int((counts < self.k).sum())
        if smallest is None:
            sentence = "The table has no records, so no one can be singled out."
        elif short:
            sentence = f"{plural(short, 'class')} of records come from fewer than {self.k} {self.units_in_words}."
        else:
            sentence = f"Every class of records comes from at least {smallest:,} {self.units_in_words}."
        of_unit = OfRelease if influence == 0 else OfOriginal
        return Verdict(
            requirement=self._name(),
            holds=not short,
            required=self.k,
            achieved=smallest,
            sentence=sentence,
            facts={
                "classes": OfRelease(len(counts)),
                f"fewest {self.units_in_words}": of_unit(smallest),
                "classes too small": of_unit(short),
            },
            influence=influence,
            failing=counts < self.k if short else None,
        )

    def _name(self) -> str:
        """The name of the requirement; one that is weaker than in the literature includes its condition."""
        on = "" if self.columns is None else f" on {', '.join(self.columns)}"
        reading = "" if self.missing == "equal" else f", {MEANING[self.missing]}"
        of = "" if not self.counts_units else f" of {self.units_in_words}"
        return f"{self.k}-anonymity{of}{on}{reading}"

    def _what(self) -> str:
        return "quasi-identifiers" if self.columns is None else f"values of {quoted(self.columns)}"


def _of_persons(persons: PersonsInMemory, total: int, few: int, alone: int, smallest: int | None, k: int) -> str:
    """The verdict on persons in words; `few` of them in all have fewer than k alike, and `alone` have none."""
    known = {"one record": "one of their records", "all records": "all of their records"}
    knowing = "one record" if persons.knowing == 1 else persons.knowing
    what = known.get(str(knowing), f"any {knowing} of their records")
    if smallest is None:
        return "The table has no records, so no one can be singled out."
    among = f"{plural(total, persons.unit)} in {plural(len(persons.pair.released), 'record')}"
    if not few:
        return f"To anyone who knows {what}, each of {among} is alike with at least {plural(smallest - 1, 'other')}."
    others = "no other" if k == 2 else f"fewer than {k - 1:,} others"
    stand = f"{alone:,} {'stands' if alone == 1 else 'stand'} alone"
    return f"To anyone who knows {what}, {few:,} of {among} {'is' if few == 1 else 'are'} alike with {others}; {stand}."
