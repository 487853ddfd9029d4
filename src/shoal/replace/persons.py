"""Persons made up with all their rows in linked tables.

Sequential synthesis (Reiter 2005) over tables: a person, the number of rows in each table below, then these rows in
order, each given the rows above it and the row before it. Nobody's number of rows, and no key, is taken over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from shoal.replace._persons.drawing import PersonDrawing
from shoal.replace._persons.fitted import Modelling, fitted
from shoal.replace._regressions.persons import RegressionModel
from shoal.replace._trees.columns import ColumnPart
from shoal.replace._trees.sequence import PartModel, Rules, features_of
from shoal.replace._trees.synthesiser import DONORS, TreeSynthesiser
from shoal.replace.sequential_regression import SequentialRegression
from shoal.table.links import Links, root_of
from shoal.table.order_rules import OrderRules
from shoal.table.prelude import Generator, Longs, Records, Variable
from shoal.vocabulary.facts import Count, Facts

Method = TreeSynthesiser | SequentialRegression
"""Methods that draw columns one after the other."""


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


def made_up(tables: Mapping[str, Records], links: Links, method: Method, order: OrderRules, rng: Generator) -> MadeUp:
    """As many persons as there are, made up with all their rows.

    Parameters
    ----------
    tables
        The columns to make up, by table.
    method
        Trees, whose leaves hold records of `min_leaf` different persons, or regressions.

    Raises
    ------
    DataError
        If rows break a rule, or too few persons have any.
    """
    drawing = PersonDrawing(fitted(tables, links, order, _modelling(method, rng)), order, links.keys, rng)
    drawing.persons(links.sizes[root_of(links.keys)])
    return MadeUp(
        variables={name: drawing.variables(name) for name in links.keys},
        links=drawing.links(),
        facts={"values that never occur together in the original": Count(n=drawing.broken, unit="cells")},
    )


def _modelling(method: Method, rng: Generator) -> Modelling:
    if isinstance(method, SequentialRegression):
        return Modelling(fit=partial(_regression, method, rng), fewest=DONORS)
    rules = Rules(growing=method.growing, smooth=method.smooth, exclude=method.exclude)
    return Modelling(fit=partial(_trees, rules, rng), fewest=method.growing.min_leaf)


def _trees(
    rules: Rules, rng: Generator, part: ColumnPart, before: list[ColumnPart], at: Longs, persons: Longs
) -> PartModel:
    return PartModel.of(part, before, features_of(before, at), at, rules, rng, persons)


def _regression(
    method: SequentialRegression, rng: Generator, part: ColumnPart, before: list[ColumnPart], at: Longs, persons: Longs
) -> RegressionModel:
    return RegressionModel.of(part, before, at, method, rng, persons)
