"""Rules bound to the columns of a table: every rule a set of clauses, every clause 'one of these holds'.

`A and B -> C and D` becomes two clauses, (C or not A or not B) and (D or not A or not B). A literal is either linear,
a'x <= b, a'x == b or a'x < b over continuous columns, or membership of a category in a set. A clause with a missing
value is not judged: a missing value cannot break a rule.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NoReturn

import numpy as np

from shoal.constraints.grammar import RuleComparison, Sentence, Sum, Text, parse
from shoal.constraints.precision import Decimals
from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.table.records import Records
from shoal.table.standardisation import standardiser
from shoal.table.variable import Variable
from shoal.vocabulary.errors import plural, quoted, unknown

TOLERANCE = 1e-10
"""Share of the size of its terms within which a comparison holds for numbers that are no decimals.

It allows for some hundred thousand roundings of a float64.
"""

EPSILON = float(np.finfo(np.float64).eps)
"""Twice the relative rounding error of one float64 operation."""

SHOWN_FROM = 10
"""Fewest records of a level that an error may name: a usual least frequency of published counts."""

Category = str | int | float | bool | None


@dataclass(frozen=True)
class LinearClause:
    """`sum of terms (relation) bound`, over continuous columns, in exact numbers.

    `spread` is the variation of the terms in the original; it keeps the tolerance from vanishing near 0. `step` is the
    smallest possible excess other than 0: 0 if cells are compared as they are, infinite if they are no decimals. The
    tolerance is always smaller.
    """

    terms: tuple[tuple[str, Fraction], ...]
    relation: Literal["==", "<=", "<"]
    bound: Fraction
    spread: float = 0.0
    step: float = math.inf

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.terms)

    def row(self, names: Sequence[str]) -> Floats:
        """Shape (p,); the factors of some columns, 0 for columns that do not occur."""
        factors = dict(self.terms)
        return np.array([float(factors.get(name, 0)) for name in names])

    @property
    def bounds_one_column(self) -> bool:
        """True if cells are compared as they are, without arithmetic."""
        return len(self.terms) == 1 and abs(self.terms[0][1]) == 1

    def as_written(self) -> "LinearClause":
        """The same literal; a bound on one column is judged without tolerance."""
        return replace(self, step=0.0) if self.bounds_one_column else self

    def in_decimals(self, decimals: Decimals) -> "LinearClause":
        """The same literal, judged as exactly as cells with so many decimals allow."""
        if self.step == 0.0:
            return self
        places = [decimals.get(name) for name in self.columns]
        if None in places:
            return replace(self, step=math.inf)
        shares = [factor / 10**place for (_, factor), place in zip(self.terms, places) if place is not None]
        return replace(self, step=1 / math.lcm(*(share.denominator for share in (*shares, self.bound))))

    def exact(self, values: Mapping[str, Floats]) -> bool:
        """True if records are judged exactly: no sum is so large that rounding could hide a step."""
        largest = float(np.nanmax(self._rounding(self.excess(values)[1]), initial=0.0))
        return self.step == 0.0 or largest < self.step / 4 < math.inf

    def excess(self, values: Mapping[str, Floats]) -> tuple[Floats, Floats]:
        """Shape (n,) twice: left side minus bound, and the size of the terms."""
        bound = float(self.bound)
        n = len(values[self.terms[0][0]])
        total, size = np.full(n, -bound), np.full(n, abs(bound))
        for name, factor in self.terms:
            term = float(factor) * values[name]
            total += term
            size += np.abs(term)
        return total, size

    def within(self, values: Mapping[str, Floats], tolerance: float) -> Bools:
        """Shape (n,); True where it holds with the whole tolerance."""
        return replace(self, step=math.inf).holds(values, tolerance)

    def holds(self, values: Mapping[str, Floats], tolerance: float) -> Bools:
        excess, size = self.excess(values)
        slack = np.minimum(tolerance * (size + self.spread), self._least_slack(size))
        if self.relation == "==":
            return np.asarray(np.abs(excess) <= slack)
        return np.asarray(excess < -slack if self.relation == "<" else excess <= slack)

    def _least_slack(self, size: Floats) -> Floats:
        """Shape (n,); a quarter of a step, or the rounding error of terms of such sizes if that is more."""
        return np.zeros(len(size)) if self.step == 0.0 else np.maximum(self.step / 4, self._rounding(size))

    def _rounding(self, size: Floats) -> Floats:
        return (len(self.terms) + 2) * EPSILON * size

    def negations(self) -> tuple["LinearClause", ...]:
        """Literals of which one holds wherever this one does not."""
        turned = tuple((name, -factor) for name, factor in self.terms)
        above = replace(self, terms=turned, relation="<=" if self.relation == "<" else "<", bound=-self.bound)
        return (above, replace(self, relation="<")) if self.relation == "==" else (above,)


@dataclass(frozen=True)
class Member:
    """A categorical column's value is one of `categories`, or with `negated` none of them."""

    column: str
    categories: frozenset[Category]
    negated: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def allowed(self, categories: Sequence[Category]) -> Bools:
        """Shape (m,); True for the known categories that satisfy it."""
        return np.array([(category in self.categories) != self.negated for category in categories], dtype=bool)

    def negations(self) -> tuple["Member", ...]:
        return (replace(self, negated=not self.negated),)


Literals = LinearClause | Member


@dataclass(frozen=True)
class Clause:
    """A disjunction of literals; the rule's consequence stands first, the negated conditions follow."""

    rule: int
    literals: tuple[Literals, ...]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for literal in self.literals for name in literal.columns))

    @property
    def linear(self) -> tuple[LinearClause, ...]:
        return tuple(literal for literal in self.literals if isinstance(literal, LinearClause))

    def with_linear(self, change: Callable[[LinearClause], LinearClause]) -> "Clause":
        """The same with every linear literal changed."""
        return replace(self, literals=tuple(change(a) if isinstance(a, LinearClause) else a for a in self.literals))

    def literals_hold(self, view: "View", tolerance: float) -> Bools:
        """Shape (literals, n); True where a literal holds."""
        return np.array([view.holds(literal, tolerance) for literal in self.literals])

    def holds(self, view: "View", tolerance: float) -> Bools:
        """Shape (n,); True where a literal holds, or a column of the clause is missing."""
        return np.asarray(self.literals_hold(view, tolerance).any(axis=0) | view.missing(self.columns))


@dataclass(frozen=True, eq=False)
class View:
    """Some columns of some records: values of continuous ones, codes and categories of the others."""

    values: Mapping[str, Floats]
    codes: Mapping[str, Ints]
    categories: Mapping[str, tuple[Category, ...]]

    @classmethod
    def of(cls, records: Records, columns: Sequence[str]) -> "View":
        chosen = [records[name] for name in columns]
        return cls(
            {v.name: v.values for v in chosen if v.continuous},
            {v.name: v.values for v in chosen if not v.continuous},
            {v.name: v.categories for v in chosen if not v.continuous},
        )

    def holds(self, literal: Literals, tolerance: float) -> Bools:
        if isinstance(literal, LinearClause):
            return literal.holds(self.values, tolerance)
        allowed = np.append(literal.allowed(self.categories[literal.column]), False)
        return np.asarray(allowed[self.codes[literal.column]])

    def missing(self, columns: Sequence[str]) -> Bools:
        missing = [np.isnan(self.values[c]) if c in self.values else self.codes[c] < 0 for c in columns]
        return np.asarray(np.logical_or.reduce(missing))


@dataclass(frozen=True)
class Rule:
    """A rule as written, with its clauses."""

    text: str
    number: int
    clauses: tuple[Clause, ...]
    conditions: tuple[Literals, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for clause in self.clauses for name in clause.columns))


def bind(rule: str | Sentence, number: int, records: Records, *, released: bool = False) -> Rule:
    """Parse a rule, unless it is, and bind it to the columns and levels of a table.

    A released table need not hold every level that the rules mention, as the original must.
    """
    return _Binder(parse(rule, number) if isinstance(rule, str) else rule, records, released).rule()


class _Binder:
    """Checks names, levels, measurement and units of one parsed rule."""

    def __init__(self, sentence: Sentence, records: Records, released: bool) -> None:
        self.sentence = sentence
        self.records = records
        self.released = released

    def rule(self) -> Rule:
        conditions = [self._literal(c, condition=True) for c in self.sentence.when]
        denied = tuple(n for literal in conditions for n in literal.negations())
        clauses = tuple(
            Clause(self.sentence.number - 1, (self._literal(c, condition=False), *denied)) for c in self.sentence.then
        )
        return Rule(self.sentence.text, self.sentence.number, clauses, tuple(conditions))

    def _column(self, name: str, position: int) -> Variable:
        if name not in self.records:
            names = [v.name for v in self.records.variables]
            self.sentence.fail(position, _lowered(unknown("column", name, names)))
        return self.records[name]

    def _literal(self, comparison: RuleComparison, *, condition: bool) -> Literals:
        sides = [comparison.left, *_listed(comparison.right)]
        named = [(n, s.positions[n]) for s in sides if isinstance(s, Sum) for n in s.terms]
        variables = [self._column(name, position) for name, position in named]
        if not variables:
            self.sentence.fail(comparison.position, "a comparison without a column says nothing about the data.")
        if any(not v.continuous for v in variables):
            return self._member(comparison, variables)
        return self._linear(comparison, variables, condition=condition)

    def _member(self, comparison: RuleComparison, variables: Sequence[Variable]) -> Member:
        left, right = comparison.left, comparison.right
        relation: Any = comparison.relation
        if not isinstance(right, tuple) and isinstance(right, Sum) and right.terms:
            left, right = right, left
            relation = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(relation, relation)
        bare = isinstance(left, Sum) and not left.constant and list(left.terms.values()) == [Fraction(1)]
        if len(variables) > 1 or not bare:
            name = next(v.name for v in variables if not v.continuous)
            self.sentence.fail(
                comparison.position,
                f"'{name}' is categorical; compare a categorical column alone with a level, as in sex == 'male'.",
            )
        variable = variables[0]
        levels = [self._level(variable, side, comparison) for side in _listed(right)]
        if relation in ("==", "in", "!=", "not in"):
            return Member(variable.name, frozenset(levels), negated=relation in ("!=", "not in"))
        if variable.level != "ordinal":
            self.sentence.fail(comparison.position, f"'{variable.name}' is nominal and has no order; use == or in.")
        place = variable.categories.index(levels[0])
        side = {"<": slice(0, place), "<=": slice(0, place + 1), ">": slice(place + 1, None), ">=": slice(place, None)}
        return Member(variable.name, frozenset(variable.categories[side[relation]]))

    def _level(self, variable: Variable, side: Sum | Text, comparison: RuleComparison) -> Category:
        written = side.value if isinstance(side, Text) else side.constant
        position = side.position if isinstance(side, Text) else comparison.position
        if isinstance(side, Sum) and side.terms:
            self.sentence.fail(position, "a list of levels holds levels, not columns.")
        same: list[Category] = [category for category in variable.categories if _same_level(category, written)]
        if not same and self.released and comparison.relation in ("==", "!=", "in", "not in"):
            return written if isinstance(written, (str, bool)) else float(written)
        if not same:
            self._unknown_level(variable, written, position)
        return same[0]

    def _unknown_level(self, variable: Variable, written: Any, position: int) -> NoReturn:
        counts = np.bincount(variable.values[~variable.missing], minlength=len(variable.categories))
        common = [str(c) for c, count in zip(variable.categories, counts) if count >= SHOWN_FROM]
        close = get_close_matches(str(written), common, n=1)
        hint = f" did you mean '{close[0]}'?" if close else ""
        end = ";" if hint else "."
        self.sentence.fail(
            position,
            f"unknown level '{written}' of column '{variable.name}'{end}{hint} "
            f"It has {plural(len(variable.categories), 'level')}.",
        )

    def _linear(self, comparison: RuleComparison, variables: Sequence[Variable], *, condition: bool) -> LinearClause:
        relation = comparison.relation
        if relation in ("in", "not in"):
            self.sentence.fail(comparison.position, f"'{variables[0].name}' is continuous; 'in' is for categories.")
        if not condition and relation in ("<", ">", "!="):
            self.sentence.fail(
                comparison.position,
                f"'{relation}' leaves no nearest allowed value; write <= or >= (for whole numbers x <= 4, not x < 5).",
            )
        if relation == "!=":
            self.sentence.fail(comparison.position, "'!=' is for categories; write the condition with < or >.")
        unit = self._unit(comparison, variables)
        left, right = (self._as_sum(side, unit) for side in (comparison.left, comparison.right))
        difference = left.plus(right, Fraction(-1))
        self._check_points(difference, variables, comparison)
        if relation in (">", ">="):
            difference = difference.times(Fraction(-1))
        terms = tuple((name, factor) for name, factor in difference.terms.items() if factor)
        if not terms:
            self.sentence.fail(comparison.position, "the columns cancel out, so the rule says nothing about the data.")
        sign: Literal["==", "<=", "<"] = "==" if relation == "==" else "<=" if relation in ("<=", ">=") else "<"
        spread = sum(abs(float(factor)) / abs(affine(self.records[name])[0]) for name, factor in terms)
        return LinearClause(terms, sign, -difference.constant, spread)

    def _unit(self, comparison: RuleComparison, variables: Sequence[Variable]) -> str | None:
        """The unit in which a comparison counts dates: days or microseconds."""
        units = {v.name: "days" if v.unit == "date" else "microseconds" for v in variables if v.unit is not None}
        if len(set(units.values())) > 1:
            self.sentence.fail(
                comparison.position,
                f"columns {quoted(units)} mix dates (in days) with times (in microseconds); make them one kind.",
            )
        return next(iter(units.values()), None)

    def _as_sum(self, side: Any, unit: str | None) -> Sum:
        if isinstance(side, Sum):
            return side
        try:
            stamp = datetime.fromisoformat(str(side.value))
        except ValueError:
            self.sentence.fail(side.position, "a continuous column is compared with text; give a number or a date.")
        if unit is None:
            self.sentence.fail(side.position, "a date is compared with a column that holds no dates.")
        stamp = stamp.replace(tzinfo=UTC) if stamp.tzinfo is None else stamp.astimezone(UTC)
        since = stamp - datetime(1970, 1, 1, tzinfo=UTC)
        return Sum(constant=Fraction(since.days if unit == "days" else since // timedelta(microseconds=1)))

    def _check_points(self, difference: Sum, variables: Sequence[Variable], comparison: RuleComparison) -> None:
        """Refuse dates in any comparison except date with date, or difference of two dates with a number."""
        points = [v.name for v in variables if v.unit in ("date", "datetime")]
        others = [v.name for v in variables if v.unit not in ("date", "datetime")]
        dated = any(isinstance(s, Text) for s in (comparison.left, comparison.right))
        weight = sum(difference.terms[name] for name in dict.fromkeys(points))
        if points and weight != 0 and (others or not dated):
            self.sentence.fail(
                comparison.position,
                f"{quoted(dict.fromkeys(points))}: a date is no plain number; "
                f"compare a date with a date (discharge >= admission, admission >= '2020-01-01') "
                f"or a difference of dates with a number.",
            )


def affine(variable: Variable) -> tuple[float, float]:
    """Slope and intercept of a continuous column's standardisation.

    A rank scale counts as one over the range; a constant column is not scaled.
    """
    present = variable.values[~variable.missing]
    low, high = (float(present.min()), float(present.max())) if len(present) else (0.0, 0.0)
    if low == high:
        return 1.0, -low
    ends = standardiser(present, variable.scale)(np.array([low, high])) * np.sqrt(variable.weight)
    slope = float((ends[1] - ends[0]) / (high - low))
    return slope, float(ends[0]) - slope * low


def _same_level(category: Any, written: str | bool | Fraction) -> bool:
    if isinstance(category, bool) or isinstance(written, bool):
        return category is written or (isinstance(written, Fraction) and Fraction(int(category)) == written)
    if isinstance(written, Fraction):
        if isinstance(category, (int, float)):
            return Fraction(category) == written
        return str(category) == str(float(written)) or str(category) == str(written)
    return category is not None and str(category) == written


def _listed(side: Any) -> tuple[Any, ...]:
    return side if isinstance(side, tuple) else (side,)


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]
