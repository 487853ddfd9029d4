"""The verdict on a rule, as it is published: made again from its counts, with the rule as the public may read it."""

import polars as pl

import shoal
from shoal.constraints.constraints import Constraints
from shoal.constraints.verdicts import published
from shoal.judges.evidence import Verdict

ROLES = {"a": "quasi-identifier", "b": "quasi-identifier", "c": "other"}


def verdict_on(rule: str) -> Verdict:
    frame = pl.DataFrame({"a": [0.1, 0.2], "b": [0.2, 0.3], "c": [0.3, 0.5]})
    records = shoal.Microdata.of(frame, ROLES).records
    (verdict,) = Constraints.parse([rule], records).check(records)
    return verdict


def test_only_the_rule_differs() -> None:
    own = verdict_on("a + b == c")
    shown = published(own, "a + b == ...")
    assert own.sentence == "All 2 records obey the rule 'a + b == c', computed in decimals (to 1 place)."
    assert shown.sentence == "All 2 records obey the rule 'a + b == ...', computed in decimals (to 1 place)."
    assert (shown.requirement, shown.holds, shown.details) == ("a + b == ...", True, own.details)
    broken = published(verdict_on("a >= 0.15"), "a >= ...")
    assert (broken.holds, broken.public_sentence) == (False, "1 record breaks the rule 'a >= ...'.")


def test_the_reason_why_a_rule_was_not_judged_is_not_published() -> None:
    frame = pl.DataFrame({"a": [0.1, 0.2], "b": [0.2, 0.3]})
    before = shoal.Microdata.of(frame, {"a": "quasi-identifier", "b": "quasi-identifier"}).records
    (lost,) = Constraints.parse(["b >= 0.2"], before).check(before.select(["a"]))
    assert "0.2" in lost.sentence
    shown = published(lost, "b >= ...")
    assert (shown.requirement, shown.public_sentence) == ("b >= ...", "It was not proved on the released table.")
