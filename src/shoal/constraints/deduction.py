"""Deduction by rules: missing cells that the known cells of the same record determine.

Blanking a cell does not hide a rule that everybody knows: net and tax add up to gross. So a reader of a release can
fill in a cell if the rules leave only one value. The following deductions are repeated until nothing more follows:

- if all comparisons of a clause (one of them holds) but one are known to be false, that one holds;
- a linear comparison that holds, with one column missing in a record, gives a bound of the missing value, or the value;
  if the largest lower and the smallest upper bound meet, they are the value (`tax >= 0`, `tax <= gross`, gross 0);
- a comparison with categories that holds leaves these; if all such comparisons leave only one, it is the category;
- equations without conditions are solved together if several columns are missing: a column is determined exactly if its
  unit vector lies in the row space of their coefficients.

A deduced number is set to the column's nearest known value if the two differ only by rounding, so that records that
agree are seen to agree. Bounds that meet only through several unknowns at once are not searched.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.constraints.rules import TOLERANCE, Category, Clause, LinearClause, Member, Rule, View
from shoal.kernels import linear
from shoal.kernels.arrays import Bools, Floats
from shoal.table.records import Records
from shoal.table.variable import Variable

ROUNDING = 1e-9
"""Relative difference, in units of an equation's terms, up to which two numbers are equal."""


def deduced(records: Records, rules: Sequence[Rule]) -> Records:
    """The records, with every missing cell filled in that the rules determine; the same object if there is none.

    `rules`: rules whose columns are all present, with the level that the rules were bound to.
    """
    clauses = [clause for rule in rules for clause in rule.clauses]
    while True:
        after = _solved(_propagated(records, clauses), clauses)
        if after is records:
            return records
        records = after


@dataclass(slots=True, eq=False)
class _Bounds:
    """Bounds of the missing values of one continuous column, shape (n,) each."""

    low: Floats
    high: Floats
    size: Floats
    """The size of the terms that a bound came of: rounding is in proportion to it."""


@dataclass(slots=True, eq=False)
class _Choices:
    """Categories of one column that all comparisons leave, by record."""

    left: dict[int, frozenset[Category]] = field(default_factory=dict)
    ruled_out: dict[int, frozenset[Category]] = field(default_factory=dict)

    def narrow(self, member: Member, rows: Sequence[int]) -> None:
        for row in rows:
            if member.negated:
                self.ruled_out[row] = self.ruled_out.get(row, frozenset()) | member.categories
            else:
                self.left[row] = self.left.get(row, member.categories) & member.categories

    def single(self) -> dict[int, Category]:
        """The records for which one category is left."""
        left = {row: categories - self.ruled_out.get(row, frozenset()) for row, categories in self.left.items()}
        return {row: next(iter(categories)) for row, categories in left.items() if len(categories) == 1}


def _propagated(records: Records, clauses: Sequence[Clause]) -> Records:
    """One round of deductions from comparisons that must hold, each by itself."""
    bounds: dict[str, _Bounds] = {}
    choices: dict[str, _Choices] = {}
    for clause in clauses:
        view = View.of(records, clause.columns)
        unknown = np.array([view.missing(literal.columns) for literal in clause.literals])
        wrong = ~clause.literals_hold(view, TOLERANCE) & ~unknown
        for i, literal in enumerate(clause.literals):
            holds = unknown[i] & np.delete(wrong, i, axis=0).all(axis=0)
            if not holds.any():
                continue
            if isinstance(literal, Member):
                choices.setdefault(literal.column, _Choices()).narrow(literal, np.flatnonzero(holds).tolist())
            else:
                _tighten(bounds, records, literal, holds)
    changed = [_with_numbers(records[name], deduced) for name, deduced in bounds.items()]
    changed += [_with_categories(records[name], deduced.single()) for name, deduced in choices.items()]
    changed = [variable for variable in changed if variable is not records[variable.name]]
    return records.with_variables(*changed) if changed else records


def _tighten(bounds: dict[str, _Bounds], records: Records, literal: LinearClause, holds: Bools) -> None:
    """Tighten the bounds of the one missing column by a comparison that holds."""
    if literal.relation == "<":
        return
    missing = {name: records[name].missing for name in literal.columns}
    alone = holds & (np.sum(list(missing.values()), axis=0) == 1)
    for name, factor in literal.terms:
        rows = np.flatnonzero(alone & missing[name])
        if not len(rows):
            continue
        cells = {n: np.where(missing[n], 0.0, records[n].values)[rows] for n in literal.columns}
        excess, size = literal.excess(cells)
        value = -excess / float(factor)
        n = len(records)
        at = bounds.setdefault(name, _Bounds(np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)))
        at.size[rows] = np.maximum(at.size[rows], size / abs(float(factor)))
        if literal.relation == "==" or factor > 0:
            at.high[rows] = np.minimum(at.high[rows], value)
        if literal.relation == "==" or factor < 0:
            at.low[rows] = np.maximum(at.low[rows], value)


def _with_numbers(variable: Variable, bounds: _Bounds) -> Variable:
    both = variable.missing & np.isfinite(bounds.low) & np.isfinite(bounds.high)
    rows = np.flatnonzero(both)
    rows = rows[(bounds.high - bounds.low)[rows] <= ROUNDING * bounds.size[rows]]
    return _filled(variable, rows, bounds.low[rows], bounds.size[rows])


def _filled(variable: Variable, rows: np.ndarray, numbers: Floats, size: Floats) -> Variable:
    """Numbers filled in, each set to the nearest known value if they differ only by rounding."""
    if not len(rows):
        return variable
    present = np.unique(variable.values[~variable.missing])
    if len(present):
        above = np.minimum(np.searchsorted(present, numbers), len(present) - 1)
        below = np.maximum(above - 1, 0)
        high, low = present[above], present[below]
        near = np.where(np.abs(high - numbers) < np.abs(low - numbers), high, low)
        numbers = np.where(np.abs(near - numbers) <= ROUNDING * np.maximum(size, np.abs(near)), near, numbers)
    values = variable.values.copy()
    values[rows] = numbers
    return variable.filled_in(values, rows)


def _with_categories(variable: Variable, single: dict[int, Category]) -> Variable:
    if not single:
        return variable
    categories = (*variable.categories, *dict.fromkeys(c for c in single.values() if c not in variable.categories))
    place = {category: code for code, category in enumerate(categories)}
    values = variable.values.copy()
    for row, category in single.items():
        values[row] = place[category]
    return replace(variable, categories=categories).filled_in(values, np.array(list(single)))


def _solved(records: Records, clauses: Sequence[Clause]) -> Records:
    """The records after solving equations without conditions together, for each pattern of missing columns."""
    equations = [
        literal
        for clause in clauses
        for literal in clause.literals
        if len(clause.literals) == 1 and isinstance(literal, LinearClause) and literal.relation == "=="
    ]
    names = tuple(dict.fromkeys(name for equation in equations for name in equation.columns))
    if len(equations) < 2 or all(records[name].complete for name in names):
        return records
    missing = np.column_stack([records[name].missing for name in names])
    values = np.where(missing, 0.0, np.column_stack([records[name].values for name in names]))
    coefficients = np.array([equation.row(names) for equation in equations])
    constants = np.array([float(equation.bound) for equation in equations])
    changed: dict[str, Variable] = {}
    patterns, place = np.unique(missing, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        if pattern.sum() < 2:
            continue
        rows = np.flatnonzero(place.ravel() == number)
        inverse = linear.pseudo_inverse(coefficients[:, pattern], ROUNDING)
        identity = linear.product(inverse, coefficients[:, pattern])
        lone = np.abs(identity - np.eye(len(identity))).max(axis=1) < ROUNDING
        right = constants - linear.product(values[rows], coefficients.T)
        size = (linear.product(np.abs(values[rows]), np.abs(coefficients).T) + np.abs(constants)).max(axis=1)
        for j in np.flatnonzero(lone):
            name = names[np.flatnonzero(pattern)[j]]
            solution = linear.product(right, inverse[j][:, None])[:, 0]
            changed[name] = _filled(changed.get(name, records[name]), rows, solution, size)
    return records.with_variables(*changed.values()) if changed else records
