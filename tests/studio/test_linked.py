"""Several linked tables in the studio: what links them, how that is changed, and what a plan for them may be."""

from collections import Counter
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shoal.studio.holders import Keeper
from shoal.studio.ledgers import _of_address
from shoal.studio.linked import (
    LinkedTables,
    exposed,
    facts_and_draft,
    for_open_tables,
    persons_previewed,
    relinked,
    run,
)
from shoal.studio.plans import put, reading
from shoal.studio.preview import preview
from shoal.studio.script import script
from shoal.studio.session import Session, StudioRun
from shoal.studio.state import state_of
from shoal.table.files.table import Table
from shoal.vocabulary.errors import FileError, InputError

PEOPLE = pl.DataFrame({"person": [f"p{i}" for i in range(6)], "sex": ["f", "m"] * 3})
VISITS = pl.DataFrame({"visit": range(9), "person": [f"p{i // 2}" for i in range(9)], "ward": ["a", "b", "c"] * 3})
TESTS = pl.DataFrame({"visit": [0, 0, 3, 8], "value": [1.5, 2.5, 3.5, 4.5]})
TABLES = {"people": Table(frame=PEOPLE), "visits": Table(frame=VISITS), "tests": Table(frame=TESTS)}
FILES = {name: f"{name}.csv" for name in TABLES}


def opened() -> tuple[dict[str, object], str]:
    answer = facts_and_draft(TABLES, "three", FILES)
    return answer["facts"], answer["text"]


def test_the_guessed_links_are_those_of_the_plan() -> None:
    facts, text = opened()
    read = reading(text, Path())
    assert read.linked is not None
    assert facts["guessed"] == {
        name: {"key": key.key, "parent": key.parent, "link": key.link} for name, key in read.linked.keys.items()
    }
    assert LinkedTables(TABLES).counted(read.linked) == {
        "tables": {
            "people": {"rows": 6, "persons": 6},
            "visits": {"rows": 9, "persons": VISITS["person"].n_unique()},
            "tests": {"rows": 4, "persons": 3},
        }
    }


def test_another_link_makes_columns_of_keys_and_keys_of_columns() -> None:
    facts, text = opened()
    before = reading(text, Path()).tree
    for place, value in relinked(before, facts, "tests", {"key": None, "parent": "people", "link": "visit"}):
        text = put(text, place, value)
    tree = reading(text, Path()).tree
    assert tree["tables"]["tests"]["parent"] == "people"
    assert "visit" not in tree["tables"]["tests"]["columns"]
    for place, value in relinked(tree, facts, "visits", {"key": None, "parent": "people", "link": "person"}):
        text = put(text, place, value)
    after = reading(text, Path())
    assert set(after.tree["tables"]["visits"]["columns"]) == {"visit", "ward"}  # no key any more
    assert after.mistakes == ()
    assert after.linked is not None
    assert (
        "4 rows have a 'visit' that is no 'person' of 'people'" in LinkedTables(TABLES).counted(after.linked)["refused"]
    )
    assert text.startswith("# Guessed")  # comments stay


def test_a_link_by_a_column_that_is_not_there_is_refused() -> None:
    facts, text = opened()
    with pytest.raises(InputError, match="no column of that name"):
        relinked(reading(text, Path()).tree, facts, "tests", {"key": "nothing", "parent": None, "link": None})


def test_tables_without_links_are_opened_with_a_plan_that_says_so() -> None:
    apart = {"one": Table(frame=PEOPLE), "two": Table(frame=TESTS)}
    answer = facts_and_draft(apart, "two", {"one": "one.csv", "two": "two.csv"})
    read = reading(answer["text"], Path())
    assert read.linked is None
    assert answer["text"].startswith("# No links were seen")
    assert [mistake.place for mistake in read.mistakes if mistake.place == ("tables",)]
    assert set(read.tree["tables"]) == {"one", "two"}


def test_a_plan_is_for_the_tables_that_are_open() -> None:
    text = opened()[1]
    alone = for_open_tables(reading(text, Path()), [])
    assert alone.linked is None
    assert "Open all files at once" in alone.mistakes[0].sentence
    some = for_open_tables(reading(text, Path()), ["people", "visits"])
    assert some.linked is None
    assert "'tests' is not open" in some.mistakes[0].sentence
    single = for_open_tables(reading("columns: {sex: other}\n", Path()), list(TABLES))
    assert single.plan is None
    assert "needs the section 'tables'" in single.mistakes[0].sentence


def test_a_mistake_in_a_table_has_its_place_and_line() -> None:
    text = opened()[1]
    wrong = reading(put(text, ["tables", "visits", "columns", "ward", "role"], "nonsense"), Path())
    assert [mistake.place for mistake in wrong.mistakes] == [("tables", "visits", "columns", "ward", "role")]
    assert wrong.mistakes[0].line is not None
    assert "ward:" in text.splitlines()[wrong.mistakes[0].line - 1]


@pytest.mark.parametrize("written", ["visits: 5", "visits: {columns: 3}", "visits: [a]"])
def test_links_of_a_plan_that_cannot_be_read_are_refused(written: str) -> None:
    tree = reading(f"tables:\n  people: {{key: person}}\n  {written}\n", Path()).tree
    with pytest.raises(InputError, match="describes no such table"):
        relinked(tree, opened()[0], "people", {"key": "person", "parent": None, "link": None})


def test_an_address_that_no_file_can_have_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="address cannot be used"):
        _of_address("a" * 5000, tmp_path)
    assert _of_address("registry.ledger", tmp_path) == ("", "registry.ledger")


def test_a_dropped_file_without_a_name_is_no_table() -> None:
    with pytest.raises(FileError, match=r"'\.csv' has no name before its ending"):
        Keeper().put_aside(0, ".csv", {}, first=True)


def test_persons_are_counted_by_all_of_their_rows() -> None:
    two = {name: TABLES[name] for name in ("people", "visits")}
    plan = reading(facts_and_draft(two, "two", FILES)["text"], Path()).linked
    assert plan is not None
    wards = [sorted(VISITS.filter(pl.col("person") == person)["ward"]) for person in PEOPLE["person"]]
    profiles = list(zip(PEOPLE["sex"], map(tuple, wards)))
    alone = sum(profiles.count(profile) == 1 for profile in profiles)
    assert exposed(two, plan) == {"persons": 6, "unique": alone / 6, "guessed": len(set(profiles)) / 6}


PLAN = """
tables:
  people: {key: person, columns: {sex: quasi-identifier}, accept: [sex]}
  visits: {key: visit, parent: people, columns: {ward: quasi-identifier}, steps: [%s]}
  tests: {parent: visits, columns: {value: confidential}, accept: [value]}
"""
RECODE = "{mask: recode, columns: [ward], groups: {ab: [a, b]}}"


def keeper_of(text: str) -> Keeper:
    """What holds the tables, with the release of run 1."""
    keeper = Keeper()
    keeper._hold_linked(dict(TABLES), "three", FILES, lambda stage, fraction: None)
    plan = reading(text, Path()).linked
    assert plan is not None
    done: Future[Any] = Future()
    done.set_result(run(TABLES, plan, 1, lambda stage, fraction: None, ()))
    keeper._releases[1] = done
    return keeper


def test_the_risk_of_rows_and_of_their_persons_in_one_of_several_tables_by_hand() -> None:
    """Each row of a table beside the other rows of it, and each person as the riskiest of their rows there."""
    text = PLAN % RECODE
    keeper = keeper_of(text)
    answer = keeper.risks(1, text, "", of="visits")
    assert answer["keys"] == ["ward"]
    persons = VISITS["person"].to_list()
    for side, wards in zip(answer["sides"], (VISITS["ward"].to_list(), ["ab", "ab", "c"] * 3), strict=True):
        assert side["records"] == 9
        size = Counter(wards)
        assert dict(map(tuple, side["sizes"])) == Counter(size[ward] for ward in wards)
        among = {ward: len({p for p, own in zip(persons, wards) if own == ward}) for ward in size}
        least = {person: min(among[own] for p, own in zip(persons, wards) if p == person) for person in persons}
        assert dict(map(tuple, side["persons"])) == Counter(least.values())
    assert [(risky["column"], risky["without"]) for risky in answer["sides"][1]["riskiest"][:1]] == [("ward", 9)]
    sets = keeper.attribute_sets(None, text, "", [], of="visits")["sets"]
    assert [(one["columns"], one["figures"][0]["distinction"]) for one in sets] == [(["ward"], pytest.approx(3 / 9))]
    assert keeper.identifiers(of="people") is keeper.identifiers(of="people")
    assert keeper.risks(None, text, "", of="tests") == {"keys": [], "sides": []}
    with pytest.raises(InputError, match="'tests' is not in the plan"):
        keeper.risks(None, text.replace("  tests: {", "  people2: {"), "", of="tests")


def test_a_step_of_one_of_several_tables_is_seen_before_it_runs() -> None:
    plan = reading(PLAN % RECODE, Path()).linked
    assert plan is not None
    seen = preview(*LinkedTables(TABLES).of_persons(plan, "visits"), 0)
    [ward] = seen["columns"]
    assert (ward["name"], ward["changed"], ward["values"]) == (
        "ward",
        6,
        [["ab", 0, 6], ["a", 3, 0], ["b", 3, 0], ["c", 3, 3]],
    )


def test_several_tables_are_looked_at_before_they_are_opened(tmp_path: Path) -> None:
    for name, table in TABLES.items():
        table.frame.write_csv(tmp_path / f"{name}.csv")
    keeper = Keeper()
    paths = [str(tmp_path / file) for file in FILES.values()]
    seen = keeper.look({}, paths, None)
    assert keeper.look({}, str(tmp_path), None) == {**seen, "source": tmp_path.name}
    assert {name: (of["file"], of["rows"]) for name, of in seen["tables"].items()} == {
        name: (FILES[name], len(table.frame)) for name, table in TABLES.items()
    }
    assert seen["tables"]["people"]["first"][0] == ["p0", "f"]
    assert (seen["guessed"], seen["apart"]) == (opened()[0]["guessed"], "")
    apart = keeper.look({}, [paths[0], paths[2]], None)
    assert apart["guessed"] == {}
    assert apart["apart"].startswith("No links were seen")
    with pytest.raises(InputError, match="No table is open"):
        keeper.rows(None, 0, None, descending=False)
    assert keeper.look({}, paths[:1], None) == keeper.look({}, paths[0], None)
    with pytest.raises(FileError, match="same columns"):
        keeper.look_aside()


def test_what_a_step_does_to_persons_is_tried_on_some_of_them() -> None:
    text = PLAN % "" + "steps: [{mask: profiles, k: 2}]\n"
    plan = reading(text, Path()).linked
    assert plan is not None
    tables = LinkedTables(TABLES)
    seen = persons_previewed(tables, plan, 0)
    assert (seen["persons"], seen["of"], seen["unique"]) == (6, 6, [exposed(TABLES, plan)["unique"], 0.0])
    assert 0 < seen["kept"] < 1
    some = tables.of_some_persons(plan, 2)
    drawn = set(some["people"].frame["person"])
    assert len(drawn) == 2
    for name, frame in (("visits", VISITS), ("tests", TESTS.join(VISITS, on="visit"))):
        whose = some[name].frame.join(VISITS, on="visit", how="left", suffix=" of visit")["person"].to_list()
        assert sorted(whose) == sorted(person for person in frame["person"] if person in drawn)
    with pytest.raises(InputError, match="no such step"):
        persons_previewed(tables, plan, 1)


def test_tables_stand_in_the_order_of_the_plan() -> None:
    """Not of their names: what hangs on a table comes after it; those that no plan names come last."""
    answer = facts_and_draft(dict(sorted(TABLES.items())), "three", FILES)
    session = Session().opened("three", answer["facts"], answer["text"])
    assert state_of(session, reading(answer["text"], Path()))["tables"] == ["people", "visits", "tests"]
    for text in ("tables: {tests: {}, elsewhere: {}}", "tables: 3", "tables: [visits]", "columns: {}"):
        names = state_of(session, reading(text, Path()))["tables"]
        assert names == (["tests", "people", "visits"] if "elsewhere" in text else ["people", "tests", "visits"])


def test_columns_of_linked_tables_are_read_otherwise_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A type and a code for missing, opened with them, repeated by the script of a run, and taken back."""
    for name, table in TABLES.items():
        table.frame.write_csv(tmp_path / f"{name}.csv")
    asked: list[dict[str, Any]] = [{"table": "tests", "taken as": {"value": {"type": "text", "missing": ["2.5"]}}}]
    keeper = Keeper()
    opened = keeper.open(str(tmp_path), {}, asked, report=lambda stage, fraction: None)
    assert keeper.tables["tests"].frame["value"].to_list() == ["1.5", None, "3.5", "4.5"]
    assert opened["facts"]["prepared in words"] == ["In 'tests': Read otherwise: 'value' as text, 1 code missing."]
    run: Any = StudioRun(number=1, text="", released=True, result={"seed": "1"}, prepared=asked)  # type: ignore[typeddict-item]
    program = script(run, opened["facts"])
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(program.partition("release = ")[0], names)
    assert {name: table.frame.to_dicts() for name, table in names["table"].items()} == {
        name: table.frame.to_dicts() for name, table in keeper.tables.items()
    }
    facts = keeper.prepare([], "three", report=lambda stage, fraction: None)
    assert (facts["prepared"], facts["source"]) == ([], "three")
    assert keeper.tables["tests"].frame["value"].to_list() == [1.5, 2.5, 3.5, 4.5]
