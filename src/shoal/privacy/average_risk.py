"""Limits on the risk of re-identification over the whole table."""

from typing import Annotated, ClassVar

import numpy as np

from shoal.judges.class_figures import MASS, MATCHING, MEANING, ClassCounts, ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.prelude import Bools, Floats, Longs, MissingCells, Verdict
from shoal.privacy.of_units import UnitModel
from shoal.vocabulary.prelude import Ge, Gt, Le, Scales, Setting, in_digits, method, of_release


@method(
    "average-risk",
    title="Average risk of re-identification",
    source="El Emam & Arbuckle (2013)",
    example={"average": 0.5},
)
class AverageRisk(UnitModel):
    """An intruder who knows that a person is in the table finds the right record seldom enough, on average.

    A record that matches c records has the risk 1 / c. These are the records of its class, so that the average is the
    number of classes over the number of records, unless missing cells are read otherwise. In addition no record, or no
    more than a share of them, may have a risk above a threshold. Where
    persons are counted, c are the persons who share what is known of one, and the risk of a person is the mean over
    what may be known.

    Parameters
    ----------
    average
        Largest average risk.
    highest
        Threshold of a record's risk.
    above
        Largest share of records whose risk lies above the threshold.
    missing
        What a missing cell matches: a missing cell (`equal`), every value (`wildcard`) or nothing (`nothing`).
    """

    scales: ClassVar[Scales] = "classes"
    blanked_for = True
    monotone: ClassVar[bool] = True

    average: Annotated[float, Gt(0), Le(1), Setting()]
    highest: Annotated[float, Gt(0), Le(1), Setting()] = 1.0
    above: Annotated[float, Ge(0), Le(1), Setting()] = 0.0
    missing: MissingCells = "equal"

    @property
    def protects(self) -> bool:
        return self.average < 1 or (self.highest < 1 and self.above < 1)

    @property
    def limit(self) -> float:
        return self.average

    @property
    def reads(self) -> tuple[str, ...]:
        return ("quasi-identifier",)

    @property
    def by_class(self) -> bool:
        return self.missing == "equal"

    @property
    def largest_average_risk(self) -> float | None:
        by_sizes = self.missing == "equal" and not self.counts_units and self.highest >= 1
        return self.average if by_sizes else None

    def look(self, table: ClassTable) -> ClassFigures:
        return table.matching(self.missing)

    def on_counts(self, counts: ClassCounts) -> Verdict | None:
        return None if self.missing != "equal" or self.counts_units else self.conclude(ClassFigures(sizes=counts.sizes))

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        noun, matching = class_figures.noun, class_figures.figures.get(MATCHING, class_figures.sizes)
        sizes = class_figures.figures.get(MASS, class_figures.sizes)
        records = round(float(sizes.sum()))
        average = float((sizes / matching).sum()) / records if records else 0.0
        alone = self.highest * matching * (1 + 1e-12) < 1
        risky = round(float(sizes[alone].sum()), 9)
        few_risky = risky <= self.above * records * (1 + 1e-12)
        holds = average <= self.average * (1 + 1e-12) and few_risky
        return Verdict(
            requirement=f"average risk {self.average:g}"
            + (f", at most {100 * self.above:g} % above {self.highest:g}" if self.highest < 1 else "")
            + (f", {MEANING[self.missing]}" if self.missing != "equal" else ""),
            holds=holds,
            required=self.average,
            achieved=average,
            sentence=f"The average risk of a {noun} is {in_digits(average)}, where {self.average:g} is allowed"
            + (
                f"; {risky:,.6g} of {records:,} {noun}s have a risk above {self.highest:g}."
                if self.highest < 1
                else "."
            ),
            facts=of_release(
                {"highest risk": float(1 / np.min(matching)) if records else 0.0, f"{noun}s above": risky}
            ),
            influence=0,
            failing=None if holds else self._smallest(sizes, matching) | (alone & (not few_risky)),
        )

    def _smallest(self, sizes: Longs | Floats, matching: Longs) -> Bools:
        """Shape (C,); the classes of highest risk without which the average would be kept; equal ones together."""
        order = np.argsort(matching, kind="stable")
        left = np.concatenate([np.cumsum((sizes / matching)[order][::-1])[::-1], [0.0]])  # without none, one, two, ...
        records = np.concatenate([np.cumsum(sizes[order][::-1])[::-1], [0]])
        without = int(np.argmax(left <= self.average * records * (1 + 1e-12)))
        return np.asarray(matching <= (matching[order[without - 1]] if without else 0))
