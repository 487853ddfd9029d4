"""Several linked tables in one plan: what is promised, what is refused, and what is in the two folders."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import runner
from shoal.plan.linked import LinkedPlan
from shoal.release import publish
from shoal.release.linked import LinkedRelease
from shoal.release.review import Review
from shoal.table.examples import DIAGNOSES, REGIONS
from shoal.vocabulary.errors import DataError, FileError, InputError, ParameterError, PlanError, Refused

QI = {"role": "quasi-identifier", "level": "nominal"}
K2 = {"privacy": "k-anonymity", "k": 2}
PATIENTS = {"key": "patient", "columns": {"sex": QI}}
STAYS = {"key": "stay", "parent": "patients", "columns": {"ward": QI, "illness": "confidential"}}
DRUGS = {"parent": "stays", "columns": {"drug": QI}}


def tables() -> dict[str, pl.DataFrame]:
    """Two pairs of people who are alike, and Eve, whose second stay nobody else has."""
    patients = pl.DataFrame({"patient": ["Ann", "Bob", "Cem", "Dea", "Eve"], "sex": ["f", "f", "m", "m", "f"]})
    stays = pl.DataFrame(
        {
            "stay": [11, 12, 13, 14, 15, 16],
            "patient": ["Ann", "Ann", "Bob", "Bob", "Eve", "Eve"],
            "ward": ["a", "b", "b", "a", "a", "a"],
            "illness": ["x", "y", "x", "z", "x", "y"],
        }
    )
    drugs = pl.DataFrame({"stay": [12, 13], "drug": ["p", "p"]})
    return {"patients": patients, "stays": stays, "drugs": drugs}


def plan(*requirements: Any, **more: Any) -> dict[str, Any]:
    return {
        "tables": {"patients": PATIENTS, "stays": STAYS, "drugs": DRUGS},
        "requirements": list(requirements) or [K2],
        **more,
    }


def verdict(*requirements: Any, given: dict[str, pl.DataFrame] | None = None) -> Any:
    """The verdict over all tables as they are."""
    return shoal.audit(given or tables(), plan(*requirements)).verdicts[0]


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn elsewhere; a page a table would be most of the time."""
    monkeypatch.setattr(publish, "page", lambda content: "")


def test_profiles_by_hand() -> None:
    """{Ann, Bob} and {Cem, Dea} are alike; Eve has two stays in ward a."""
    whole = verdict(K2)
    assert (whole.holds, whole.achieved) == (False, 1)
    assert whole.requirement == "2-anonymity of persons, all records known, over 'patients', 'stays', 'drugs'"
    assert whole.sentence == (
        "To anyone who knows all of their records, 1 of 5 persons in 13 records is alike with no other; 1 stands alone."
    )
    one = verdict({**K2, "knowing": "one record"})
    assert (one.holds, one.achieved) == (True, 2), "f: three; f, a: three; f, b: two; f, b, p: two"
    two = verdict({**K2, "knowing": 2})
    assert (two.holds, two.achieved) == (False, 1), "Eve's two stays in ward a"


def test_a_drug_is_known_with_its_stay() -> None:
    """The same rows, but Bob's drug was given in the other stay: each table by itself looks the same."""
    given = tables()
    given["drugs"] = given["drugs"].with_columns(stay=pl.Series([12, 14]))
    assert not verdict({**K2, "knowing": "one record"}, given=given).holds
    kept = {
        name: table.filter(pl.col("patient") != "Eve") if "patient" in table.columns else table
        for name, table in given.items()
    }
    moved = verdict(K2, given=kept)
    assert (moved.holds, moved.achieved) == (False, 1)


def test_diversity_by_hand() -> None:
    """Ann and Bob share a profile, and both may have x: each stands for one value, x and y or z, so two are reached."""
    given = tables()
    given["patients"] = given["patients"].filter(pl.col("patient") != "Eve")
    given["stays"] = given["stays"].filter(pl.col("patient") != "Eve")
    l2 = {"privacy": "l-diversity", "l": 2}
    assert verdict(l2, given=given).achieved == 2
    # Knowing the stay in ward b of a woman, one learns y or x; in ward a: x or z
    assert verdict({**l2, "knowing": "one record"}, given=given).achieved == 2
    same = {**given, "stays": given["stays"].with_columns(illness=pl.lit("x"))}
    assert not verdict(l2, given=same).holds
    # Masses: Ann half x, half y; Bob half x, half z. The only group is the whole table
    assert verdict({"privacy": "t-closeness", "t": 0.1}, given=given).achieved == 0
    average = verdict({"privacy": "average-risk", "average": 0.5}, given=given)
    assert average.achieved == 0.5
    assert verdict(
        {"privacy": "l-diversity", "l": 2}, given={**given, "stays": given["stays"].drop("illness")}
    ).sentence == ("Not proved: No released table has a column that is confidential.")


def test_order_is_known_too() -> None:
    """Ann was in ward a first, Bob in b: alike as sets, and alone as sequences."""
    given = tables()
    given["stays"] = given["stays"].with_columns(day=pl.Series([1, 2, 1, 2, 1, 2]))
    given = {n: t.filter(pl.col("patient") != "Eve") if "patient" in t.columns else t for n, t in given.items()}
    described = plan(K2, {**K2, "knowing": "all records", "order": "day"})
    described["tables"] = {**described["tables"], "stays": {**STAYS, "columns": {**STAYS["columns"], "day": "other"}}}
    as_sets, in_order = shoal.audit(given, described).verdicts[:2]
    assert as_sets.holds
    assert not in_order.holds
    assert "in order of 'day'" in in_order.requirement
    nowhere = shoal.audit(given, {**described, "requirements": [{**K2, "knowing": "all records", "order": "hour"}]})
    assert "No table below the persons has a column 'hour'" in nowhere.verdicts[0].sentence


@pytest.mark.usefixtures("without_pages")
def test_whoever_stands_alone_is_left_out_of_all_tables(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="1 of 5 persons in 13 records is alike with no other; 1 stands alone"):
        shoal.protect(tables(), plan(), tmp_path / "out", seed=1)
    assert not list(tmp_path.iterdir()), "a refused release writes nothing"
    with pytest.raises(Refused, match="At least 1 of 5 persons would have to be left out before 2-anonymity"):
        shoal.protect(tables(), plan(suppress_persons=0.1), seed=1)
    release = shoal.protect(tables(), plan(suppress_persons=0.2), tmp_path / "out", seed=1)
    assert isinstance(release, LinkedRelease)
    read = {name: pl.read_csv(tmp_path / f"out/release/{name}.csv") for name in ("patients", "stays", "drugs")}
    assert [table.columns for table in read.values()] == [
        ["patient", "sex"],
        ["stay", "patient", "ward", "illness"],
        ["stay", "drug"],
    ]
    assert sorted(read["patients"]["patient"]) == [1, 2, 3, 4], "numbers of those who are released"
    assert sorted(read["stays"]["stay"]) == [1, 2, 3, 4]
    assert set(read["stays"]["patient"]) < set(read["patients"]["patient"])
    assert set(read["drugs"]["stay"]) < set(read["stays"]["stay"])
    text = "".join(path.read_text() for path in (tmp_path / "out" / "release").rglob("*.csv"))
    assert not any(name in text for name in ("Ann", "Bob", "Cem", "Dea", "Eve"))
    public = json.loads((tmp_path / "out/release/evidence.json").read_text())
    assert public["requirements"][0]["facts"]["persons"] == 4
    assert public["requirements"][1]["sentence"] == (
        "Every row has its row above: 4 persons in 'patients', 4 records in 'stays', 2 records in 'drugs'."
    )
    assert set(public["sha256"]) == {"patients.csv", "stays.csv", "drugs.csv"}
    assert "persons left out" not in json.dumps(public)
    private = json.loads((tmp_path / "out/private/record.json").read_text())
    assert private["persons left out"] == 1
    assert shoal.audit(tmp_path / "out/release", plan()).holds
    again = shoal.protect(tables(), LinkedPlan.of(plan(suppress_persons=0.2)), seed=1)
    assert {name: frame.rows() for name, frame in again.to_frames().items()} == {n: t.rows() for n, t in read.items()}


@pytest.mark.usefixtures("without_pages")
def test_the_public_is_not_told_how_many_records_whoever_was_left_out_had(tmp_path: Path) -> None:
    """Fay is left out, and all who stay are the same: by no file can a Fay of ninety stays be told from one of one."""
    shown = []
    for visits in (1, 90):
        given = tables()
        given["patients"] = pl.concat([given["patients"], pl.DataFrame({"patient": ["Fay"], "sex": ["m"]})])
        stays = [{"stay": 20 + n, "patient": "Fay", "ward": "b", "illness": "y"} for n in range(visits)]
        given["stays"] = pl.concat([given["stays"], pl.DataFrame(stays)])
        out = tmp_path / str(visits)
        shoal.protect(given, plan(suppress_persons=0.5), out, seed=1)
        contents = [json.loads(path.read_text()) for path in sorted((out / "release").rglob("*.json"))]
        shown.append([{**content, "sha256": ""} for content in contents])
    assert shown[0] == shown[1]
    assert "left out, since a person may have any number of its records" in json.dumps(shown)


def test_reports_show_persons_and_records(tmp_path: Path) -> None:
    shoal.publish(shoal.protect(tables(), plan(suppress_persons=0.2), seed=1), tmp_path / "out")
    page = (tmp_path / "out/release/report.html").read_text()
    assert "each of 4 persons in 10 records is alike with at least 1 other" in page
    assert "4 persons in &#39;patients&#39;" in page
    assert [page.count(f'<a href="{name}/report.html">') for name in tables()] == [1, 1, 1]
    assert "0 of 14 cells; 4 columns left as they came" in page  # sex of 4, ward and illness of 4, drug of 2
    assert "4 columns in 3 tables" in page
    assert "measured in each table, in its own report" in page
    assert "what is refused is not measured" not in page
    for folder in ("release", "private"):
        shown = json.loads((tmp_path / "out" / folder / "evidence.json").read_text())["tables"]
        assert [(one["name"], one["persons"], one["records"]) for one in shown] == [
            ("patients", 4, 4),
            ("stays", 2, 4),
            ("drugs", 2, 2),
        ]
        assert [one["left as they came"] for one in shown] == [["sex"], ["ward", "illness"], ["drug"]]
    assert "each of 4 persons in 10 records" in (tmp_path / "out/release/drugs/report.html").read_text()


def test_the_tables_cannot_be_linked_by_the_order_of_their_rows() -> None:
    """A stay a patient, in the same order: as many rows in both tables, shuffled each by itself."""
    n = 400
    patients = pl.DataFrame({"patient": range(n), "sex": ["f", "m"] * (n // 2)})
    stays = pl.DataFrame({"stay": range(n), "patient": range(n), "ward": ["a"] * n, "illness": ["x", "y"] * (n // 2)})
    described = plan(release_keys=False)
    described["tables"] = {"patients": PATIENTS, "stays": STAYS}
    release = shoal.protect({"patients": patients, "stays": stays}, described, seed=1)
    assert [table.columns for table in release.to_frames().values()] == [["sex"], ["ward", "illness"]]
    rows = [release.tables[name].rows for name in ("patients", "stays")]
    assert (rows[0] == rows[1]).sum() < 10
    keyed = shoal.protect({"patients": patients, "stays": stays}, {**described, "release_keys": True}, seed=1)
    numbers = keyed.to_frames()["stays"]
    assert abs(np.corrcoef(numbers["stay"], numbers["patient"])[0, 1]) < 0.2, "stays are not numbered as persons are"


def test_one_shift_a_person_in_all_tables_within_the_bounds() -> None:
    n, rng = 60, np.random.default_rng(0)
    born = [date(1950, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 20_000, n)]
    patients = pl.DataFrame({"patient": range(n), "sex": ["f"] * n, "seen": [date(2020, 1, 10)] * n, "born": born})
    came = [date(2020, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 100, 2 * n)]
    stays = pl.DataFrame({"stay": range(2 * n), "patient": [*range(n)] * 2, "ward": ["a"] * 2 * n, "came": came})
    shift = {"mask": "shift-dates", "most": 50, "earliest": "2019-12-20"}
    described = {
        "tables": {
            "patients": {
                "key": "patient",
                "columns": {"sex": QI, "seen": "other", "born": "other"},
                "steps": [{**shift, "columns": ["seen"]}],
                "accept": ["born", "seen"],
            },
            "stays": {
                "key": "stay",
                "parent": "patients",
                "columns": {"ward": QI, "came": "other"},
                "steps": [{**shift, "columns": ["came"]}],
                "accept": ["came"],
            },
        },
        "requirements": [K2],
    }
    release = shoal.protect({"patients": patients, "stays": stays}, described, seed=3)
    after = release.to_frames()
    moved = {number: seen - date(2020, 1, 10) for number, seen in after["patients"].select("patient", "seen").rows()}
    rows = release.tables["stays"].rows.tolist()
    assert after["stays"]["came"].min() >= date(2019, 12, 20) <= after["patients"]["seen"].min()
    for (number, day), row in zip(after["stays"].select("patient", "came").rows(), rows, strict=True):
        assert day - stays["came"][row] == moved[number]
    assert len(set(moved.values())) > 20
    described["tables"]["stays"]["steps"] = [{**shift, "columns": ["came"], "most": 40}]
    with pytest.raises(PlanError, match="shift-dates: one shift a person holds for all tables"):
        LinkedPlan.of(described)


def test_a_blank_of_one_table_that_another_gives_back() -> None:
    """Two have no sex in the table of patients; the ward of one of them is where only women are."""
    n = 40
    sex = ["f", "m"] * (n // 2)
    patients = pl.DataFrame({"patient": range(n + 1), "sex": [None, *sex[1:], None]})
    stays = pl.DataFrame(
        {"stay": range(n + 1), "patient": range(n + 1), "ward": [f"of {cell}" for cell in [*sex, "all"]]}
    )
    described = {
        "tables": {
            "patients": {"key": "patient", "columns": {"sex": {**QI, "missing": "keep"}}},
            "stays": {"key": "stay", "parent": "patients", "columns": {"ward": "other"}},
        },
        "requirements": [K2],
    }
    filled = shoal.audit({"patients": patients, "stays": stays}, described).verdicts[0]
    assert not filled.holds
    assert filled.sentence.startswith(
        "With cells filled in that the tables give away together: To anyone who knows all"
    )
    outside = stays.with_columns(ward=pl.lit("any"))
    assert shoal.audit({"patients": patients, "stays": outside}, described).verdicts[0].holds


def test_households_above_persons() -> None:
    given = tables()
    given["patients"] = given["patients"].with_columns(home=pl.Series([1, 1, 2, 2, 3]))
    described = plan({**K2, "unit": "household"}, {**K2, "unit": "household", "knowing": "one record"})
    described["tables"]["patients"] = {**PATIENTS, "columns": {"sex": QI, "home": "household"}}
    evidence = shoal.audit(given, described)
    whole, one = evidence.verdicts[:2]
    assert (whole.achieved, one.achieved) == (1, 1)
    (caution,) = (line for line in evidence.lines() if "'home' is released" in line)
    assert caution.startswith("records   k-anonymity of households, one record known:")  # by default all are known
    assert "3 households in 13 records" in whole.sentence
    without = verdict({**K2, "unit": "household"})
    assert "The table has no column with the role household" in without.sentence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"stays": {"patient": ["Ann", "Zoe", "Yan", "Bob", "Eve", "Eve"]}},
            "Table 'stays': 2 rows have a 'patient' that is no 'patient' of 'patients'. Add the missing rows to "
            "'patients', or leave these out.",
        ),
        (
            {"patients": {"patient": ["Ann", "Bob", "Bob", "Dea", "Eve"]}},
            "Table 'patients': 'patient' is its key, but 1 row repeats the key of an earlier one. Give each row a key "
            "of its own, or name another column as key.",
        ),
        (
            {"stays": {"stay": [11, 12, None, 14, 15, 16]}},
            "Table 'stays': 1 row has no 'stay', which links the tables. Fill it in, or leave it out.",
        ),
        (
            {"drugs": {"patient": ["Bob", "Bob"]}},
            "Table 'drugs': 1 row has a 'patient' other than the row of 'stays' that it is linked to. Repair one.",
        ),
        ({"drugs": {"stay": None}}, "Table 'drugs' has no column 'stay', which the plan links by; it has 'drug'."),
    ],
    ids=["orphans", "repeated", "missing", "contradicting", "absent"],
)
def test_keys_that_do_not_link(change: dict[str, dict[str, Any]], message: str) -> None:
    given = tables()
    for name, columns in change.items():
        for column, cells in columns.items():
            table = given[name]
            given[name] = table.drop(column) if cells is None else table.with_columns(pl.Series(column, cells))
    with pytest.raises(DataError) as error:
        shoal.protect(given, plan(), seed=1)
    assert str(error.value) == message


def test_a_key_further_up_is_numbered_too(tmp_path: Path) -> None:
    """Tables of hospitals often repeat the patient in every table."""
    given = tables()
    given["drugs"] = given["drugs"].with_columns(patient=pl.Series(["Ann", "Bob"]))
    release = shoal.protect(given, plan(suppress_persons=0.5), seed=1).to_frames()
    joined = release["drugs"].join(release["stays"], on="stay")
    assert release["drugs"].columns == ["stay", "drug", "patient"]
    assert (joined["patient"] == joined["patient_right"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suppress_persons": 2}, "plan: suppress_persons must be a share of the persons, from 0 to 1; got 2."),
        ({"release_keys": "no"}, "plan: release_keys must be true or false; got 'no'."),
        ({"accept": []}, "plan: unknown section 'accept'"),
        ({"output": {"copies": 2}}, "plan: output: copies must be 1 where people's rows are released"),
        ({"release_keys": False, "output": {"shuffle": False}}, "the order of the rows links the tables"),
        ({"tables": []}, "plan: tables must be a mapping of tables"),
        ({"tables": {"a": PATIENTS, "b": PATIENTS}}, "exactly one, that of persons, has no parent; 'a', 'b' have none"),
        ({"tables": {"a": PATIENTS, "b": {**DRUGS, "parent": "c"}}}, "table 'b': unknown table 'c'"),
        ({"tables": {"a/b": PATIENTS}}, "table 'a/b': a name is of letters, digits, - and _, for its file."),
        ({"tables": {"a": {"columns": {"sex": QI}}}}, "table 'a' needs a key, a column with a value of its own"),
        ({"tables": {"a": {**PATIENTS, "link": "x"}}}, "table 'a': link is for a table with a parent."),
        ({"tables": {"a": {**PATIENTS, "keys": "x"}}}, "table 'a': unknown key 'keys'; did you mean 'key'?"),
        (
            {"tables": {"a": PATIENTS, "b": {"key": "x", "parent": "c"}, "c": {"key": "y", "parent": "b"}}},
            "tables: 'b', 'c' are parents of each other, and hang on no person.",
        ),
        (
            {"tables": {"a": PATIENTS, "b": {"parent": "a", "columns": {"patient": "other"}}}},
            "table 'b': 'patient' is a key, which the plan numbers anew. Leave it out of columns.",
        ),
        ({"tables": {"a": {**PATIENTS, "steps": [{"mask": "mdaw"}]}}}, "plan, table 'a': steps 1: Unknown"),
        (
            {"requirements": [{"privacy": "k-map", "k": 2}]},
            "requirements 1: k-map is judged table by table. State it below a table",
        ),
        ({"requirements": [{**K2, "columns": ["sex"]}]}, "k-anonymity over all tables takes no columns and no missing"),
        ({"requirements": [{"privacy": "l-diversity", "l": 2, "knowing": 2}]}, "knows one record or all records"),
        ({"tables": {"a": PATIENTS, "b": {**DRUGS, "parent": ["a"]}}}, "table 'b': parent must be one table, for"),
        ({"tables": {"a": PATIENTS, "b": {**DRUGS, "parent": "a", "link": ["x", "y"]}}}, "link must be one column."),
        ({"tables": {"a": {**PATIENTS, "key": ["patient", "year"]}}}, "table 'a': key must be one column. Where"),
        ({"tables": {"a": {**PATIENTS, "columns": ["sex"]}}}, "table 'a': columns must be a mapping, with a role"),
        ({"for": ["nobody"]}, "plan: unknown value of for '['nobody']'"),
        ({"for": "nobody"}, "plan: unknown value of for 'nobody'"),
    ],
)
def test_mistakes_in_a_plan(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError) as error:
        LinkedPlan.of({**plan(), **change})
    assert message.lower() in str(error.value).lower()


def test_a_plan_for_several_tables_is_none_for_one(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="only shoal protect and shoal audit work on"):
        shoal.Plan.of(plan())
    with pytest.raises(DataError, match="The plan is for the tables 'patients', 'stays', 'drugs'; got 'patients'"):
        shoal.protect({"patients": tables()["patients"]}, plan())
    with pytest.raises(DataError, match="Give a mapping of frames by these names, the files"):
        shoal.protect(tables()["patients"], plan())
    with pytest.raises(FileError, match=r"One file of the table 'patients' is needed in .*, such as patients\.csv"):
        shoal.protect(tmp_path, plan())
    with pytest.raises(FileError, match=r"There is no folder .* Name the one with the tables 'patients', 'stays'"):
        shoal.audit(tmp_path / "elsewhere", plan())
    with pytest.raises(ParameterError, match="A ledger holds what a plan asks"):
        shoal.protect(tables(), plan(), after=tmp_path)
    with pytest.raises(ParameterError, match="A ledger holds what a plan asks"):
        shoal.protect(tables(), plan(), ledger=tmp_path / "x")


def test_a_section_without_content_is_left_out() -> None:
    empty = LinkedPlan.of(plan(suppress_persons=None, release_keys=None))
    assert (empty.suppress_persons, empty.release_keys) == (0.0, True)


def test_keys_that_are_not_released_stay_so_in_a_written_plan() -> None:
    written = LinkedPlan.of(plan(release_keys=False))
    assert not LinkedPlan.of(written.as_mapping()).release_keys
    assert "release_keys: false" in written.as_yaml()


def test_context_and_yaml_give_the_same_plan(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(LinkedPlan.of(plan(K2, {"privacy": "l-diversity", "l": 2})).as_yaml())
    read = LinkedPlan.of(tmp_path / "plan.yaml")
    assert read.as_mapping() == LinkedPlan.of(plan(K2, {"privacy": "l-diversity", "l": 2})).as_mapping()
    usual = LinkedPlan.of({"tables": plan()["tables"], "for": "research"})
    assert [(model.method_name, model.unit) for model in usual.requirements] == [("k-anonymity", "person")]
    (tmp_path / "bad.yaml").write_text("tables:\n  a:\n    key: x\n    keys: x\n    columns: {sex: other}\n")
    with pytest.raises(PlanError, match=r"bad.yaml, line 4, column 5: table 'a': Unknown key 'keys'"):
        LinkedPlan.of(tmp_path / "bad.yaml")


def test_nothing_half_written_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = shoal.protect(tables(), plan(suppress_persons=0.2), seed=1)
    seen: list[str] = []

    def interrupted(content: Any) -> str:
        seen.append("page")
        if len(seen) == 4:
            raise KeyboardInterrupt
        return ""

    monkeypatch.setattr(publish, "page", interrupted)
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("without_pages")
def test_files_that_were_tampered_with_are_refuted(tmp_path: Path) -> None:
    shoal.protect(tables(), plan(suppress_persons=0.2), tmp_path / "out", seed=1)
    stays = tmp_path / "out/release/stays.csv"
    stays.write_text("\n".join(stays.read_text().splitlines()[:-1]) + "\n")
    with pytest.raises(InputError, match="Table 'drugs': 1 row has a 'stay' that is no 'stay' of 'stays'"):
        shoal.audit(tmp_path / "out/release", plan())
    (tmp_path / "out/release/drugs.csv").write_text("stay,drug\n")
    with pytest.raises(InputError, match="Table 'drugs'"):
        shoal.audit(tmp_path / "out/release", plan())
    changed = shoal.protect(tables(), plan(suppress_persons=0.2), seed=1)
    assert not shoal.audit({**changed.to_frames(), "drugs": changed.to_frames()["drugs"][:1]}, plan()).holds


def test_two_people_for_a_release_of_several_tables(tmp_path: Path) -> None:
    release = shoal.protect(tables(), plan(suppress_persons=0.2), tmp_path / "out", seed=1)
    in_memory = shoal.review(release, "Ann")
    assert (len(in_memory.cells), [t["name"] for t in in_memory.evidence["tables"]]) == (3, list(release.tables))
    with pytest.raises(InputError, match="has no approval"):
        shoal.publish(release, tmp_path / "other", approval=in_memory)
    other = shoal.protect(tables(), plan(suppress_persons=0.2), seed=2)
    with pytest.raises(InputError, match="Another release was approved"):
        shoal.publish(other, tmp_path / "other", approval=in_memory.approved("Bob"))
    assert not (tmp_path / "other").exists()
    shoal.publish(release, tmp_path / "other", approval=Review.of_text(in_memory.approved("Bob").text))
    assert json.loads((tmp_path / "other/release/evidence.json").read_text())["approval"]["by"] == "Bob"
    assert json.loads((tmp_path / "other/private/record.json").read_text())["approval"]["handed over by"] == "Ann"
    reviewed = shoal.review(tmp_path / "out", "Ann").approved("Bob")
    shoal.approve(tmp_path / "out", reviewed)
    assert json.loads((tmp_path / "out/release/evidence.json").read_text())["approval"]["by"] == "Bob"
    assert "4 persons in 10 records" in shoal.dossier(tmp_path / "out")._repr_html_()
    rows = shoal.compare(tmp_path / "out").rows
    assert {"Records": [10], "stays: Records": [4]}.items() <= {row["title"]: row["cells"] for row in rows}.items()


def profiles_plan(**more: Any) -> dict[str, Any]:
    """The invented hospital with all that may be known of a patient, and no step of a table by itself."""
    known = {"area": {"role": "quasi-identifier", "hierarchy": {"nested": REGIONS}}, "born": "quasi-identifier"}
    diagnosis = {"role": "quasi-identifier", "hierarchy": {"nested": DIAGNOSES}}
    out = dict.fromkeys(("household", "died", "discharge", "taken"), "identifier")
    return {
        "tables": {
            "patients": {
                "key": "patient",
                "columns": {"sex": QI, **known, "household": out["household"], "died": out["died"]},
            },
            "stays": {
                "key": "stay",
                "parent": "patients",
                "columns": {"admission": "quasi-identifier", "diagnosis": diagnosis, "discharge": out["discharge"]},
            },
            "labs": {"parent": "stays", "columns": {"test": QI, "value": "identifier", "taken": out["taken"]}},
        },
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
        **more,
    }


@pytest.mark.usefixtures("without_pages")
def test_profiles_made_alike_leave_nobody_out(tmp_path: Path) -> None:
    """Without the step nearly everybody would have to go; with it nobody does, and most rows stay."""
    given = shoal.example_tables(n=400, seed=2)
    described = profiles_plan(steps=[{"mask": "profiles", "k": 5}])
    with pytest.raises(Refused, match=r"At least \d+ of 400 persons would have to be left out"):
        shoal.protect(given, profiles_plan(suppress_persons=0.9), seed=1)
    release = shoal.protect(given, described, tmp_path / "out", seed=1)
    assert release.record["persons left out"] == 0
    assert release.evidence.verdicts[0].achieved >= 5
    released = {name: pl.read_csv(tmp_path / "out" / "release" / f"{name}.csv") for name in given}
    assert len(released["patients"]) == 400
    assert len(released["stays"]) > 0.75 * len(given["stays"])
    assert len(released["labs"]) > 0.4 * len(given["labs"])
    assert released["stays"]["patient"].is_in(released["patients"]["patient"].implode()).all()
    again = shoal.protect(given, described, seed=1)
    assert all(again.tables[name].data.equals(release.tables[name].data) for name in given), "same plan, same bytes"
    accounts = [account.step for account in release.tables["stays"].account.steps]
    assert any("profiles" in step for step in accounts), "the step stands in the report of each table"


def test_profiles_in_a_plan_for_several_tables() -> None:
    described = profiles_plan(steps=[{"mask": "profiles", "k": 5}])
    read = LinkedPlan.of(described)
    assert LinkedPlan.of(read.as_mapping()).steps == read.steps == (shoal.Profiles(k=5),)
    assert "steps" not in LinkedPlan.of(profiles_plan()).as_mapping()
    for steps, message in (
        ([{"mask": "truncate-records", "most": 2}], "steps 1: truncate-records works table by table"),
        ([{"mask": "profiles", "k": 5, "columns": ["born"]}], "steps 1: profiles over all tables takes no columns"),
        ([{"mask": "profiles"}], "steps 1: profiles"),
        ({"mask": "profiles"}, "the section 'steps' must be a list"),
    ):
        with pytest.raises(PlanError, match=message):
            LinkedPlan.of({**described, "steps": steps})
    few = {name: frame.head(3) for name, frame in shoal.example_tables(n=3).items()}
    stays = few["stays"].filter(pl.col("patient").is_in(few["patients"]["patient"].implode()))
    labs = few["labs"].filter(pl.col("stay").is_in(stays["stay"].implode()))
    with pytest.raises(DataError, match="there are only 3 persons"):
        shoal.protect({**few, "stays": stays, "labs": labs}, described, seed=1)


def test_a_table_of_which_nobody_keeps_a_row_is_named() -> None:
    given = tables()
    described = plan(steps=[{"mask": "profiles", "k": 5}])
    with pytest.raises(
        Refused, match="profiles leaves no record of table 'stays', for in each group somebody has none"
    ):
        shoal.protect(given, described, seed=1)


def test_less_than_is_known_is_the_first_thing_said() -> None:
    evidence = shoal.audit(tables(), plan({**K2, "knowing": "one record"}))
    assert evidence.lines()[0].startswith(
        "records   k-anonymity of persons, one record known: but 'patient' is released and tells which records are"
    )


def test_a_column_that_tells_whose_rows_are_whose_is_named() -> None:
    """No key is released, but a ward of its own for each patient's stays does as well."""
    n = 30
    patients = pl.DataFrame({"patient": range(n), "sex": ["f"] * n, "home": [number // 2 for number in range(n)]})
    stays = pl.DataFrame({"patient": [*range(n)] * 2, "illness": [f"of {number}" for number in range(n)] * 2})
    described = {
        "tables": {
            "patients": {"key": "patient", "columns": {"sex": QI, "home": "household"}},
            "stays": {"parent": "patients", "columns": {"illness": "confidential"}},
        },
        "requirements": [{**K2, "knowing": "one record"}],
        "release_keys": False,
    }
    first, second, *_ = shoal.protect({"patients": patients, "stays": stays}, described, seed=1).evidence.lines()
    assert first == (
        "records   k-anonymity of persons, one record known: but 'stays.illness' is released and tells which records "
        "are one person's, so who knows more of a person may find them all. Say knowing: all records, or leave "
        "'stays.illness' out."
    )
    assert "but 'home' is released and tells which records are one household's" in second


def test_differential_privacy_is_not_spent_over_several_tables() -> None:
    described = plan()
    spent = {"mask": "laplace", "columns": ["illness"], "epsilon": 1, "bounds": {"illness": [0, 1]}}
    numbers = tables()["stays"].with_columns(illness=pl.lit(0.5))
    described["tables"]["stays"] = {**STAYS, "steps": [spent]}
    with pytest.raises(ParameterError, match="Tables 'stays' spend differential privacy"):
        shoal.protect({**tables(), "stays": numbers}, described, seed=1)


def test_a_table_may_have_no_column_of_quasi_identifiers() -> None:
    given = tables()
    described = plan(suppress_persons=0.5)
    described["tables"]["drugs"] = {"parent": "stays", "columns": {"drug": "confidential"}}
    release = shoal.protect(given, described, seed=1)
    assert "patient" not in release.tables["drugs"].account.not_released, "the table never had it"
    assert not shoal.audit({**given, "drugs": given["drugs"][:1]}, described).holds, "a number of rows tells as well"


def test_a_table_without_a_released_column_is_refused() -> None:
    of_all = {"patients": PATIENTS, "stays": STAYS, "drugs": {**DRUGS, "columns": {"drug": "identifier"}}}
    with pytest.raises(DataError, match="Table 'drugs': No column is released, for all are identifiers"):
        shoal.protect(tables(), plan(tables=of_all, release_keys=False, suppress_persons=1))


def test_a_table_of_no_records_is_named_with_what_to_do() -> None:
    given = {**tables(), "drugs": tables()["drugs"][:0]}
    with pytest.raises(DataError) as error:
        shoal.protect(given, plan(), seed=1)
    assert str(error.value) == (
        "Tables 'drugs' have no records, and a release needs one of each table. Take them out of the plan."
    )


def test_a_cell_that_is_missing_is_of_a_table() -> None:
    day = pl.Series([date(2020, 1, 1), None])
    given = {**tables(), "drugs": tables()["drugs"].with_columns(day=day, drug=pl.lit(None, pl.String))}
    drugs = {"parent": "stays", "columns": {"drug": QI, "day": "other"}}
    shifts = [{"mask": "shift-dates", "columns": ["day"], "most": 3}]
    with pytest.raises(DataError, match="Table 'drugs': Column 'drug' has 2 missing values"):
        shoal.protect(given, plan(tables={"patients": PATIENTS, "stays": STAYS, "drugs": {**drugs, "steps": shifts}}))


def test_unchanged_columns_still_need_an_answer() -> None:
    given = tables()
    given["stays"] = given["stays"].with_columns(weight=pl.Series(range(6)))
    described = plan(suppress_persons=0.5)
    described["tables"]["stays"] = {**STAYS, "columns": {**STAYS["columns"], "weight": "other"}}
    with pytest.raises(
        Refused, match=r"Table 'stays': Nothing was released. Columns leave unchanged.*accept: \[weight\]"
    ):
        shoal.protect(given, described, seed=1)


def test_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "hospital").mkdir()
    for name, table in tables().items():
        table.write_csv(tmp_path / "hospital" / f"{name}.csv")
    (tmp_path / "plan.yaml").write_text(LinkedPlan.of(plan(suppress_persons=0.2)).as_yaml())
    run = runner(monkeypatch, capsys)
    files = (tmp_path / "hospital", "--plan", tmp_path / "plan.yaml", "--out", tmp_path / "out")
    status, text, _ = run("protect", *files, "--seed", 1)
    assert status == 0
    assert "each of 4 persons in 10 records is alike with at least 1 other" in text
    assert "may leave the building" in text
    status, text, _ = run("audit", tmp_path / "out/release", "--plan", tmp_path / "plan.yaml")
    assert (status, "proved    linked tables: Every row has its row above" in text) == (0, True)
    status, text, error = run("audit", tmp_path / "hospital", "--plan", tmp_path / "plan.yaml")
    assert (status, "REFUTED" in text) == (3, True)
    status, _, error = run("protect", *files)
    assert (status, "holds a release" in error) == (2, True)
    status, _, _ = run("protect", *files, "--overwrite", "--dry-run", "--json")
    assert status == 0


def test_what_only_one_original_tells_stands_in_no_report(tmp_path: Path) -> None:
    """A ward that no released stay has, named in a rule, a label of another table, and the purpose of all."""
    secret = "tropical"
    given = {**tables(), "stays": tables()["stays"].with_columns(ward=pl.Series([*"abba", secret, "a"]))}
    patients = {**PATIENTS, "columns": {"sex": {"role": "quasi-identifier", "label": f"never '{secret}'"}}}
    rule = {"rules": [f"ward == '{secret}' -> illness != 'z'"], "broken_rules": "report"}
    described = plan(
        tables={"patients": patients, "stays": {**STAYS, "constraints": rule}, "drugs": DRUGS},
        suppress_persons=0.5,
        release={"title": "Stays", "purpose": f"about '{secret}'"},
    )
    folder = shoal.protect(given, described, seed=1).write(tmp_path / "out")
    assert (folder / "release/report.html").read_text().count("withheld") >= 3
    assert not [p for p in (folder / "release").rglob("*") if p.is_file() and secret in p.read_text()]


def test_rows_whose_rows_above_went_take_no_part_in_the_steps() -> None:
    """Of two stays with a drug each the first is kept, and so is its drug, not one drawn of both."""
    people = [f"p{n}" for n in range(12)]
    given = {
        "patients": pl.DataFrame({"patient": people, "sex": ["f"] * 12}),
        "stays": pl.DataFrame(
            {"stay": range(24), "patient": people * 2, "ward": ["a"] * 24, "illness": ["x", "y"] * 12}
        ),
        "drugs": pl.DataFrame({"stay": range(24), "drug": ["p"] * 24}),
    }
    one = {"mask": "truncate-records", "most": 1}
    described = plan(K2)
    described["tables"] = {
        "patients": PATIENTS,
        "stays": {**STAYS, "steps": [{**one, "keep": "first"}]},
        "drugs": {**DRUGS, "steps": [one]},
    }
    released = shoal.protect(given, described, seed=1).to_frames()
    assert [len(table) for table in released.values()] == [12, 12, 12]
