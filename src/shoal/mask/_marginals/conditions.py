"""Combinations of categories in which a rule or condition can hold, and laws in which only those are left."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from shoal.constraints.grammar import parse
from shoal.constraints.rules import TOLERANCE, LinearClause, Literals, Rule, View, bind
from shoal.mask._marginals.domain import Domain, Values
from shoal.mask._marginals.junction_tree import Columns, cells, elimination, maximal
from shoal.mask._marginals.model import JointLaw
from shoal.table.prelude import Bools, Records
from shoal.vocabulary.errors import ParameterError, quoted

MOST_COMBINATIONS = 1 << 20
"""Combinations of values, at most, on which a rule is looked at."""

MOST_CELLS = 1 << 22
"""Cells, at most, of a law in which the columns of a condition are together: 32 MB of them."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditions:
    """What records are to be like.

    Parameters
    ----------
    texts
        The conditions as written.
    literals
        Their comparisons, all of which must hold.
    """

    texts: tuple[str, ...]
    literals: tuple[Literals, ...]

    @classmethod
    def parse(cls, texts: Sequence[str], domains: Sequence[Domain]) -> "Conditions":
        """Conditions on columns of such domains. Raises ConstraintError if one cannot be read."""
        table = outlines(domains)
        literals: list[Literals] = []
        for number, text in enumerate(texts, 1):
            sentence = parse(text, number)
            if sentence.when or sentence.of_rows:
                sentence.fail(1, "a condition on new records compares cells of a record, as in age > 65.")
            literals += bind(replace(sentence, when=sentence.then, then=()), number, table).conditions
        as_written = (literal.as_written() if isinstance(literal, LinearClause) else literal for literal in literals)
        return cls(texts=tuple(texts), literals=tuple(as_written))

    def met(self, records: Records) -> Bools:
        """Shape (n,); the records that meet all conditions, which nobody does by a missing cell."""
        met = np.ones(len(records), dtype=bool)
        for literal in self.literals:
            met &= View.of(records, literal.columns).holds(literal, TOLERANCE)
        return met

    def narrowed(self, law: JointLaw, domains: Sequence[Domain]) -> JointLaw:
        """The law without combinations of categories that cannot meet a condition.

        A comparison stays unused whose columns have values without end or too many, or are too dear to hold together.
        """
        possible: dict[Columns, Bools] = {}
        for literal in self.literals:
            places = places_of(literal, domains)
            listed = [values for place in places if (values := domains[place].every()) is not None]
            sets = [*law.tree.cliques, *possible, places]
            if len(listed) < len(places) or prod(len(codes) for _, codes in listed) > MOST_COMBINATIONS:
                continue
            if sum(cells(law.shape, clique) for clique in maximal(elimination(law.shape, sets))) > MOST_CELLS:
                continue
            alone = Conditions(texts=self.texts, literals=(literal,))
            meeting = combinations(listed, [law.shape[place] for place in places], alone.met)
            possible[places] = possible.get(places, np.ones(meeting.shape, dtype=bool)) & meeting
        try:
            return law.among(possible) if possible else law
        except ParameterError:
            raise ParameterError(f"No record of the model meets {quoted(self.texts)}. Ask for others.") from None


def outlines(domains: Sequence[Domain]) -> Records:
    """A table with the first and last value of each category of each column, over and over in the shorter ones."""
    corners = [domain.corners() for domain in domains]
    longest = max(len(codes) for _, codes in corners)
    return Records.of(variable.take(np.arange(longest) % len(codes)) for variable, codes in corners)


def places_of(rule: Rule | Literals, domains: Sequence[Domain]) -> Columns:
    """The columns that a rule or a comparison names, by their places."""
    return tuple(place for place, domain in enumerate(domains) if domain.like.name in rule.columns)


def combinations(values: Sequence[Values], sizes: Sequence[int], kept: Callable[[Records], Bools]) -> Bools:
    """Shape `sizes`; true for the combinations of categories of some columns that have a record which is kept.

    Parameters
    ----------
    values
        Of each column, values with the category of each; every combination of them is tried.
    sizes
        Number of categories of each column.
    kept
        The records, shape (n,), that are kept.
    """
    at = np.indices([len(codes) for _, codes in values]).reshape(len(values), -1)
    chosen = kept(Records.of(variable.take(rows) for (variable, _), rows in zip(values, at)))
    possible = np.zeros(sizes, dtype=bool)
    possible[tuple(codes[rows[chosen]] for (_, codes), rows in zip(values, at))] = True
    return possible
