"""Repair: the nearest records that obey the rules.

Equal records get equal repairs: distinct combinations of the constrained columns are repaired once, so records
that cannot be told apart before cannot be told apart afterwards. If rules tie quasi-identifiers to other columns,
the quasi-identifiers are first repaired among themselves, alike for every record of a class; then the other columns
absorb the rest. Only a record whose other columns cannot do so has its quasi-identifiers moved as well, and may leave
its class. The number of such records is reported, and the privacy models judge the finished table anyway.

A rule with a condition is met by its consequence. Its condition is changed (another category, a comparison broken by
the smallest margin) only if the consequence cannot be met together with the other rules.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.constraints.projection import ROUNDING, System, nearest
from shoal.constraints.rules import TOLERANCE, Clause, Literals, Rule, View
from shoal.constraints.system import PossibleValues
from shoal.kernels.arrays import Bools, Floats, Ints, Longs
from shoal.kernels.elementary import decade, power_of_ten
from shoal.table.equal_rows import patterns
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused, plural, quoted

LEAST = 1e-280
"""Smaller sizes of terms count as this size: they have no digits to lose."""

SHORTER = 4
"""Digits by which a decimal that a value is snapped to is shorter than rounding leaves it; chance seldom yields one."""

WEIGHTLESS = 1e3
"""Length of a column whose movement should cost nothing, relative to one that should hardly move."""

Distances = Callable[[Records, str], Floats]


@dataclass(frozen=True, eq=False)
class DistinctRecords:
    """Distinct records on the constrained columns: continuous values and category codes."""

    domain: PossibleValues
    x: Floats  # Shape (n, p); NaN for missing
    codes: Ints  # Shape (n, q); -1 for missing
    # For each categorical column the squared distances between its categories, shape (m, m)
    apart: Mapping[str, Floats]

    def view(self) -> View:
        return View(
            dict(zip(self.domain.continuous, self.x.T)),
            dict(zip(self.domain.categories, self.codes.T)),
            self.domain.categories,
        )

    def take(self, rows: Longs | Bools) -> "DistinctRecords":
        return DistinctRecords(self.domain, self.x[rows], self.codes[rows], self.apart)

    def __len__(self) -> int:
        return len(self.x)


def distinct_records(records: Records, domain: PossibleValues, apart: Distances) -> tuple[DistinctRecords, Longs]:
    """The distinct records, and the number of each record's distinct one."""
    names = (*domain.continuous, *domain.categories)
    ids = records.classes(names).ids
    _, first = np.unique(ids, return_index=True)
    x = np.column_stack([np.empty((len(first), 0)), *(records[c].values[first] for c in domain.continuous)])
    codes = [records[c].values[first] for c in domain.categories]
    categories = {c: records[c].categories for c in domain.categories}
    occurring = PossibleValues(domain.continuous, categories, domain.lengths)
    return DistinctRecords(
        occurring,
        np.ascontiguousarray(x),
        np.column_stack([np.empty((len(first), 0), dtype=np.int32), *codes]),
        {name: apart(records, name) for name in categories},
    ), ids


def repaired(
    records: Records, rules: Sequence[Rule], domain: PossibleValues, keep: Sequence[str], apart: Distances
) -> tuple[Records, int]:
    """Records that obey the rules, and the number whose columns in `keep` had to change.

    Raises Refused if no record near some record obeys the rules.
    """
    clauses = [clause for rule in rules for clause in rule.clauses]
    kept = set(keep)
    inner = [clause for clause in clauses if kept.issuperset(clause.columns)]
    if inner:
        among = domain.restricted({name for clause in inner for name in clause.columns})
        records = _written(records, *_stage(records, inner, among, set(), apart, rules)[:2])
    if len(inner) == len(clauses):
        return records, 0
    records = _made_possible(records, clauses, domain, kept, apart)
    table, ids, moved = _stage(records, clauses, domain, kept, apart, rules)
    return _written(records, table, ids), int(moved[ids].sum())


def _made_possible(
    records: Records, clauses: Sequence[Clause], domain: PossibleValues, kept: set[str], apart: Distances
) -> Records:
    """The records, with kept columns of stuck classes moved to the nearest values that a repair of the others allows.

    Only classes with a stuck record are moved. The other columns start from the same values for all, and their distance
    has almost no weight, so that a class moves as one.
    """
    table, ids = distinct_records(records, domain, apart)
    stuck = ~solve(table, clauses, kept)[1]
    columns = [name for name in (*domain.continuous, *domain.categories) if name in kept]
    if not columns or not stuck.any():
        return records
    classes = records.classes(columns)
    concerned = np.isin(classes.ids, classes.ids[stuck[ids]])
    _, first, which = np.unique(classes.ids[concerned], return_index=True, return_inverse=True)
    fixed = np.array([name in kept for name in domain.continuous], dtype=bool)
    x = table.x[ids[concerned]][first]
    x[:, ~fixed] = np.nan_to_num(np.nanmedian(table.x[:, ~fixed], axis=0))
    light = replace(domain, lengths=np.where(fixed, domain.lengths, WEIGHTLESS * domain.lengths))
    moved, possible = solve(
        DistinctRecords(
            replace(light, categories=table.domain.categories), x, table.codes[ids[concerned]][first], table.apart
        ),
        clauses,
        set(),
    )
    changed = []
    for j in np.flatnonzero(fixed):
        variable = records[domain.continuous[j]]
        values = variable.values.copy()
        values[concerned] = np.where(possible, moved.x[:, j], x[:, j])[which]
        changed.append(variable.with_values(values))
    return records.with_variables(*changed)


def _stage(
    records: Records,
    clauses: Sequence[Clause],
    domain: PossibleValues,
    kept: set[str],
    apart: Distances,
    rules: Sequence[Rule],
) -> tuple[DistinctRecords, Longs, Bools]:
    """Distinct records repaired with the columns in `kept` fixed, and freed if that is impossible."""
    table, ids = distinct_records(records, domain, apart)
    broken = ~all_hold(table, clauses)
    fixed, done = solve(table.take(broken), clauses, kept)
    left = np.flatnonzero(broken)[~done]
    left_over = left
    if len(left) and kept:
        again, freed = solve(table.take(left), clauses, set())
        fixed.x[~done], fixed.codes[~done] = again.x, again.codes
        left_over = left[~freed]
    if len(left_over):
        raise Refused(_no_neighbour(table.take(left_over), rules, int(np.isin(ids, left_over).sum())))
    table.x[broken], table.codes[broken] = fixed.x, fixed.codes
    moved = np.zeros(len(table), dtype=bool)
    moved[left] = True
    return table, ids, moved


def _no_neighbour(table: DistinctRecords, rules: Sequence[Rule], count: int) -> str:
    view = table.view()
    broken = [r.text for r in rules if any(not c.holds(view, TOLERANCE).all() for c in r.clauses)]
    return (
        f"{plural(count, 'record')} cannot be made to obey the rules: nothing near them satisfies {quoted(broken)} "
        f"together with the others. Change one of the rules."
    )


def _written(records: Records, table: DistinctRecords, ids: Longs) -> Records:
    codes = [records[name].with_values(table.codes[ids, j]) for j, name in enumerate(table.domain.categories)]
    return records.with_raw(table.domain.continuous, table.x[ids]).with_variables(*codes)


def all_hold(table: DistinctRecords, clauses: Sequence[Clause]) -> Bools:
    """Shape (n,); True for records that satisfy all clauses."""
    holds = [np.ones(len(table), dtype=bool), *(clause.holds(table.view(), TOLERANCE) for clause in clauses)]
    return np.asarray(np.logical_and.reduce(holds))


def solve(table: DistinctRecords, clauses: Sequence[Clause], kept: set[str]) -> tuple[DistinctRecords, Bools]:
    """The nearest records that satisfy all clauses, and True for each record that has one.

    Records with missing values are held to the clauses whose columns they all have.
    """
    names = (*table.domain.continuous, *table.domain.categories)
    unknown = np.hstack([np.isnan(table.x), table.codes < 0])
    out = DistinctRecords(table.domain, table.x.copy(), table.codes.copy(), table.apart)
    done = np.ones(len(table), dtype=bool)
    for missing, rows in patterns(unknown):
        absent = {name for name, lacking in zip(names, missing) if lacking}
        judged = [clause for clause in clauses if not absent.intersection(clause.columns)]
        part = table.take(rows)
        nearest, done[rows] = _branch(part, [], judged, kept | absent)
        out.x[rows] = np.where(np.isnan(part.x), part.x, nearest.x)
        out.codes[rows] = nearest.codes
    return out, done


def _branch(
    start: DistinctRecords, chosen: list[Literals], clauses: Sequence[Clause], kept: set[str]
) -> tuple[DistinctRecords, Bools]:
    """Meet certain and chosen literals; while a clause with a choice is broken, try its literals in turn."""
    certain = [c.literals[0] for c in clauses if len(c.literals) == 1]
    nearest, good = _meet(start, [*certain, *chosen], kept)
    open_clauses = [c for c in clauses if len(c.literals) > 1]
    if not open_clauses or not good.any():
        return nearest, good
    holds = np.array([clause.holds(nearest.view(), TOLERANCE) for clause in open_clauses])
    first = np.where(good & ~holds.all(axis=0), (~holds).argmax(axis=0), -1)
    for number, clause in enumerate(open_clauses):
        rows = np.flatnonzero(first == number)
        good[rows] = False
        rest = [c for c in clauses if c is not clause]
        for literal in clause.literals:
            if len(rows):
                part, fine = _branch(start.take(rows), [*chosen, literal], rest, kept)
                settled = rows[fine]
                nearest.x[settled], nearest.codes[settled], good[settled] = part.x[fine], part.codes[fine], True
                rows = rows[~fine]
    return nearest, good


def _meet(start: DistinctRecords, literals: Sequence[Literals], kept: set[str]) -> tuple[DistinctRecords, Bools]:
    """The nearest records at which all literals hold."""
    domain = start.domain
    lengths = np.where([name in kept for name in domain.continuous], 0.0, domain.lengths)
    present = np.where(np.isnan(start.x), 0.0, start.x)
    system = domain.system(literals)
    x, good = nearest(present, system, lengths)
    x = _without_noise(x, present, system)
    codes = start.codes.copy()
    for j, (name, allowed) in enumerate(domain.allowed(literals).items()):
        wrong = (codes[:, j] >= 0) & ~np.append(allowed, True)[codes[:, j]]
        if wrong.any() and (name in kept or not allowed.any()):
            good &= ~wrong
        elif wrong.any():
            cost = np.where(allowed, start.apart[name], np.inf)
            codes[wrong, j] = cost.argmin(axis=1)[codes[wrong, j]]
    return DistinctRecords(domain, x, codes, start.apart), good


def _without_noise(x: Floats, before: Floats, system: System) -> Floats:
    """Moved values snapped to a shorter decimal that differs only by rounding of the largest term: 0, not 1e-13."""
    rows = np.vstack([system.equalities, system.inequalities])
    bounds = np.concatenate([system.equal_to, system.at_most])
    alone = (rows != 0).sum(axis=1) == 1
    out = x.copy()
    for j, factors in enumerate(rows.T):
        shared, own = (factors != 0) & ~alone, (factors != 0) & alone
        moved = np.flatnonzero(x[:, j] != before[:, j])
        if not shared.any() or not len(moved):
            continue
        terms = np.maximum(np.abs(x[moved]), np.abs(before[moved]))[:, None, :] * np.abs(rows[shared])
        sizes = (terms.sum(axis=2) + np.abs(bounds[shared])) / np.abs(factors[shared])
        noise = ROUNDING * np.maximum(sizes.max(axis=1), LEAST)
        scale = power_of_ten(-decade(noise) - SHORTER)
        shorter = np.rint(x[moved, j] * scale) / scale
        on_bound = (x[moved, j][:, None] == bounds[own] / factors[own]).any(axis=1)
        out[moved, j] = np.where(on_bound | (np.abs(shorter - x[moved, j]) > noise), x[moved, j], shorter)
    return out
