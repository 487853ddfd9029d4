"""k-map: how many people of a population a record may be of."""

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.judges.table_pair import TablePair
from shoal.privacy.k_map import KMap
from shoal.table.microdata import Microdata
from shoal.vocabulary.errors import Refused

REGIONS = {"paths": [[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb")]}
ROLES = {
    "town": {"role": "quasi-identifier", "level": "nominal", "missing": "keep", "hierarchy": REGIONS},
    "age": {"role": "quasi-identifier", "missing": "keep"},
}
POPULATION = pl.DataFrame(
    {
        "town": ["aa", "aa", "ab", "ab", "ba", "bb", "bb"],
        "age": [30.0, 31, 30, 40, 30, 30, 30],
        "people": [1, 2, 1, 1, 5, 1, 1],
    }
)


def pair(released: pl.DataFrame) -> TablePair:
    original = Microdata.of(pl.DataFrame({"town": ["aa", "ab", "ba", "bb"], "age": [30.0, 30, 30, 30]}), ROLES)
    return TablePair.of(original.records, Microdata.finished(released, original.schema).encoded)


@pytest.mark.parametrize(
    ("town", "age", "people"),
    [
        (["aa"], [30.0], 1),
        (["bb"], [30.0], 2),
        (["a"], [30.0], 2),  # aa and ab, both of 30
        (["a"], ["[30, 35]"], 3),
        (["*"], ["[30, 35]"], 6),
        (["aa | ba"], ["[30, 31]"], 3),
        (["aa"], ["[30, 31)"], 1),
        (["aa | ba"], ["(30, 31]"], 1),
        (["*"], ["< 31"], 5),
        (["*"], [">= 31"], 2),
        (["*"], ["at least 40"], 1),
    ],
)
def test_people_by_hand(town: list, age: list, people: int) -> None:
    verdict = KMap(k=2, population=POPULATION).judge(pair(pl.DataFrame({"town": town, "age": age})))
    assert verdict.achieved == people
    assert verdict.holds == (people >= 2)


def test_rows_may_stand_for_several_people() -> None:
    counted = KMap(k=4, population=POPULATION, count="people")
    assert counted.judge(pair(pl.DataFrame({"town": ["ba"], "age": [30.0]}))).achieved == 5
    verdict = counted.judge(pair(pl.DataFrame({"town": ["ba", "a"], "age": ["[30, 30]", "[30, 31]"]})))
    assert verdict.achieved == 4 and verdict.holds


def test_missing_cells() -> None:
    released = pl.DataFrame({"town": [None], "age": [30.0]}, schema={"town": pl.String, "age": pl.Float64})
    assert KMap(k=1, population=POPULATION).judge(pair(released)).achieved == 0
    assert KMap(k=1, population=POPULATION, missing="wildcard").judge(pair(released)).achieved == 5


def test_estimated_by_weights_it_says_so() -> None:
    frame = pl.DataFrame({"sex": ["f", "f", "m"], "w": [10.0, 20, 2]})
    table = Microdata.of(frame, {"sex": "quasi-identifier", "w": "weight"})
    verdict = KMap(k=3).check(table)
    assert verdict.requirement == "3-map, estimated by sampling weights"
    assert not verdict.holds and verdict.achieved == 2
    assert verdict.sentence == "1 record may be of fewer than 3 people, estimated."
    assert KMap(k=2).check(table).holds
    lacking = KMap(k=2).check(frame.select("sex"))
    assert not lacking.holds
    assert "nobody can be counted" in lacking.sentence


def test_generalisation_searches_for_it(tmp_path) -> None:
    rng = np.random.default_rng(5)
    everyone = pl.DataFrame({"town": rng.choice(["aa", "ab", "ba", "bb"], 400, p=[0.02, 0.3, 0.34, 0.34])})
    everyone.write_csv(tmp_path / "population.csv")
    people = everyone.filter(pl.Series(rng.random(400) < 0.5))
    model = {"k": 20, "population": "population.csv"}
    step = {"mask": "generalise", "k": 2, "columns": ["town"], "requirements": [{"method": "k-map", **model}]}
    plan = {"columns": {"town": ROLES["town"]}, "steps": [step], "requirements": [{"privacy": "k-map", **model}]}
    release = shoal.protect(people, plan, seed=1, folder=tmp_path)
    assert set(release.data["town"]) == {"a", "b"}
    release.write(tmp_path / "out")
    assert shoal.Plan.of(shoal.Plan.of(plan).as_mapping()) == shoal.Plan.of(plan)
    del step["requirements"]
    with pytest.raises(Refused, match="20-map does not hold"):
        shoal.protect(people, plan, seed=1, folder=tmp_path)


@pytest.mark.parametrize(
    ("town", "age", "column"),
    [("c", 30.0, "town"), ("north", 30.0, "town"), ("aa", "young", "age"), ("aa | z", 30.0, "town")],
)
@pytest.mark.parametrize("missing", ["equal", "wildcard"])
def test_a_label_that_nothing_explains_is_of_nobody_in_particular(
    town: str, age: float | str, column: str, missing
) -> None:
    released = pl.DataFrame({"town": ["aa", town], "age": [age, age]})
    verdict = KMap(k=1, population=POPULATION, missing=missing).judge(pair(released))
    assert not verdict.holds and verdict.achieved is None
    assert verdict.sentence == (
        f"Not proved: Column '{column}' has 1 label that nothing explains: no value of the population, no node of the "
        f"hierarchy, no interval of numbers, no set. Give the column a hierarchy over all values of the "
        f"population (nested, or a file), and recode to one of its levels."
    )


def test_groups_that_a_hierarchy_over_the_whole_population_names_are_counted() -> None:
    """What the message above says to do, where the table lacks values that the population has."""
    nested = {"a": ["aa", "ab"], "b": ["ba", "bb"]}
    plan = {
        "columns": {"town": {"role": "quasi-identifier", "hierarchy": {"nested": nested}}},
        "steps": [{"mask": "recode", "columns": ["town"], "groups": nested}],
        "requirements": [{"privacy": "k-map", "k": 3, "population": POPULATION}],
    }
    release = shoal.protect(pl.DataFrame({"town": ["aa", "bb"]}), plan, seed=1)
    assert release.evidence.verdicts[0].achieved == 3


def test_a_number_that_nobody_has_is_of_nobody() -> None:
    released = pl.DataFrame({"town": ["aa", "aa"], "age": [30.5, None]})
    for missing in ("equal", "wildcard"):
        assert KMap(k=1, population=POPULATION, missing=missing).judge(pair(released)).achieved == 0


def test_a_category_for_missing_cells_is_read_as_they_are() -> None:
    """A column whose missing cells are a category: they match what missing cells match."""
    frame = pl.DataFrame({"town": ["aa", None]})
    roles = {"town": {"role": "quasi-identifier", "missing": "category"}}
    table = Microdata.of(frame, roles).records
    people = pl.DataFrame({"town": ["aa", "aa", "ba"]})
    for missing, counted in (("equal", 0), ("nothing", 0), ("wildcard", 2)):
        verdict = KMap(k=1, population=people, missing=missing).judge(TablePair.of(table, table))
        assert verdict.achieved == counted


def test_a_population_with_values_that_a_hierarchy_does_not_start_from() -> None:
    further = pl.concat([POPULATION, pl.DataFrame({"town": ["ca"], "age": [30.0], "people": [1]})])
    verdict = KMap(k=1, population=further).judge(pair(pl.DataFrame({"town": ["a"], "age": [30.0]})))
    assert not verdict.holds
    assert "1 value that its hierarchy does not start from" in verdict.sentence
