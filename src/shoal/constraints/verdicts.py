"""Verdicts on rules of a finished table, each with the precision at which the rule was judged."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from shoal.constraints.precision import places_of
from shoal.constraints.rules import TOLERANCE, Rule, View
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools
from shoal.table.records import Records
from shoal.vocabulary.errors import plural
from shoal.vocabulary.facts import of_release

DECIMALS, SHARE = "decimals of its sums", "share of the size of its terms that counts as equal"
"""Labels of the precision of a verdict on a rule with sums: so many decimals, or a tolerance for rounding."""


def verdict_on(rule: Rule, records: Records, broken: Bools, advice: str) -> Verdict:
    """The verdict on a rule that some records break, shape (n,).

    `rule`: the rule as judged, in decimals or not; `advice`: remedy if it is broken.
    """
    return _verdict(rule.text, len(records), int(broken.sum()), _decimals(rule, records), advice, broken)


def unjudged(text: str, reason: str) -> Verdict:
    """The verdict on a rule that cannot be judged, which therefore does not hold."""
    return Verdict(
        requirement=text, holds=False, required=0.0, achieved=None, sentence=reason, influence=0, protects=False
    )


def reason_lost(text: str, name: str, *, numbers: bool) -> str:
    """The reason why a rule cannot be judged: a column is missing, or no longer holds numbers (or categories)."""
    return (
        f"The rule {text!r} cannot be judged: '{name}' is no longer there or no longer holds "
        f"{'numbers' if numbers else 'categories'}. Take the rule out, or leave the column as it is."
    )


def broken_input(sentences: str, ways: str) -> str:
    """The refusal of an input that breaks rules; `ways`: settings of `broken_rules` under which it is taken."""
    return f"The table breaks its own rules: {sentences} Correct it, or set broken_rules: {ways} under constraints."


def published(verdict: Verdict, text: str) -> Verdict:
    """The verdict on a rule, with the public form of the rule."""
    if verdict.achieved is None:
        return replace(verdict, requirement=text, influence=None)  # the reason names the rule
    return joined([replace(verdict, requirement=text)])


def of_persons(verdict: Verdict) -> Verdict:
    """The verdict on a rule whose every record stands for a person."""
    return verdict if verdict.achieved is None else replace(joined([verdict], "person"), failing=verdict.failing)


def joined(verdicts: Sequence[Verdict], unit: str | None = None) -> Verdict:
    """The verdict on one rule from those on all parts of a table.

    `unit`: what is counted, a person or a record; by default what the verdicts count.
    """
    if lost := [verdict for verdict in verdicts if verdict.achieved is None]:
        return lost[0]
    text, details = verdicts[0].requirement, [verdict.details for verdict in verdicts]
    advice = {v.advice for v in verdicts if not v.holds}
    counted = "person" if "persons" in details[0] else "record"
    return _verdict(
        text,
        sum(int(detail[f"{counted}s"]) for detail in details),
        sum(int(detail[f"{counted}s that break it"]) for detail in details),
        None if any(SHARE in detail for detail in details) else max(int(detail.get(DECIMALS, 0)) for detail in details),
        advice.pop() if len(advice) == 1 else "",
        None,
        unit or counted,
    )


def _verdict(
    text: str, n: int, count: int, decimals: int | None, advice: str, failing: Bools | None, unit: str = "record"
) -> Verdict:
    precision = {SHARE: TOLERANCE} if decimals is None else {DECIMALS: decimals} if decimals else {}
    return Verdict(
        requirement=text,
        holds=count == 0,
        required=0.0,
        achieved=float(count),
        sentence=_sentence(text, n, count, decimals, advice, unit),
        facts=of_release({f"{unit}s": n, f"{unit}s that break it": count, **precision}),
        influence=0,
        protects=False,
        failing=failing,
        advice=advice,
    )


def _sentence(text: str, n: int, count: int, decimals: int | None, advice: str, unit: str) -> str:
    if count:
        return f"{plural(count, unit)} {'breaks' if count == 1 else 'break'} the rule {text!r}.{advice}"
    return f"All {n:,} {unit}s obey the rule {text!r}{_how_exactly(decimals)}."


def _how_exactly(decimals: int | None) -> str:
    if decimals is None:
        return f", but for rounding: within {TOLERANCE:.10f} of the size and spread of its terms"
    return f", computed in decimals (to {plural(decimals, 'place')})" if decimals else ""


def _decimals(rule: Rule, records: Records) -> int | None:
    """Decimals in which a rule was judged exactly; 0 if cells are whole or compared as they are, else None."""
    most = 0
    for clause in rule.clauses:
        values = View.of(records, clause.columns).values
        for literal in (literal for literal in clause.linear if not literal.bounds_one_column):
            places = places_of(Fraction(1, round(1 / literal.step))) if literal.exact(values) else None
            if places is None:
                return None
            most = max(most, places)
    return most
