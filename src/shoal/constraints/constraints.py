"""The constraints of a table: parsed, checked for consistency, judged, and preserved by repair and rounding."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoal.constraints.deduction import deduced
from shoal.constraints.precision import Decimals, advice_on_digits, written_decimals
from shoal.constraints.projection import System, nearest
from shoal.constraints.repair import DistinctRecords, distinct_records, repaired
from shoal.constraints.rounding import DecimalGrid, decimals_needed, decimals_of, rounded, to_decimals
from shoal.constraints.rules import TOLERANCE, Clause, LinearClause, Rule, View, affine, bind
from shoal.constraints.system import PossibleValues, redundant, refuse_clashes
from shoal.constraints.verdicts import broken_input, reason_lost, unjudged, verdict_on
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools, Floats
from shoal.table.records import Records
from shoal.table.schema import Policy
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import ConstraintError, DataError, Refused, plural, quoted
from shoal.vocabulary.facts import Count, Figure, OfOriginal, OfPlan

SINGLE = 1e-6
"""Relative rounding error of sums of single-precision numbers, 2^-24 = 6e-8 each, with a margin for a dozen terms."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Constraints:
    """Linear edit constraints, ranges and conditions that every record of a release must satisfy.

    Parameters
    ----------
    rules
        Rules, as bound by `parse`.
    original
        The table they were parsed against, which fixes the units of distances.
    decimals
        Decimals of the columns of sums; None to infer them from the judged cells. Given if these are a part of a table.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.constraints import Constraints
    >>> from shoal.table.records import Records
    >>> table = Records.from_array(np.array([[1., 2., 3.], [2., 2., 5.], [4., 1., 5.]]), names=["net", "tax", "gross"])
    >>> rules = Constraints.parse(["net + tax == gross", "tax >= 0"], table)
    >>> {rule: int(broken.sum()) for rule, broken in rules.violations(table).items()}
    {'net + tax == gross': 1, 'tax >= 0': 0}
    >>> rules.round(rules.repair(table).records, {"net": 0, "tax": 0, "gross": 0}).raw().tolist()
    [[1.0, 2.0, 3.0], [3.0, 2.0, 5.0], [4.0, 1.0, 5.0]]
    """

    rules: tuple[Rule, ...]
    original: Records
    decimals: Decimals | None = None

    @classmethod
    def parse(cls, rules: Sequence[str], records: Records, *, released: bool = False) -> "Constraints":
        """Read rules and tie them to a table.

        Parameters
        ----------
        released
            True for a release: it need not hold every level that the rules mention, and is judged even by clashing
            rules.

        Raises
        ------
        ConstraintError
            If a rule cannot be read, names an unknown column or level, mixes units, or clashes with others.
        """
        bound = tuple(bind(text, i + 1, records, released=released) for i, text in enumerate(rules))
        constraints = cls(rules=bound, original=records)
        if not released:
            refuse_clashes(constraints.rules, constraints.domain)
        return constraints

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that some rule mentions, in the order of the table."""
        named = {name for rule in self.rules for name in rule.columns}
        return tuple(v.name for v in self.original.variables if v.name in named)

    @cached_property
    def redundant(self) -> Mapping[str, tuple[str, ...]]:
        """Redundant rules, each with the rules from which it follows (none if its condition cannot be met)."""
        return redundant(self.rules, self.domain)

    @cached_property
    def domain(self) -> PossibleValues:
        """The constrained columns, and the unit of distance in each."""
        chosen = [self.original[name] for name in self.columns]
        continuous = [v for v in chosen if v.continuous]
        return PossibleValues(
            tuple(v.name for v in continuous),
            {v.name: v.categories for v in chosen if not v.continuous},
            np.array([1.0 / slope for slope, _ in (affine(v) for v in continuous)]),
        )

    def in_units_of(self, records: Records) -> "Constraints":
        """The same rules, with distances in the units of other records of the table."""
        return replace(self, original=records)

    @property
    def _clauses(self) -> list[Clause]:
        return [clause for rule in self.rules for clause in rule.clauses]

    def violations(self, records: Records, tolerance: float | None = None) -> dict[str, Bools]:
        """Records that break each rule, shape (n,) by rule; a missing cell breaks nothing.

        Parameters
        ----------
        tolerance
            Share of the size of a comparison's terms that counts as equal. By default sums of columns of decimals are
            judged exactly, and others within 1e-10.

        Raises
        ------
        Refused
            If a column of a rule is missing, or no longer holds numbers (or categories) as before.
        """
        if reasons := [reason for reason in map(self._lost(records), self.rules) if reason]:
            raise Refused(" ".join(reasons))
        judged = self.in_decimals_of(records).rules if tolerance is None else self.rules
        share = TOLERANCE if tolerance is None else tolerance
        return {
            rule.text: ~np.logical_and.reduce(
                [clause.holds(View.of(records, clause.columns), share) for clause in rule.clauses]
            )
            for rule in judged
        }

    def as_written(self) -> "Constraints":
        """The same rules for a finished table, where a bound on one column is judged without tolerance."""
        return self._with_linear(LinearClause.as_written)

    def in_decimals_of(self, records: Records) -> "Constraints":
        """The same rules, judged as exactly as the cells of some records are written.

        Computed values are judged with a tolerance. Sums of decimals can be judged without: two of them differ by a
        whole step or not at all, though as binary numbers they may differ in the last bit.
        """
        decimals = self.decimals_of(records) if self.decimals is None else self.decimals
        return self._with_linear(lambda literal: literal.in_decimals(decimals))

    def decimals_of(self, records: Records) -> Decimals:
        """The decimals of the columns with which rules calculate, if the records have them."""
        names = dict.fromkeys(n for clause in self._clauses for a in clause.linear if a.step > 0 for n in a.columns)
        present = (records[name] for name in names if name in records)
        return {v.name: written_decimals(v.values) for v in present if v.continuous}

    def _with_linear(self, change: Callable[[LinearClause], LinearClause]) -> "Constraints":
        rules = (replace(r, clauses=tuple(c.with_linear(change) for c in r.clauses)) for r in self.rules)
        return replace(self, rules=tuple(rules))

    def on_bounds(self, records: Records) -> Records:
        """The records, with numbers that rounding put past a bound on one column set to the bound."""
        for clause in self.as_written()._clauses:
            bound = clause.literals[0]
            if not isinstance(bound, LinearClause) or bound.step > 0 or bound.relation == "<":
                continue
            view = View.of(records, clause.columns)
            past = ~clause.holds(view, TOLERANCE) & bound.within(view.values, TOLERANCE)
            if past.any():
                name, factor = bound.terms[0]
                variable = records[name]
                on_it = np.where(past, float(bound.bound / factor), variable.values)
                records = records.with_variables(variable.with_values(on_it))
        return records

    def _lost(self, records: Records) -> Callable[[Rule], str]:
        """A function for the reason why a rule cannot be judged on records; empty if it can."""

        def reason(rule: Rule) -> str:
            for name in rule.columns:
                numbers = self.original[name].continuous
                if name not in records or records[name].continuous != numbers:
                    return reason_lost(rule.text, name, numbers=numbers)
            return ""

        return reason

    def check(self, records: Records) -> list[Verdict]:
        """One verdict for each rule, with the number of records that break it; one that cannot be judged fails."""
        reasons = {rule.text: reason for rule in self.rules if (reason := self._lost(records)(rule))}
        judged = replace(self, rules=tuple(rule for rule in self.rules if rule.text not in reasons))
        judged = judged.in_decimals_of(records)
        broken = judged.violations(records)
        return [unjudged(rule.text, reasons[rule.text]) for rule in self.rules if rule.text in reasons] + [
            verdict_on(rule, records, broken[rule.text], judged._advice_on(rule, records, broken[rule.text]))
            for rule in judged.rules
        ]

    def _advice_on(self, rule: Rule, records: Records, broken: Bools) -> str:
        """Advice on a rule that is broken by less than the resolution of single precision."""
        if not broken.any() or self.violations(records, SINGLE)[rule.text].any():
            return ""
        return advice_on_digits(records, rule.columns)

    def deduced(self, records: Records) -> Records:
        """The records, with every missing cell filled in that the judgeable rules determine."""
        reason = self._lost(records)
        return deduced(records, [rule for rule in self.rules if not reason(rule)])

    def prove(self, records: Records) -> list[Verdict]:
        """The verdicts of `check`, all of which hold. Raises Refused if a record breaks a rule."""
        verdicts = self.check(records)
        if broken := [v.sentence for v in verdicts if not v.holds]:
            raise Refused(f"{' '.join(broken)} Nothing is released.")
        return verdicts

    def admit(self, records: Records, policy: Policy = "refuse") -> StepResult:
        """Treat an input table by policy: refuse it if rules are broken, only report them, or repair it."""
        counts = {v.requirement: int(v.achieved or 0) for v in self.check(records) if not v.holds}
        if counts and policy == "refuse":
            broken = " ".join(v.sentence for v in self.check(records) if not v.holds)
            raise DataError(broken_input(broken, "repair (or report)"))
        change = self.repair(records, keep=()) if policy == "repair" and counts else StepResult(records=records)
        facts = {"policy": OfPlan(policy), "broken": OfOriginal(counts), **change.facts}
        return StepResult(records=change.records, facts=facts)

    def repair(self, records: Records, keep: Sequence[str] | None = None) -> StepResult:
        """Move every record that breaks a rule to the nearest one that breaks none.

        Distance is that of the standardised columns. Records equal on the constrained columns stay equal.

        Parameters
        ----------
        keep
            Columns that are repaired among themselves first and then held fixed wherever the other columns can take
            the rest, so that classes are preserved; by default the quasi-identifiers.

        Raises
        ------
        Refused
            If no record near some record obeys all rules.
        """
        kept = records.quasi_identifiers if keep is None else tuple(keep)
        broken = np.logical_or.reduce([np.zeros(len(records), dtype=bool), *self.violations(records).values()])
        if not broken.any():
            return StepResult(records=records, facts={"records repaired": Count(n=0)})
        after, freed = repaired(records, self.in_decimals_of(records).rules, self.domain, kept, self._apart)
        self.prove(after)
        moved = self._moved(records, after)
        return StepResult(
            records=after,
            facts={
                "records repaired": Count(n=int((moved > 0).sum())),
                "records whose kept columns had to move": Count(n=freed),
                "squared distance moved, mean over all records": Figure(value=float(moved.mean())),
                "squared distance moved, largest": Figure(value=float(moved.max())),
            },
        )

    def _moved(self, before: Records, after: Records) -> Floats:
        """Shape (n,); squared distance moved, in the standardised columns."""
        total = np.zeros(len(before))
        for name, length in zip(self.domain.continuous, self.domain.lengths):
            total += np.nan_to_num((after[name].values - before[name].values) / length) ** 2
        for name in self.domain.categories:
            apart = self._apart(before, name)
            old, new = before[name].values, after[name].values
            total += np.where(old >= 0, apart[old, new], 0.0)
        return total

    def _apart(self, records: Records, name: str) -> Floats:
        """Shape (m, m); squared distances between the present categories of a column."""
        variable = records[name]
        each = variable.with_values(np.arange(len(variable.categories)))
        points = Records.of([each]).matrix_like(self.original, [name])
        return np.asarray(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))

    def round(self, records: Records, decimals: Mapping[str, int], keep: Sequence[str] | None = None) -> Records:
        """Round columns to their decimals while every rule that holds continues to hold.

        Parameters
        ----------
        decimals
            Decimals by column; dates and times are whole numbers in any case.
        keep
            As in `repair`: rounded among themselves first, so that classes are preserved.

        Raises
        ------
        Refused
            If some record has no such rounding; the message names the rules, and decimals that would allow one.
        """
        kept = set(records.quasi_identifiers if keep is None else keep)
        free = [v for v in records.variables if v.continuous and v.name not in self.columns]
        records = records.with_variables(*(to_decimals(v, decimals.get(v.name)) for v in free))
        inner = [clause for clause in self._clauses if kept.issuperset(clause.columns)]
        if kept.intersection(self.domain.continuous):
            records = self._rounded(records, inner, decimals, self.domain.restricted(kept), fixed=set())
        if len(inner) < len(self._clauses):
            records = self._rounded(records, self._clauses, decimals, self.domain, fixed=kept)
        self.prove(records)
        return records

    def _rounded(
        self,
        records: Records,
        clauses: Sequence[Clause],
        decimals: Mapping[str, int],
        domain: PossibleValues,
        fixed: set[str],
    ) -> Records:
        """Round the columns that are not fixed, and fixed ones only where it is unavoidable."""
        names = domain.continuous
        places = decimals_of(domain, decimals, records.variables)
        table, ids = distinct_records(records, domain, self._apart)
        after, good = rounded(
            table, clauses, DecimalGrid(names, places, np.array([n in fixed for n in names], dtype=bool))
        )
        x = after.x
        if not good.all():
            all_free = DecimalGrid(names, places, np.zeros(len(names), dtype=bool))
            again = np.flatnonzero(~good)
            freed, good[again] = rounded(table.take(again), clauses, all_free)
            x[again] = freed.x
            if not good.all():
                raise Refused(self._unroundable(table.take(~good), clauses, all_free, int((~good)[ids].sum())))
        return records.with_raw(names, x[ids])

    def _unroundable(self, table: DistinctRecords, clauses: Sequence[Clause], lattice: DecimalGrid, count: int) -> str:
        concerned = [rule for rule in self.rules if set(rule.clauses) <= set(clauses)] or list(self.rules)
        alone = [rule for rule in concerned if not rounded(table, rule.clauses, lattice)[1].all()]
        named = quoted(rule.text for rule in alone or concerned)
        needed = [decimals_needed(rule, lattice) for rule in alone or concerned]
        possible = [places for places in needed if places is not None]
        advice = "; ".join(f"give '{name}' {plural(places, 'decimal')}" for name, places in possible)
        return (
            f"{plural(count, 'record')} cannot be rounded to the decimals asked for so that {named} "
            f"{'holds' if len(alone or concerned) == 1 else 'hold'}. "
            f"{advice[:1].upper() + advice[1:] if advice else 'Give the columns more decimals'}, or change the rule."
        )

    def settle(self, x: Floats) -> Floats:
        """Points that satisfy the linear rules up to rounding, moved to satisfy them to the last digit.

        Parameters
        ----------
        x
            Shape (n, p); values of the constrained continuous columns, in the order of `domain.continuous`.
        """
        certain = [c.literals[0] for c in self._clauses if len(c.literals) == 1]
        return nearest(x, self.domain.system(certain), self.domain.lengths)[0]

    def linear(self, names: Sequence[str]) -> System:
        """The linear rules as a system over the standardised columns, for methods that compute in them.

        Parameters
        ----------
        names
            Continuous columns, in the order of the coordinates.

        Raises
        ------
        ConstraintError
            If a rule has a condition, or mentions another column.
        """
        rows = []
        maps = {name: affine(self.original[name]) for name in names}
        for rule in self.rules:
            for clause in rule.clauses:
                literal = clause.literals[0]
                if len(clause.literals) > 1 or not isinstance(literal, LinearClause):
                    raise ConstraintError(f"Rule {rule.number} ({rule.text!r}) is not linear; leave it to the plan.")
                if outside := [name for name in literal.columns if name not in maps]:
                    raise ConstraintError(
                        f"Rule {rule.number} ({rule.text!r}) mentions '{outside[0]}', which is not a column that "
                        f"the method groups by; leave the rule to the plan, or add the column."
                    )
                bound = float(literal.bound)
                for name, factor in literal.terms:
                    slope, intercept = maps[name]
                    bound += float(factor) * intercept / slope
                slopes = np.array([maps[name][0] for name in names])
                rows.append((literal.relation == "==", literal.row(names) / slopes, bound))
        return System.of(rows, len(names))
