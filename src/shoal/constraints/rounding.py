"""Controlled rounding: each column is rounded to its decimals, and the rules still hold.

A column with d decimals holds multiples of 10^-d; in those units the rules that bind a record are
equations and inequalities in whole numbers, with exact coefficients. Each equation is solved for one of its
columns: for one without decimals if there is one, else for one whose coefficient is 1 or -1, so that
whatever whole numbers the other columns hold, it is whole too. The other columns start at their nearest
multiples, and steps that keep every equation (one column up or down with those that depend on it, or two
columns at once) are taken as long as they mend an inequality or bring the record nearer to what it was.
For a single sum this ends at the largest-remainder rounding: every part is rounded up or down, those with the
largest remainders up. Records for which no step mends what is broken, and equations without a
coefficient of 1, are left to a mixed-integer programme (HiGHS), record by record.

A record that obeys its rules and whose columns hold their multiples stays as it is, to the last bit; so does a value of
a column without decimals whose equation still holds. Other such values are written as the sums of decimals that they
are, where they are such sums.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from shoal.constraints.precision import places_of, written_decimals
from shoal.constraints.projection import ROUNDING
from shoal.constraints.repair import DistinctRecords, all_hold
from shoal.constraints.rules import TOLERANCE, Clause, LinearClause, Rule, View
from shoal.constraints.system import PossibleValues
from shoal.kernels import linear
from shoal.kernels.arrays import Bools, Floats, Longs
from shoal.kernels.elementary import power_of_ten
from shoal.kernels.solver import milp
from shoal.table.equal_rows import patterns
from shoal.table.variable import Variable

MEND = 1e9
"""Weight of a unit of a broken inequality against squared distance."""

BLOCK = 4096
"""Records whose steps are weighed together; bounds memory."""

ENOUGH = 20
"""After so many records without a rounding, the rules are known not to fit the decimals."""

HOLDS = 8 * ROUNDING
"""Share of the size of its terms within which an equation holds after a repair."""

FREE = -1
"""Choice for a clause that binds nothing: not judged, or decided by a category."""


def to_decimals(variable: Variable, decimals: int | None) -> Variable:
    """A continuous column rounded by itself, half to even, to the nearest values of float64."""
    if decimals is None:
        return variable
    return variable.with_values(_values(np.rint(_units(variable.values, decimals)), decimals))


def _units(values: Floats, decimals: int) -> Floats:
    return values * power_of_ten(decimals)


def _values(units: Floats, decimals: int) -> Floats:
    return units / power_of_ten(decimals) + 0.0


@dataclass(frozen=True, eq=False)
class DecimalGrid:
    """Decimals of each column, whose values are multiples of its unit."""

    names: tuple[str, ...]
    decimals: tuple[int | None, ...]  # For each continuous column its decimals, None where it is not rounded
    fixed: Bools  # Shape (p,); columns that keep the values they have

    def unit(self, j: int) -> Fraction:
        return Fraction(1, 10 ** (self.decimals[j] or 0))

    @cached_property
    def worth(self) -> Floats:
        """Shape (p,); change of a value with a step of one unit, 0 if it takes none."""
        moving = self.whole & ~self.fixed
        return np.array([float(self.unit(j)) if moves else 0.0 for j, moves in enumerate(moving)])

    @property
    def whole(self) -> Bools:
        """Shape (p,); columns that are rounded."""
        return np.array([d is not None for d in self.decimals], dtype=bool)


def rounded(table: DistinctRecords, clauses: Sequence[Clause], lattice: DecimalGrid) -> tuple[DistinctRecords, Bools]:
    """Round distinct records.

    Returns the records, and shape (n,): True for records that satisfy all clauses once rounded.
    """
    out = table.x.copy()
    open_rows = np.flatnonzero(~_settled(table, clauses, lattice))
    left = table.take(open_rows)
    choice = np.column_stack([np.zeros((len(left), 0), dtype=int), *(_choice(c, left.view()) for c in clauses)])
    for chosen, rows in patterns(choice):
        bound = [clause.literals[i] for clause, i in zip(clauses, chosen) if i != FREE]
        out[open_rows[rows]] = _Rounder([b for b in bound if isinstance(b, LinearClause)], lattice).round(left.x[rows])
    after = replace(table, x=out)
    return after, all_hold(after, clauses)


def _settled(table: DistinctRecords, clauses: Sequence[Clause], lattice: DecimalGrid) -> Bools:
    """Shape (n,); records that already obey all clauses and hold multiples."""
    places = {
        name: written_decimals(column) if decimals is None else decimals
        for name, column, decimals in zip(lattice.names, table.x.T, lattice.decimals)
    }
    settled = all_hold(table, [clause.with_linear(lambda a: a.in_decimals(places)) for clause in clauses])
    for column, decimals, fixed in zip(table.x.T, lattice.decimals, lattice.fixed):
        if decimals is not None and not fixed:
            settled &= np.isnan(column) | (_values(np.rint(_units(column, decimals)), decimals) == column)
    return settled


def _choice(clause: Clause, view: View) -> Longs:
    """Shape (n,); literal of a clause that each record is held to, FREE if a category decides it."""
    short = np.full((len(clause.literals), len(view.missing(clause.columns))), np.inf)
    free = view.missing(clause.columns)
    for number, literal in enumerate(clause.literals):
        if isinstance(literal, LinearClause):
            excess, size = literal.excess(view.values)
            short[number] = (np.abs(excess) if literal.relation == "==" else excess) / (size + literal.spread)
        else:
            free |= view.holds(literal, TOLERANCE)
    return np.where(free, FREE, np.nan_to_num(short).argmin(axis=0))


class ExactRow(NamedTuple):
    """Exact coefficients of an equation or inequality, a column each, and its right side."""

    coefficients: list[Fraction]
    bound: Fraction

    def without(self, j: int, solved: "ExactRow") -> "ExactRow":
        """The row with column j eliminated by another row whose coefficient there is 1."""
        factor = self.coefficients[j]
        left = [a - factor * b for a, b in zip(self.coefficients, solved.coefficients)]
        return ExactRow(left, self.bound - factor * solved.bound)

    def primitive(self) -> "ExactRow":
        """The same row with whole coefficients without a common divisor."""
        denominator = math.lcm(*(v.denominator for v in self.coefficients))
        divisor = math.gcd(*(int(v * denominator) for v in self.coefficients)) or 1
        factor = Fraction(denominator, divisor)
        return ExactRow([v * factor for v in self.coefficients], self.bound * factor)

    def left(self, u: Floats) -> Floats:
        """Shape (n,); the left side at points of shape (n, p), summed in the order of the columns."""
        total = np.zeros(len(u))
        for i, v in enumerate(self.coefficients):
            if v:
                total += float(v) * u[:, i]
        return total


class _Rounder:
    """Rounds records that are bound by the same comparisons."""

    def __init__(self, literals: Sequence[LinearClause], lattice: DecimalGrid) -> None:
        self.lattice = lattice
        self.movable = np.flatnonzero(lattice.whole & ~lattice.fixed)
        self.real = np.flatnonzero(~lattice.whole & ~lattice.fixed)
        self.equations = [self._row(a) for a in literals if a.relation == "=="]
        self.pivots: list[tuple[int, ExactRow]] = []
        self.solved = self._eliminate()
        self.inequalities = [self._tightened(self._row(a), a.relation) for a in literals if a.relation != "=="]
        self.moves = self._moves()

    def _row(self, literal: LinearClause) -> ExactRow:
        row = [Fraction(0)] * len(self.lattice.names)
        for name, factor in literal.terms:
            j = self.lattice.names.index(name)
            row[j] = factor * (self.lattice.unit(j) if self.lattice.whole[j] else 1)
        return ExactRow(row, literal.bound).primitive()

    def _is_whole(self, row: ExactRow) -> bool:
        return all(self.lattice.whole[j] for j, v in enumerate(row.coefficients) if v)

    def _tightened(self, row: ExactRow, relation: str) -> ExactRow:
        """Over whole numbers a'u <= b means a'u <= floor(b), and a'u < b means a'u <= ceil(b) - 1."""
        if not self._is_whole(row):
            return row
        return ExactRow(
            row.coefficients, Fraction(math.ceil(row.bound) - 1 if relation == "<" else math.floor(row.bound))
        )

    def _eliminate(self) -> bool:
        """Solve every equation for one column; False if that leaves fractions."""
        todo = self._movable_rows(self.equations)
        while todo:
            pick = self._pick(todo)
            if pick is None:
                return False
            number, j = pick
            row = todo.pop(number)
            chosen = ExactRow([v / row.coefficients[j] for v in row.coefficients], row.bound / row.coefficients[j])
            self.pivots = [(i, solved.without(j, chosen)) for i, solved in self.pivots] + [(j, chosen)]
            todo = self._movable_rows([other.without(j, chosen).primitive() for other in todo])
        return True

    def _movable_rows(self, rows: Sequence[ExactRow]) -> list[ExactRow]:
        """Rows that bind some column that may still change; the others cannot be affected."""
        return [row for row in rows if any(v and not self.lattice.fixed[j] for j, v in enumerate(row.coefficients))]

    def _pick(self, todo: Sequence[ExactRow]) -> tuple[int, int] | None:
        """A row and the column to solve it for; real columns first, then the finest with coefficient 1."""
        for number, row in enumerate(todo):
            for j in self.real:
                if row.coefficients[j]:
                    return number, int(j)
        finest = sorted(self.movable, key=lambda j: -(self.lattice.decimals[j] or 0))
        for number, row in enumerate(todo):
            if self._is_whole(row) and row.bound.denominator == 1:
                for j in finest:
                    if abs(row.coefficients[j]) == 1:
                        return number, int(j)
        return None

    def _moves(self) -> Floats:
        """Shape (moves, p); steps that keep every equation, in units."""
        p = len(self.lattice.names)
        solved = dict(self.pivots)
        single = []
        for j in (j for j in self.movable if int(j) not in solved):
            step = np.zeros(p)
            step[j] = 1.0
            for i, row in solved.items():
                step[i] = -float(row.coefficients[j])
            single.append(step)
        pairs = [a + sign * b for a, b in combinations(single, 2) for sign in (1.0, -1.0)]
        steps = [*single, *pairs]
        return np.array([s * sign for s in steps for sign in (1.0, -1.0)]).reshape(-1, p)

    def round(self, x: Floats) -> Floats:
        scaled = x.copy()
        for j, d in enumerate(self.lattice.decimals):
            if d is not None:
                scaled[:, j] = _units(x[:, j], d)
        out = np.empty_like(x)
        for start in range(0, len(x), BLOCK):
            out[start : start + BLOCK] = self._block(scaled[start : start + BLOCK])
        for j, d in enumerate(self.lattice.decimals):
            if d is not None:
                out[:, j] = _values(out[:, j], d)
        out[:, self.lattice.fixed] = x[:, self.lattice.fixed]
        return np.where(np.isnan(x), x, out)

    def _block(self, scaled: Floats) -> Floats:
        u = np.where(self.lattice.whole, np.rint(scaled), scaled)
        if not self.solved:
            return self._by_programme(scaled, np.arange(len(scaled)), u)
        for j, row in self.pivots:
            u[:, j] = 0.0
            u[:, j] = float(row.bound) - row.left(u)
        self._descend(u, scaled)
        u = self._by_programme(scaled, np.flatnonzero(self._breach(u) > 0), u)
        for j, row in self.pivots:
            if not self.lattice.whole[j]:
                u[:, j] = self._as_it_was(int(j), row, u, scaled[:, j])
        return u

    def _as_it_was(self, j: int, row: ExactRow, u: Floats, was: Floats) -> Floats:
        """Shape (n,); values of a solved column without decimals: unchanged if their equation holds with them."""
        others = u.copy()
        others[:, j] = 0.0
        left = row.left(others)
        sums = float(row.bound) - left
        places = [places_of(value) for value in (*row.coefficients, row.bound)]
        decimals = all(self.lattice.whole[i] for i, v in enumerate(row.coefficients) if v and i != j)
        if decimals and None not in places:
            most = max(place for place in places if place is not None)
            sums = _values(np.rint(_units(sums, most)), most)
        size = np.abs(float(row.bound)) + np.abs(left) + np.abs(was)
        return np.where(np.abs(sums - was) <= HOLDS * size, was, sums)

    def _breach(self, u: Floats) -> Floats:
        """Shape (n,); total units by which the inequalities are broken."""
        total = np.zeros(len(u))
        for row in self.inequalities:
            total += np.maximum(row.left(u) - float(row.bound) - self._slack(row), 0.0)
        return total

    def _slack(self, row: ExactRow) -> float:
        """Largest effect of rounding on a left side; smaller than any whole number."""
        return 1e-6 if self._is_whole(row) else 1e-12 * max(1.0, abs(float(row.bound)))

    def _descend(self, u: Floats, scaled: Floats) -> None:
        if not len(self.moves):
            return
        weights = self.lattice.worth**2
        lengths = (self.moves**2 * weights).sum(axis=1)
        active = np.arange(len(u))
        for _ in range(20 + 4 * u.shape[1] ** 2):
            away = np.nan_to_num(u[active] - scaled[active])
            gain = 2.0 * linear.product(away * weights, self.moves.T) + lengths
            if self.inequalities:
                now = self._breach(u[active])
                after = np.zeros_like(gain)
                for row in self.inequalities:
                    over = row.left(u[active]) - float(row.bound) - self._slack(row)
                    after += np.maximum(over[:, None] + row.left(self.moves), 0.0)
                gain += MEND * (after - now[:, None])
            best = gain.argmin(axis=1)
            better = gain[np.arange(len(active)), best] < -1e-9 * lengths[best]
            active, best = active[better], best[better]
            if not len(active):
                break
            u[active] += self.moves[best]

    def _by_programme(self, scaled: Floats, rows: Longs, u: Floats) -> Floats:
        failed = 0
        for row in rows:
            if (point := self._programme(scaled[row])) is not None:
                u[row] = point
            elif (failed := failed + 1) == ENOUGH:
                break
        return u

    def _programme(self, target: Floats) -> Floats | None:
        """Least total distance, subject to all rules, for one record.

        No value may move by more units than there are columns: a larger move would be no rounding.
        """
        p = len(target)
        present = np.nan_to_num(target)
        origin = np.where(self.lattice.whole, np.rint(present), present)
        rows, low, high = [], [], []
        for equal, row in [(True, r) for r in self.equations] + [(False, r) for r in self.inequalities]:
            offset = sum((v * Fraction(o) for v, o in zip(row.coefficients, origin) if v), Fraction(0))
            rows.append(np.concatenate([[float(v) for v in row.coefficients], np.zeros(p)]))
            high.append(float(row.bound - offset))
            low.append(high[-1] if equal else -math.inf)
        for j in range(p):
            for sign in (1.0, -1.0):
                a = np.zeros(2 * p)
                a[j], a[p + j] = sign, -1.0
                rows.append(a)
                high.append(sign * float(present[j] - origin[j]))
                low.append(-math.inf)
        reach = np.where(self.lattice.fixed | np.isnan(target), 0.0, np.where(self.lattice.whole, p, np.inf))
        result = milp(
            np.concatenate([np.zeros(p), self.lattice.worth]),
            np.array(rows),
            low,
            high,
            whole=np.concatenate([self.lattice.whole.astype(int), np.zeros(p)]),
            low=np.concatenate([-reach, np.zeros(p)]),
            high=np.concatenate([reach, np.full(p, np.inf)]),
        )
        if result.x is None:
            return None
        return np.asarray(origin + np.where(self.lattice.whole, np.rint(result.x[:p]), result.x[:p]))


def decimals_of(
    domain: PossibleValues, decimals: Mapping[str, int], variables: Sequence[Variable]
) -> tuple[int | None, ...]:
    """Decimals of the constrained columns; dates and times are whole numbers."""
    time = {v.name for v in variables if v.unit is not None}
    return tuple(0 if name in time else decimals.get(name) for name in domain.continuous)


def decimals_needed(rule: Rule, lattice: DecimalGrid) -> tuple[str, int] | None:
    """The column of a rule's equation that could be solved for with the fewest decimals, and their number."""
    best: tuple[str, int] | None = None
    for clause in rule.clauses:
        literal = clause.literals[0]
        if not isinstance(literal, LinearClause) or literal.relation != "==":
            continue
        for name, factor in literal.terms:
            steps = [other / factor * lattice.unit(lattice.names.index(n)) for n, other in literal.terms if n != name]
            places = [places_of(step) for step in (*steps, literal.bound / factor)]
            if None not in places:
                most = max(p for p in places if p is not None)
                best = min(best or (name, most), (name, most), key=lambda needed: needed[1])
    return best
