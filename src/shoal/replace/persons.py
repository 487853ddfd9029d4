"""Persons made up with all their rows in linked tables.

Sequential synthesis (Reiter 2005) over tables: a person, the number of rows in each table below, then these rows in
order, each given the rows above it and the row before it. Nobody's number of rows, and no key, is taken over.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from shoal.replace._persons.drawing import Drawing
from shoal.replace._persons.fitted import fitted
from shoal.replace._trees.sequence import Rules
from shoal.replace._trees.synthesiser import TreeSynthesiser
from shoal.table.links import Links, root_of
from shoal.table.order_rules import OrderRules
from shoal.table.prelude import Generator, Records, Variable
from shoal.vocabulary.facts import Count, Facts


@dataclass(frozen=True, kw_only=True, eq=False)
class MadeUp:
    """Linked tables of persons that are made up.

    Parameters
    ----------
    variables
        By table, its columns.
    links
        Which row hangs on which.
    """

    variables: Mapping[str, list[Variable]]
    links: Links
    facts: Facts


def made_up(
    tables: Mapping[str, Records], links: Links, method: TreeSynthesiser, order: OrderRules, rng: Generator
) -> MadeUp:
    """As many persons as there are, made up with all their rows.

    Parameters
    ----------
    tables
        The columns to make up, by table.
    method
        The trees; a leaf holds records of `min_leaf` different persons.

    Raises
    ------
    DataError
        If rows break a rule, or too few persons have any.
    """
    rules = Rules(growing=method.growing, smooth=method.smooth, exclude=method.exclude)
    drawing = Drawing(fitted(tables, links, order, rules, rng), order, links.keys, rng)
    drawing.persons(links.sizes[root_of(links.keys)])
    return MadeUp(
        variables={name: drawing.variables(name) for name in links.keys},
        links=drawing.links(),
        facts={"values that never occur together in the original": Count(n=drawing.broken, unit="cells")},
    )
