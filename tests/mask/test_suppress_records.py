import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import shoal
from mask.test_suppress import records, tables
from naive.suppression import matching
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import Refused


@given(rows=tables, k=st.integers(1, 4), missing=st.sampled_from(["wildcard", "nothing", "equal"]))
def test_records_are_dropped_until_k_or_refused(rows, k, missing):
    before = records(rows)
    change = shoal.SuppressRecords(k=k, limit=1, missing=missing).apply(
        before, before.quasi_identifiers, np.random.default_rng(0)
    )
    left = [rows[i] for i in change.records.rows]
    assert not left or min(matching(left, missing)) >= k
    if missing == "equal":
        assert len(left) == sum(m >= k for m in matching(rows, "equal"))
    if dropped := len(rows) - len(left):
        with pytest.raises(Refused, match=f"would have to drop {dropped} of {len(rows)} records"):
            shoal.SuppressRecords(k=k, limit=(dropped - 0.5) / len(rows), missing=missing).apply(
                before, before.quasi_identifiers, np.random.default_rng(0)
            )


def towns(cells: str, **more: list) -> Records:
    """A record for each letter."""
    frame = pl.DataFrame({"town": list(cells), **more})
    return Microdata.of(frame, {"town": "quasi-identifier", **dict.fromkeys(more, "confidential")}).records


def left(before: Records, *requirements: object, limit: float = 1, k: int = 1) -> str:
    """The letters of the records that are left."""
    step = shoal.SuppressRecords(k=k, limit=limit, requirements=requirements)
    after = step.apply(before, ("town",), np.random.default_rng(0)).records
    return "".join(after["town"].categories[code] for code in after["town"].values)


def test_records_of_too_few_people_are_dropped() -> None:
    people = pl.DataFrame({"town": ["a", "b", "c"], "people": [3, 9, 1]})
    model = shoal.KMap(k=3, population=people, count="people")
    assert left(towns("abbca"), model) == "abba"
    assert left(towns("abbca"), model, k=2) == "abba"
    with pytest.raises(Refused, match="drop 1 of 5 records to reach k = 1 and what else is required, more than"):
        left(towns("abbca"), model, limit=0.1)


def test_records_of_people_who_are_too_surely_there_are_dropped() -> None:
    """The two of a are two of three, the two of b two of five: only the latter may be there at one half or less."""
    model = shoal.DeltaPresence(largest=0.5, population=pl.DataFrame({"town": list("aaabbbbbc")}))
    assert left(towns("aabb"), model) == "bb"


@given(cells=st.text("abcde", min_size=1, max_size=20), average=st.floats(0.05, 1))
@example(cells="abbbbbc", average=0.375)  # one of two alike would do; equal ones are dropped together
def test_the_fewest_of_the_smallest_classes_are_dropped_for_the_average(cells: str, average: float) -> None:
    kept = left(towns(cells), shoal.AverageRisk(average=average))
    sizes = {letter: cells.count(letter) for letter in cells}
    assert len(set(kept)) <= average * len(kept) * (1 + 1e-9)
    dropped = set(cells) - set(kept)
    assert all(kept.count(letter) == sizes[letter] > max(map(sizes.get, dropped), default=0) for letter in kept)
    if dropped:  # with those of the largest size among these it would not do
        more = [size for size in sizes.values() if size >= max(map(sizes.get, dropped))]
        assert len(more) > average * sum(more) * (1 - 1e-9)


def test_what_is_left_is_proved_in_a_plan(tmp_path) -> None:
    rng = np.random.default_rng(3)
    everyone = pl.DataFrame({"town": rng.choice(list("abcdef"), 600, p=[0.4, 0.3, 0.2, 0.07, 0.02, 0.01])})
    everyone.write_csv(tmp_path / "everyone.csv")
    people = everyone.sample(200, seed=1)
    model = {"k": 20, "population": "everyone.csv"}
    few = sorted(set(people["town"]) - {t for t, n in everyone["town"].value_counts().rows() if n >= 20})
    plan = {
        "columns": {"town": "quasi-identifier"},
        "steps": [{"mask": "suppress-records", "k": 1, "limit": 0.2, "requirements": [{"method": "k-map", **model}]}],
        "requirements": [{"privacy": "k-map", **model}, {"privacy": "average-risk", "average": 0.1}],
    }
    release = shoal.protect(people, plan, seed=1, folder=tmp_path)
    assert few and set(people["town"]) - set(release.data["town"]) == set(few)
    assert release.evidence.holds


def test_a_requirement_that_fails_on_nobody_in_particular_is_refused() -> None:
    with pytest.raises(Refused, match="does not say on which records it fails"):
        left(towns("ab"), shoal.DeltaPresence(largest=1, least=0.9, population=pl.DataFrame({"town": list("aaabb")})))


def test_all_may_have_to_go() -> None:
    assert left(towns("ab", ill=["x", "y"]), shoal.LDiversity(l=2)) == ""


def test_dropping_for_a_requirement_is_told_in_private_only() -> None:
    before = towns("aab")
    rng = np.random.default_rng(0)
    plain = shoal.SuppressRecords(k=2, limit=1).apply(before, ("town",), rng).facts
    asked = shoal.SuppressRecords(k=1, limit=1, requirements=(shoal.AverageRisk(average=0.5),))
    facts = asked.apply(before, ("town",), rng).facts
    assert plain["records dropped"].influence == 2
    assert facts["records dropped"].private() == 1 and facts["records dropped"].public() is None
