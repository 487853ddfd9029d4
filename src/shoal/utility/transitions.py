"""Transitions from one record of a person to the next."""

from typing import Annotated

from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.judges.successive import apart, labels_of_both, ordering, persons_in_both, successive
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.errors import NoFigure
from shoal.vocabulary.prelude import ColumnName, OfOriginal, method, plural


@method(
    "transitions",
    title="Change of transitions between records",
    source="shoal",
    example={"column": "illness", "order": "age"},
)
class Transitions(UtilityMeasure):
    """Half the sum over pairs of categories of the difference of their shares among all transitions, from 0 to 1.

    A transition is from the category of a record to that of the person's next one: from ward to ward, from diagnosis to
    diagnosis. Missing cells are a category. Records of one place in the order follow each other by category.

    Parameters
    ----------
    column
        Column of categories in both tables.
    order
        Column by which the records of a person are in order.
    """

    limits = (0.0, 1.0)
    unchanged = 0.0
    needs = ("records",)

    column: Annotated[str, ColumnName()]
    order: Annotated[str, ColumnName()]

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        for records in (pair.before, pair.released):
            if self.column not in records or records[self.column].continuous:
                raise NoFigure(f"Column '{self.column}' holds no categories in one of the tables.")
        coded = labels_of_both(pair.before, pair.released, self.column)
        width = int(max(codes.max() for codes in coded)) + 1
        moves = []
        for persons, order, codes in zip(persons_in_both(pair), ordering(pair, self.order), coded):
            later, earlier = successive(persons, order, codes)
            moves.append(codes[earlier] * width + codes[later])
        before, after = moves
        if not len(before) or not len(after):
            raise NoFigure("No person has two records in one of the tables, so there are no transitions.")
        return self.finding(
            apart(before, after),
            f"{plural(len(after), 'transition')} in the release, {len(before):,} in the original.",
            facts={"transitions": OfOriginal({"original": len(before), "release": len(after)})},
        )
