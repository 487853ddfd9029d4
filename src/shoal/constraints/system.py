"""Consistency of rules: satisfiability, clashes, and redundancy.

A set of rules is satisfiable if one record could obey them all. Linear rules without condition are decided by a
linear programme (a certificate of infeasibility exists exactly where there is no such record: Farkas
1902); a rule with conditions is a choice between its consequence and the opposite of a condition,
and the choices are searched depth first. A clash is answered with a smallest set of rules that clash
where few enough sets have to be tried, otherwise with a set of which no rule can be spared.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shoal.constraints.projection import System
from shoal.constraints.rules import Category, Clause, LinearClause, Literals, Member, Rule, View
from shoal.kernels.arrays import Bools, Floats
from shoal.vocabulary.errors import ConstraintError

TRIALS = 500
"""Most sets of one size that are tried for a smallest clash; beyond it the clash is only irreducible."""

LP_TOLERANCE = 1e-7
"""HiGHS's own tolerance of feasibility."""

STRICT = 10 * LP_TOLERANCE
"""Margin of a strict comparison, as a share of the size of its terms."""

INFEASIBLE = 2
"""Status of `linprog` for a problem without a solution."""


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """Possible values of columns: any number for continuous ones, the categories for others."""

    continuous: tuple[str, ...]
    categories: dict[str, tuple[Category, ...]]
    lengths: Floats
    """Shape (p,); a unit of distance in each continuous column; linear programmes are solved in it."""

    def system(self, literals: Sequence[Literals]) -> System:
        """Equalities and inequalities among the literals, as rows over the continuous columns.

        Strict comparisons are met with a margin above the tolerance of a linear programme.
        """
        rows = []
        for literal in literals:
            if isinstance(literal, LinearClause):
                row, bound = literal.row(self.continuous), float(literal.bound)
                if literal.relation == "<":
                    bound -= STRICT * (np.abs(row * self.lengths).max() + abs(bound))
                rows.append((literal.relation == "==", row, bound))
        return System.of(rows, len(self.continuous))

    def restricted(self, names: Collection[str]) -> "PossibleValues":
        """The domain of some of the columns."""
        chosen = [name in names for name in self.continuous]
        return PossibleValues(
            tuple(name for name in self.continuous if name in names),
            {name: categories for name, categories in self.categories.items() if name in names},
            self.lengths[chosen],
        )

    def allowed(self, literals: Sequence[Literals]) -> dict[str, Bools]:
        """Shape (m,) for each categorical column; categories that the literals leave."""
        left = {name: np.ones(len(categories), dtype=bool) for name, categories in self.categories.items()}
        for literal in literals:
            if isinstance(literal, Member):
                left[literal.column] &= literal.allowed(self.categories[literal.column])
        return left


def refuse_clashes(rules: Sequence[Rule], domain: PossibleValues) -> None:
    """Refuse rules that no record can obey, and rules that no record with some rule's condition can obey."""
    if not satisfiable(rules, (), domain):
        clash = smallest_clash(rules, (), domain)
        raise ConstraintError(f"No record can obey {_named(clash)}{_together(clash)}")
    for rule in rules:
        if not rule.conditions or satisfiable(rules, rule.conditions, domain):
            continue
        others = [r for r in rules if r is not rule]
        if satisfiable(others, rule.conditions, domain):
            clash = [rule, *smallest_clash(others, (*rule.conditions, *_consequences(rule)), domain)]
            clash.sort(key=lambda r: r.number)
            raise ConstraintError(
                f"No record that meets the condition of rule {rule.number} can obey {_named(clash)}{_together(clash)}"
            )


def redundant(rules: Sequence[Rule], domain: PossibleValues) -> dict[str, tuple[str, ...]]:
    """Rules that follow from others, each with the rules that imply it (none if its condition can never hold)."""
    implied: dict[str, tuple[str, ...]] = {}
    kept = list(rules)
    for rule in reversed(rules):  # the later one of two equal rules is the redundant one
        others = [r for r in kept if r is not rule]
        if _follows(rule, others, domain):
            kept = others
            implied[rule.text] = tuple(r.text for r in _sources(rule, others, domain))
    return dict(reversed(implied.items()))


def satisfiable(rules: Sequence[Rule], asserted: Sequence[Literals], domain: PossibleValues) -> bool:
    """True if a record could obey all rules and the asserted literals."""
    clauses = [clause for rule in rules for clause in rule.clauses]
    certain = [c.literals[0] for c in clauses if len(c.literals) == 1]
    return _search([*asserted, *certain], [c for c in clauses if len(c.literals) > 1], domain)


def smallest_clash(rules: Sequence[Rule], asserted: Sequence[Literals], domain: PossibleValues) -> list[Rule]:
    """Rules that cannot all hold together with the asserted literals, as few as possible.

    All subsets of a size are tried while there are at most `TRIALS` of them; then rules are left out one by one until
    none can be spared.
    """
    for size in range(0, len(rules)):
        if math.comb(len(rules), size) > TRIALS:
            break
        for chosen in combinations(rules, size):
            if not satisfiable(chosen, asserted, domain):
                return list(chosen)
    clash = list(rules)
    for rule in rules:
        without = [r for r in clash if r is not rule]
        if not satisfiable(without, asserted, domain):
            clash = without
    return clash


def _consequences(rule: Rule) -> list[Literals]:
    return [clause.literals[0] for clause in rule.clauses]


def _search(chosen: list[Literals], open_clauses: Sequence[Clause], domain: PossibleValues) -> bool:
    left = domain.allowed(chosen)
    if not all(allowed.any() for allowed in left.values()):
        return False
    point = _feasible_point(chosen, domain)
    if point is None:
        return False
    view = View(
        {name: np.array([value]) for name, value in zip(domain.continuous, point)},
        {name: np.array([allowed.argmax()], dtype=np.int32) for name, allowed in left.items()},
        domain.categories,
    )
    for clause in open_clauses:
        if not clause.holds(view, LP_TOLERANCE)[0]:
            rest = [c for c in open_clauses if c is not clause]
            return any(_search([*chosen, literal], rest, domain) for literal in clause.literals)
    return True


def _feasible_point(literals: Sequence[Literals], domain: PossibleValues) -> Floats | None:
    """A point that satisfies the linear literals."""
    system = domain.system(literals)
    if not system.equal_to.any() and (system.at_most >= 0).all():
        return np.zeros(len(domain.continuous))  # without the import of SciPy, which takes longest
    from scipy.optimize import linprog

    e, eb = _normed(system.equalities * domain.lengths, system.equal_to)
    g, gb = _normed(system.inequalities * domain.lengths, system.at_most)
    result = linprog(
        np.zeros(len(domain.continuous)), A_ub=g, b_ub=gb, A_eq=e, b_eq=eb, bounds=(None, None), method="highs"
    )
    return None if result.status == INFEASIBLE else np.asarray(result.x * domain.lengths)


def _normed(rows: Floats, bounds: Floats) -> tuple[Floats, Floats]:
    norms = np.sqrt((rows**2).sum(axis=1))
    return rows / norms[:, None], bounds / norms


def _follows(rule: Rule, others: Sequence[Rule], domain: PossibleValues) -> bool:
    """True if every record that obeys the others obeys the rule."""
    if rule.conditions and not satisfiable(others, rule.conditions, domain):
        return True
    return not any(
        satisfiable(others, (*rule.conditions, denial), domain)
        for literal in _consequences(rule)
        for denial in literal.negations()
    )


def _sources(rule: Rule, others: Sequence[Rule], domain: PossibleValues) -> list[Rule]:
    """A set of rules from which the rule follows and of which none can be spared."""
    needed = list(others)
    for other in others:
        without = [r for r in needed if r is not other]
        if _follows(rule, without, domain):
            needed = without
    return needed


def _together(rules: Sequence[Rule]) -> str:
    return " together. Change or drop one of them." if len(rules) > 1 else ". Change or drop it."


def _named(rules: Sequence[Rule]) -> str:
    *first, last = [f"rule {rule.number} ({rule.text!r})" for rule in rules]
    return f"{', '.join(first)} and {last}" if first else last
