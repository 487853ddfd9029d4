"""What becomes of a rule on a finished table, as a verdict that says how exactly the rule was judged."""

from collections.abc import Sequence
from fractions import Fraction

from shoal.constraints.precision import places_of
from shoal.constraints.rules import TOLERANCE, Rule, View
from shoal.data.records import Records
from shoal.errors import plural
from shoal.facts import of_release
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools

DECIMALS, SHARE = "decimals of its sums", "share of the size of its terms that counts as equal"
"""How exactly a rule with sums was judged: in so many decimals, or but for rounding; one of them, if there are sums."""


def verdict_on(rule: Rule, records: Records, broken: Bools, advice: str) -> Verdict:
    """The verdict on a rule that some records break, shape (n,).

    Parameters
    ----------
    rule
        As it was judged, in decimals or not.
    advice
        What to do where it is broken.
    """
    return _verdict(rule.text, len(records), int(broken.sum()), _decimals(rule, records), advice, broken)


def unjudged(rule: Rule, reason: str) -> Verdict:
    """The verdict on a rule that cannot be judged, which therefore does not hold."""
    return Verdict(
        requirement=rule.text, holds=False, required=0.0, achieved=None, sentence=reason, influence=0, protects=False
    )


def joined(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on one rule from those on all parts of a table."""
    if lost := [verdict for verdict in verdicts if verdict.achieved is None]:
        return lost[0]
    text, details = verdicts[0].requirement, [verdict.details for verdict in verdicts]
    advice = {v.sentence.partition(f"the rule {text!r}.")[2] for v in verdicts if not v.holds}
    return _verdict(
        text,
        sum(int(detail["records"]) for detail in details),
        sum(int(detail["records that break it"]) for detail in details),
        None if any(SHARE in detail for detail in details) else max(int(detail.get(DECIMALS, 0)) for detail in details),
        advice.pop() if len(advice) == 1 else "",
        None,
    )


def _verdict(text: str, n: int, count: int, decimals: int | None, advice: str, failing: Bools | None) -> Verdict:
    if count:
        sentence = f"{plural(count, 'record')} {'breaks' if count == 1 else 'break'} the rule {text!r}.{advice}"
    else:
        sentence = f"All {n:,} records obey the rule {text!r}{_how_exactly(decimals)}."
    precision = {SHARE: TOLERANCE} if decimals is None else {DECIMALS: decimals} if decimals else {}
    return Verdict(
        requirement=text,
        holds=count == 0,
        required=0.0,
        achieved=float(count),
        sentence=sentence,
        facts=of_release({"records": n, "records that break it": count, **precision}),
        influence=0,
        protects=False,
        failing=failing,
    )


def _how_exactly(decimals: int | None) -> str:
    if decimals is None:
        return f", but for rounding: within {TOLERANCE:.10f} of the size and spread of its terms"
    return f", computed in decimals (to {plural(decimals, 'place')})" if decimals else ""


def _decimals(rule: Rule, records: Records) -> int | None:
    """The decimals in which a rule was judged exactly; 0 where cells are whole or compared as they are, else None."""
    places = [
        places_of(Fraction(1, round(1 / literal.step)))
        if literal.exact(View.of(records, clause.columns).values)
        else None
        for clause in rule.clauses
        for literal in clause.linear
        if not literal.bounds_one_column
    ]
    known = [number for number in places if number is not None]
    return max(known, default=0) if len(known) == len(places) else None
