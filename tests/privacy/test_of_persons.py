"""Promises to persons who have several records, against what an intruder finds by trying everything."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from naive import persons as naive
from shoal.judges.known import known, ordered_tokens
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import ParameterError, Refused, SchemaError

KNOWING = st.sampled_from(["one record", "all records", 1, 2, 3])
ROLES: dict[str, Any] = {
    "p": "person",
    "q": {"role": "quasi-identifier", "level": "nominal"},
    "c": {"role": "confidential", "level": "ordinal", "order": ["x", "y", "z"]},
}
TABLES = st.lists(
    st.fixed_dictionaries({"p": st.integers(0, 4), "q": st.sampled_from("abc"), "c": st.sampled_from("xyz")}),
    min_size=1,
    max_size=9,
)


def records(table: list[dict[str, Any]], roles: dict[str, Any] = ROLES) -> Microdata:
    return Microdata.of(pl.DataFrame(table), roles)


# Ann was treated in a and b, Bob in a and b, Cem in a twice: by one record all three share a, and b has two persons;
# by all records Cem is alone, and so by any two, since nobody else was in a twice.
BY_HAND = [
    {"p": p, "q": q, "c": c}
    for p, q, c in [(1, "a", "x"), (1, "b", "y"), (2, "a", "x"), (2, "b", "x"), (3, "a", "y"), (3, "a", "z")]
]


def test_three_patients_by_hand() -> None:
    table = records(BY_HAND)
    of_one = shoal.KAnonymity(k=2, knowing="one record").check(table)
    assert (of_one.holds, of_one.achieved) == (True, 2)
    for knowing in ("all records", 2):
        verdict = shoal.KAnonymity(k=2, knowing=knowing).check(table)
        assert (verdict.holds, verdict.achieved) == (False, 1)
        assert "1 of 3 persons in 6 records is alike with no other; 1 stands alone." in verdict.sentence
    assert shoal.KAnonymity(k=2).check(table).requirement == "2-anonymity of persons, all records known"
    # in a: Ann x, Bob x, Cem half y and half z; in b: Ann y, Bob x
    entropy = shoal.LDiversity(l=1, kind="entropy", knowing="one record").check(table)
    assert entropy.achieved == pytest.approx(2)  # b: halves; a: shares 2/3, 1/6, 1/6, of exp(.868)
    assert shoal.LDiversity(l=1, knowing="one record").check(table).achieved == 2
    assert shoal.AverageRisk(average=1, knowing="one record").check(table).achieved == pytest.approx(
        (2 * (1 / 3 + 1 / 2) / 2 + 1 / 3) / 3
    )


@given(table=TABLES, knowing=KNOWING)
def test_as_many_candidates_as_who_tries_everything_finds(table: list[dict[str, Any]], knowing: Any) -> None:
    fewest = naive.fewest(table, knowing)
    verdict = shoal.KAnonymity(k=2, knowing=knowing).check(records(table))
    assert verdict.achieved == min(fewest.values())
    assert verdict.holds == all(count >= 2 for count in fewest.values())
    if not verdict.holds:
        assert verdict.failing is not None
        hit = {record["p"] for record, fails in zip(table, verdict.failing) if fails}
        assert hit == {person for person, count in fewest.items() if count < 2}


@given(table=TABLES, knowing=KNOWING)
def test_persons_have_a_mass_of_one(table: list[dict[str, Any]], knowing: Any) -> None:
    groups, data = naive.groups(table, knowing), records(table)
    distinct = shoal.LDiversity(l=1, knowing=knowing).check(data)
    assert distinct.achieved == min(map(naive.represented, groups))
    entropy = shoal.LDiversity(l=1, kind="entropy", knowing=knowing).check(data)
    shares = [naive.masses(group).values() for group in groups]
    assert entropy.achieved == pytest.approx(min(math.exp(-sum(p * math.log(p) for p in some)) for some in shares))
    close = shoal.TCloseness(t=1, knowing=knowing).check(data)
    assert close.achieved == pytest.approx(float(max(naive.distance(group, table) for group in groups)), abs=1e-9)
    risk = shoal.AverageRisk(average=1, knowing=knowing).check(data)
    assert risk.achieved == pytest.approx(float(naive.average_risk(table, knowing)))


@given(table=TABLES, c=st.sampled_from([0.5, 1.0, 2.0]))
def test_recursive_diversity_of_masses(table: list[dict[str, Any]], c: float) -> None:
    levels = []
    for group in naive.groups(table, "all records"):
        r = sorted(naive.masses(group).values(), reverse=True)
        levels.append(sum(r[0] < c * sum(r[l:]) for l in range(len(r))))  # noqa: E741 - l as in the model
    verdict = shoal.LDiversity(l=1, kind="recursive", c=c).check(records(table))
    assert verdict.achieved == min(levels)


@given(table=TABLES)
def test_persons_of_one_record_are_records(table: list[dict[str, Any]]) -> None:
    table = [{**record, "p": number} for number, record in enumerate(table)]
    single, plain = records(table), records(table, {**ROLES, "p": "identifier"})
    for model in (
        shoal.KAnonymity(k=2),
        shoal.LDiversity(l=2),
        shoal.TCloseness(t=0.2),
        shoal.AverageRisk(average=0.4),
    ):
        assert model.check(single).achieved == pytest.approx(model.check(plain).achieved)
    nominal = {**ROLES, "c": {"role": "confidential", "level": "nominal"}}
    by_name = shoal.TCloseness(t=0.2)
    expected = by_name.check(records(table, {**nominal, "p": "identifier"})).achieved
    assert by_name.check(records(table, nominal)).achieved == pytest.approx(expected)


def test_the_order_of_records_tells_persons_apart() -> None:
    ways = [{"p": 1, "q": "a", "c": "x", "t": 1}, {"p": 1, "q": "b", "c": "x", "t": 2}]
    ways += [{"p": 2, "q": "b", "c": "x", "t": 5}, {"p": 2, "q": "a", "c": "x", "t": 9}]
    table = records(ways, {**ROLES, "t": "other"})
    assert shoal.KAnonymity(k=2, knowing="all records").check(table).holds
    in_order = shoal.KAnonymity(k=2, knowing="all records", order="t").check(table)
    assert not in_order.holds and in_order.requirement.endswith("all records known in order of 't'")
    places = ordered_tokens(np.array([0, 0, 0]), np.array([1, 1, 0]), np.array([4, 4, 7]))
    assert places[0] == places[1] == places[2]  # both are first, at once


@given(table=TABLES)
def test_weights_of_a_person_count_once(table: list[dict[str, Any]]) -> None:
    weighted = [{**record, "w": 3.0} for record in table]
    data = records(weighted, {**ROLES, "w": "weight"})
    persons = naive.persons_of(table)
    shares = {q: sum(3 * sum(r["q"] == q for r in own) / len(own) for own in persons.values()) for q in "abc"}
    assert shoal.KMap(k=2).check(data).achieved == pytest.approx(min(shares[record["q"]] for record in table))


def test_a_population_has_its_persons_once() -> None:
    released = records(BY_HAND[:2])
    population = pl.DataFrame({"p": [1, 1, 2, 2, 3], "q": ["a", "b", "a", "a", "b"]})
    verdict = shoal.KMap(k=2, population=population).check(released)
    assert verdict.achieved == 1.5  # of a: half of the first, all of the second; of b: half of the first, the third
    present = shoal.DeltaPresence(largest=1.0, population=population).check(records(BY_HAND))
    assert not present.holds  # three persons in a, where the population has one and a half


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(ParameterError, match="order is for knowing: all records"):
        shoal.KAnonymity(k=2, order="t")
    with pytest.raises(ParameterError, match="knowing is for units of several records"):
        shoal.KAnonymity(k=2, unit="record", knowing=2)
    nobody = pl.DataFrame({"p": [1, None], "q": ["a", "a"], "c": ["x", "x"]})
    verdict = shoal.KAnonymity(k=1).check(Microdata.of(nobody, {**ROLES, "p": {"role": "person", "missing": "keep"}}))
    assert not verdict.holds and verdict.sentence == "Not proved: 1 record has no person."
    wild = shoal.KAnonymity(k=1, missing="wildcard", unit="person").check(records(BY_HAND))
    assert "Persons can only be counted under missing: equal." in wild.sentence
    from shoal.judges import known as judged

    assert judged.MOST_SETS > 0 and known(np.array([0]), np.array([4]), 3).fewest_of().tolist() == [1]


def test_what_depends_on_a_number_that_is_not_released_is_not_public() -> None:
    frame = pl.DataFrame([{**record, "row": i} for i, record in enumerate(BY_HAND)]).drop("row")
    home = {**ROLES, "p": {"role": "household", "release_key": False}}
    of_homes = {"columns": home, "requirements": [{"privacy": "k-anonymity", "k": 2, "unit": "household"}]}
    (verdict,) = shoal.protect(frame, of_homes, seed=1).evidence.verdicts
    assert verdict.achieved == 2 and not verdict.public_form()["facts"]
    hidden = {**ROLES, "p": {"role": "person", "release_key": False}}
    required = [
        {"privacy": "k-anonymity", "k": 2},
        {"privacy": "l-diversity", "l": 1},
        {"privacy": "t-closeness", "t": 1},
    ]
    plan = {"columns": hidden, "requirements": required}
    for verdict in shoal.protect(frame, plan, seed=1).evidence.verdicts:
        public = verdict.public_form()
        assert verdict.holds and public["sentence"] == "It was proved on the released table."
        assert public["achieved"] is None and not public["facts"]
    with pytest.raises(
        SchemaError, match="Column 'c': release_key must be true for a role other than person and household"
    ):
        shoal.Microdata.of(frame, {**ROLES, "c": {"role": "confidential", "release_key": False}})


def test_knowing_needs_persons() -> None:
    table = records(BY_HAND, {**ROLES, "p": "other"})
    verdict = shoal.KAnonymity(k=1, knowing="all records").check(table)
    assert not verdict.holds and "no column with the role person" in verdict.sentence
    plan = {"columns": {**ROLES, "p": "other"}, "requirements": [{"privacy": "k-anonymity", "k": 1, "knowing": 2}]}
    with pytest.raises(Refused, match="no column with the role person"):
        shoal.protect(pl.DataFrame(BY_HAND), plan, seed=1)


def test_one_exception_does_not_hide_a_column_that_tells_whose_records_are() -> None:
    """Each person's birthday is in all records of the person; two persons share one."""
    days = [{"p": p, "q": q, "c": "x", "born": min(p, 28)} for p in range(30) for q in ("ab" if p < 15 else "a")]
    hidden = {**ROLES, "p": {"role": "person", "release_key": False}, "born": "other"}
    plan = {"columns": hidden, "requirements": [{"privacy": "k-anonymity", "k": 5}], "accept": ["born", "c"]}
    (verdict,) = shoal.protect(pl.DataFrame(days), plan, seed=1).evidence.verdicts
    assert verdict.requirement == "5-anonymity of persons, all records known"


@pytest.mark.parametrize("unit", [None, "household"])
def test_a_released_household_number_is_named_where_less_than_its_records_is_counted(unit: str | None) -> None:
    """Six households with two records each, every pair unique: 3-anonymous record by record."""
    pairs = ["aa", "bb", "cc", "ab", "ac", "bc"]
    homes = pl.DataFrame([{"h": h, "q": q, "c": "x"} for h, pair in enumerate(pairs) for q in pair])
    columns = {"h": "household", "q": ROLES["q"], "c": "confidential"}
    less = {"privacy": "k-anonymity", "k": 3, **({"unit": unit} if unit else {})}
    evidence = shoal.protect(homes, {"columns": columns, "requirements": [less]}, seed=1).evidence
    named = f"k-anonymity of {unit or 'record'}s: but 'h' is released and tells which records are one household's"
    assert named in evidence.lines()[0] and named in evidence.public_of_records()[0]["sentence"]
    hidden = {**columns, "h": {"role": "household", "release_key": False}}
    assert not shoal.protect(homes, {"columns": hidden, "requirements": [less]}, seed=1).evidence.of_records
    whole = {**less, "unit": "household", "knowing": "all records"}
    with pytest.raises(Refused, match="6 stand alone"):
        shoal.protect(homes, {"columns": columns, "requirements": [whole]}, seed=1)


def test_suppress_counts_persons_whose_key_is_not_released() -> None:
    table = pl.DataFrame({"p": [1, 1, 2, 2, 3, 3, 4, 4, 5], "q": list("abababacb"), "c": list("xyxyxyxyx")})
    hidden = {**ROLES, "p": {"role": "person", "release_key": False}, "c": "confidential"}
    k = {"k": 2, "knowing": "one record"}
    steps = [{"mask": "suppress", "k": 2, "requirements": [{"method": "k-anonymity", **k}]}]
    plan = {"columns": hidden, "steps": steps, "requirements": [{"privacy": "k-anonymity", **k}]}
    (verdict,) = shoal.protect(table, plan, seed=1).evidence.verdicts
    assert verdict.sentence.endswith("each of 5 persons in 9 records is alike with at least 1 other.")


def test_records_in_the_order_of_persons_are_known_together() -> None:
    """Without its key, a table sorted by person tells by neighbours whose records are whose; shuffled it does not."""
    rng = np.random.default_rng(1)
    rows = [(f"P{p}", int(rng.integers(20, 60)), int(rng.integers(9))) for p in range(40) for _ in range(2)]
    table = pl.DataFrame(rows, schema=["patient", "age", "los"], orient="row")
    plan = {
        "columns": {
            "patient": {"role": "person", "release_key": False},
            "age": "quasi-identifier",
            "los": "confidential",
        },
        "steps": [{"mask": "recode", "columns": ["age"], "width": 20}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    assert "one record known" in shoal.protect(table, plan, seed=1).evidence.verdicts[0].requirement
    ordered = {**plan, "output": {"shuffle": False}}
    assert "all records known" in shoal.protect(table, ordered, seed=1).evidence.verdicts[0].requirement
    one = {**ordered, "requirements": [{"privacy": "k-anonymity", "k": 5, "knowing": "one record"}]}
    cautions = " ".join(shoal.protect(table, one, seed=1).evidence.lines())
    assert "but the order of the records tells which records are one person's" in cautions
