"""Persons made up with their rows over linked tables: what holds in the files, and what of the original is in them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import NIGHT
from shoal.plan.linked import LinkedPlan
from shoal.release import publish
from shoal.vocabulary.errors import DataError, PlanError, Refused

Tables = dict[str, pl.DataFrame]

KNOWN, SECRET = "quasi-identifier", "confidential"
PATIENTS = {"household": "identifier", "sex": KNOWN, "area": KNOWN, "born": KNOWN}
HOSPITAL: dict[str, Any] = {
    "tables": {
        "patients": {"key": "patient", "columns": {**PATIENTS, "died": {"role": SECRET, "missing": "keep"}}},
        "stays": {
            "key": "stay",
            "parent": "patients",
            "columns": {"admission": KNOWN, "discharge": SECRET, "diagnosis": SECRET},
        },
        "labs": {"parent": "stays", "columns": {"taken": SECRET, "test": SECRET, "value": SECRET}},
    },
    "synthesis": {"replace": "cart", "order": {"stays": "admission", "labs": "taken"}},
    "constraints": [
        "stays.admission <= stays.discharge",
        "stays.discharge <= patients.died",
        "stays.admission <= labs.taken <= stays.discharge",
        "previous(stays.discharge by stays.admission) <= stays.admission",
    ],
    "requirements": [{"risk": "unique-exact-matches", "at most": 0.01}],
}
NAMES = ("patients", "stays", "labs")


def changed(**sections: Any) -> dict[str, Any]:
    return {**HOSPITAL, **sections}


@pytest.fixture(scope="module")
def original() -> Tables:
    return shoal.example_tables(n=2000, seed=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, original: Tables) -> Path:
    out = tmp_path_factory.mktemp("made") / "out"
    shoal.protect(original, HOSPITAL, out, seed=1)
    return out


@pytest.fixture(scope="module")
def made(folder: Path) -> Tables:
    return {name: pl.read_csv(folder / f"release/{name}.csv", try_parse_dates=True) for name in NAMES}


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish, "page", lambda content: "")


def test_no_key_dangles_and_none_is_anybodys(made: Tables, original: Tables) -> None:
    assert sorted(made["patients"]["patient"]) == list(range(1, 2001))
    assert sorted(made["stays"]["stay"]) == list(range(1, len(made["stays"]) + 1))
    assert made["stays"]["patient"].is_in(made["patients"]["patient"].implode()).all()
    assert made["labs"]["stay"].is_in(made["stays"]["stay"].implode()).all()
    assert len(made["stays"]) != len(original["stays"]), "how many stays there were is not taken over"
    assert [table.columns for table in made.values()] == [
        [c for c in table.columns if c != "household"] for table in original.values()
    ]


def test_no_row_is_out_of_order(made: Tables) -> None:
    """Counted in the files by joins and loops that share nothing with the package."""
    stays = made["stays"].join(made["patients"], on="patient")
    assert not len(stays.filter(pl.col("admission") > pl.col("discharge")))
    assert not len(stays.filter(pl.col("discharge") > pl.col("died"))), "no stay after death"
    assert stays["died"].drop_nulls().len() > 50
    for _, own in stays.sort("admission").group_by("patient"):
        cells = own.select("admission", "discharge").rows()
        assert all(before[1] <= after[0] for before, after in zip(cells, cells[1:], strict=False))
    labs = made["labs"].join(made["stays"], on="stay")
    assert not len(labs.filter((pl.col("taken") < pl.col("admission")) | (pl.col("taken") > pl.col("discharge"))))


def shares(values: list[Any]) -> dict[Any, float]:
    return {value: count / len(values) for value, count in Counter(values).items()}


def apart(first: list[Any], second: list[Any]) -> float:
    """Total variation distance of two lists of values."""
    x, y = shares(first), shares(second)
    return sum(abs(x.get(value, 0) - y.get(value, 0)) for value in x.keys() | y.keys()) / 2


def numbers_of_rows(upper: list[Any], links: list[Any]) -> list[int]:
    counts = Counter(links)
    return [counts[key] for key in upper]


def transitions(stays: pl.DataFrame) -> list[tuple[str, str]]:
    """Diagnoses of a stay and of the next one."""
    pairs = []
    for _, own in stays.sort("admission").group_by("patient", maintain_order=True):
        codes = own["diagnosis"].to_list()
        pairs += list(zip(codes, codes[1:], strict=False))
    return pairs


def gaps(stays: pl.DataFrame) -> list[int]:
    """Days from a discharge to the next admission of the same patient."""
    next_one = pl.col("admission").shift(-1).over("patient", order_by="admission")
    return stays.select((next_one - pl.col("discharge")).dt.total_days().alias("gap"))["gap"].drop_nulls().to_list()


def figures(first: Tables, second: Tables) -> dict[str, float]:
    """How far two hospitals are apart, by person."""
    x, y = (
        {
            "stays of a patient": numbers_of_rows(t["patients"]["patient"].to_list(), t["stays"]["patient"].to_list()),
            "values of a stay": numbers_of_rows(t["stays"]["stay"].to_list(), t["labs"]["stay"].to_list()),
            "transitions": transitions(t["stays"]),
            "gaps by tens of days": [gap // 10 for gap in gaps(t["stays"])],
            "lengths by five days": [
                d // 5 for d in (t["stays"]["discharge"] - t["stays"]["admission"]).dt.total_days().to_list()
            ],
            "dead": t["patients"]["died"].is_null().to_list(),
        }
        for t in (first, second)
    )
    return {name: round(apart(x[name], y[name]), 4) for name in x}


def test_persons_are_as_near_as_another_sample_of_them(made: Tables, original: Tables) -> None:
    """Rows per person, gaps and transitions, against those of 2,000 further patients of the same hospital."""
    nearness = figures(original, made)
    another = figures(original, shoal.example_tables(n=2000, seed=6))
    assert nearness["stays of a patient"] < 0.03
    assert nearness["values of a stay"] < 0.03
    assert nearness["dead"] < 0.02
    assert nearness.pop("lengths by five days") < 0.06, "drawn after the values, by what is left of the stay"
    for name, value in nearness.items():
        assert value < 1.5 * another[name] + 0.02, (name, nearness, another)
    stays = made["stays"].sort("admission")
    died = (
        made["patients"].drop_nulls("died").join(stays.group_by("patient").agg(pl.col("discharge").max()), on="patient")
    )
    assert (died["died"] == died["discharge"]).mean() > 0.95, (
        "in this hospital people die on the day of their discharge"
    )


def test_regressions_draw_persons_too(original: Tables) -> None:
    """Numbers of rows are near where the scale is that of quantiles; rules hold as for trees."""
    few = {**original, "patients": original["patients"].with_columns(area=pl.col("area").str.head(3))}
    plan = changed(
        synthesis={**HOSPITAL["synthesis"], "replace": {"method": "sequential-regression", "marginals": "quantile"}}
    )
    described = LinkedPlan.of(plan)
    assert LinkedPlan.of(described.as_mapping()).as_mapping() == described.as_mapping()
    release = shoal.protect(few, plan, seed=1)
    nearness = figures(few, release.to_frames())
    assert max(nearness[name] for name in ("stays of a patient", "values of a stay", "dead")) < 0.1
    assert nearness["gaps by tens of days"] < 0.1
    assert nearness["transitions"] < 0.25
    test_no_row_is_out_of_order(release.to_frames())
    if NIGHT:
        assert release.to_frames()["stays"].equals(shoal.protect(few, described, seed=1).to_frames()["stays"])


def test_nothing_of_the_original_but_what_trees_give(folder: Path, original: Tables) -> None:
    public = "".join(path.read_text() for path in (folder / "release").rglob("*") if path.is_file())
    assert not [key for key in original["patients"]["patient"].to_list() if str(key) in public]
    assert not [key for key in original["stays"]["stay"].to_list() if str(key) in public]
    content = json.loads((folder / "release/evidence.json").read_text())
    assert len(content["made anew"]) == 10
    copies, *rules, linked = content["requirements"]
    assert "All are made up, so that no row is anybody's." in linked["sentence"]
    assert copies["achieved"] is None, "how many are copied is private"
    assert [rule["requirement"] for rule in rules] == HOSPITAL["constraints"]
    assert [rule["achieved"] for rule in rules] == [0] * 4
    assert "every quasi-identifier was made anew, so that no record stands for a person" in public
    assert content["classes"] == []
    numbers = [len(table) for name, table in original.items() if name != "patients"]
    assert not any(f"{number:,}" in public for number in numbers), "numbers of the original's rows"
    private = json.loads((folder / "private/evidence.json").read_text())
    assert "whom nobody else resembles in all cells of all rows" in private["measures"][0]["sentence"]


@pytest.mark.usefixtures("without_pages")
def test_the_same_bytes_for_the_same_seed(folder: Path, original: Tables, tmp_path: Path) -> None:
    again = shoal.protect(original, LinkedPlan.of(HOSPITAL), seed=1)
    for name, frame in again.to_frames().items():
        frame.write_csv(tmp_path / f"{name}.csv")
        assert (tmp_path / f"{name}.csv").read_bytes() == (folder / f"release/{name}.csv").read_bytes()
    other = shoal.protect(original, HOSPITAL, seed=2).to_frames()
    assert not other["stays"].equals(again.to_frames()["stays"])


def test_a_released_folder_is_judged_by_its_rules(folder: Path, made: Tables) -> None:
    rules = changed(requirements=[])
    assert shoal.audit(folder / "release", rules).holds
    late = made["stays"].with_columns(discharge=pl.col("admission").dt.offset_by("-1d"))
    verdicts = {v.requirement: v for v in shoal.audit({**made, "stays": late}, rules).verdicts}
    broken = verdicts["stays.admission <= stays.discharge"]
    assert (broken.holds, broken.achieved) == (False, len(late))
    assert not shoal.audit(made, HOSPITAL).holds, "how many are copied cannot be told without the original"


def coarse(n: int, seed: int) -> Tables:
    """A registry with so few columns that many persons are alike, and some are copied by chance."""
    rng = np.random.default_rng(seed)
    above = np.repeat(np.arange(n), rng.choice([0, 1, 2, 4], n, p=[0.2, 0.4, 0.3, 0.1]))
    people = pl.DataFrame({"id": np.arange(n), "sex": rng.choice(["f", "m"], n), "decade": rng.integers(3, 9, n) * 10})
    visits = pl.DataFrame(
        {"id": above, "ward": rng.choice(list("abcd"), len(above)), "icu": rng.choice(["y", "n"], len(above))}
    )
    return {"people": people, "visits": visits}


COARSE: dict[str, Any] = {
    "tables": {
        "people": {"key": "id", "columns": {"sex": KNOWN, "decade": {"role": KNOWN, "level": "nominal"}}},
        "visits": {"parent": "people", "columns": {"ward": KNOWN, "icu": SECRET}},
    },
    "synthesis": {"replace": "cart"},
}


def profiles(tables: Tables, columns: list[str]) -> list[Any]:
    """Everybody's row and rows, as a naive reader compares them."""
    rows: dict[Any, list[Any]] = {key: [] for key in tables["people"]["id"].to_list()}
    for row in tables["visits"].iter_rows(named=True):
        rows[row["id"]].append(tuple(row[c] for c in columns))
    return [
        (sex, decade, tuple(sorted(rows[key])))
        for key, sex, decade in tables["people"].select("id", "sex", "decade").rows()
    ]


@pytest.mark.parametrize(
    ("risk", "columns"), [("unique-exact-matches", ["ward", "icu"]), ("replicated-uniques", ["ward"])]
)
def test_copies_of_persons_against_a_naive_count(risk: str, columns: list[str]) -> None:
    given = coarse(600, 3)
    release = shoal.protect(given, {**COARSE, "requirements": [{"risk": risk, "at most": 1}]}, seed=4, unproved=True)
    before, after = (profiles(t, columns) for t in (given, release.to_frames()))
    alone = {profile for profile, count in Counter(before).items() if count == 1}
    if risk == "unique-exact-matches":
        expected = len(alone & set(after)) / len(alone)
        assert release.evidence.findings[0].value == pytest.approx(expected)
    else:
        lone = {profile for profile, count in Counter(after).items() if count == 1}
        expected = len(alone & lone) / 600
    assert expected > 0.02
    assert release.evidence.verdicts[0].achieved == pytest.approx(expected)
    with pytest.raises(Refused, match=r"of persons, over 'people', 'visits' at most 0\.001 does not hold"):
        shoal.protect(given, {**COARSE, "requirements": [{"risk": risk, "at most": 0.001}]}, seed=4)


def test_whoever_was_not_there_is_met_as_often() -> None:
    """An attack: unique persons of the original stand in the release little more often than unique strangers do."""
    met, strangers = [], []
    for seed in range(3):
        given, others = coarse(800, seed), coarse(800, 100 + seed)
        released = set(profiles(shoal.protect(given, COARSE, seed=seed, unproved=True).to_frames(), ["ward", "icu"]))
        for tables, rates in ((given, met), (others, strangers)):
            alone = [p for p, count in Counter(profiles(tables, ["ward", "icu"])).items() if count == 1]
            rates.append(sum(profile in released for profile in alone) / len(alone))
    assert np.mean(met) - np.mean(strangers) < 0.08, (met, strangers)
    assert np.mean(strangers) > 0.2, "with so few columns many are met by chance"


def test_whoever_has_very_many_rows_is_not_given_back() -> None:
    """One patient has 300 stays, all with a value that only this one has."""
    given = coarse(400, 7)
    worth = np.round(np.random.default_rng(0).lognormal(3, 1, len(given["visits"])), 2)
    visits = given["visits"].with_columns(worth=pl.Series(worth))
    many = pl.DataFrame({"id": [5] * 300, "ward": ["a"] * 300, "icu": ["y"] * 300, "worth": [777.77] * 300})
    plan = {**COARSE, "tables": {**COARSE["tables"]}}
    plan["tables"]["visits"] = {"parent": "people", "columns": {"ward": KNOWN, "icu": SECRET, "worth": SECRET}}
    released = shoal.protect({**given, "visits": pl.concat([visits, many])}, plan, seed=1, unproved=True).to_frames()
    assert 777.77 not in released["visits"]["worth"].to_list()
    assert max(Counter(released["visits"]["id"].to_list()).values()) < 100


def test_steps_come_after_and_keys_may_stay() -> None:
    given = coarse(500, 1)
    plan = {**COARSE, "release_keys": False, "for": "research", "tables": {**COARSE["tables"]}}
    plan["tables"]["visits"] = {
        **COARSE["tables"]["visits"],
        "steps": [{"mask": "recode", "columns": ["ward"], "groups": {"ab": ["a", "b"], "cd": ["c", "d"]}}],
    }
    described = LinkedPlan.of(plan)
    assert [len(of.steps) for of in described.tables.values()] == [1, 2]
    assert [model.as_spec()["at most"] for model in described.bounds] == [0.05], "as usual for research"
    assert described.bounds[0].method_name == "replicated-uniques"
    assert not any(of.requirements for of in described.tables.values())
    assert LinkedPlan.of(described.as_mapping()).as_mapping() == described.as_mapping()
    assert (
        "steps" not in described.as_mapping()["tables"]["people"]
        or not described.as_mapping()["tables"]["people"]["steps"]
    )
    plan.pop("for")
    released = shoal.protect(given, plan, seed=1, unproved=True).to_frames()
    assert [table.columns for table in released.values()] == [["sex", "decade"], ["ward", "icu"]]
    assert set(released["visits"]["ward"]) == {"ab", "cd"}


def test_missing_cells_and_rows_that_are_dropped() -> None:
    given = coarse(600, 2)
    lacking = np.arange(len(given["visits"])) % 4 == 0
    visits = given["visits"].with_columns(icu=pl.when(pl.Series(lacking)).then(None).otherwise(pl.col("icu")))
    sexes = pl.when(pl.col("id") % 10 == 0).then(None).otherwise(pl.col("sex"))
    plan = {**COARSE, "tables": {**COARSE["tables"]}}
    plan["tables"]["people"] = {"key": "id", "columns": {"sex": {"role": KNOWN, "missing": "drop"}, "decade": KNOWN}}
    plan["tables"]["visits"] = {
        "parent": "people",
        "columns": {"ward": KNOWN, "icu": {"role": SECRET, "missing": "keep"}},
    }
    released = shoal.protect(
        {"people": given["people"].with_columns(sex=sexes), "visits": visits}, plan, seed=1, unproved=True
    ).to_frames()
    assert len(released["people"]) == 540, "as many as are left"
    assert released["visits"]["icu"].is_null().mean() == pytest.approx(0.25, abs=0.05)


def test_other_rules_are_judged_when_rows_are_made_up(tmp_path: Path) -> None:
    """Up to six visits a person in the original, and bills that are the sums of costs, which are drawn apart."""
    given = coarse(600, 5)
    cost = pl.Series("cost", np.random.default_rng(1).integers(1, 60, len(given["visits"])))
    visits = given["visits"].with_columns(cost)
    bills = given["people"].join(visits.group_by("id").agg(pl.col("cost").sum().alias("bill")), on="id", how="left")
    plan = {**COARSE, "tables": {**COARSE["tables"]}, "constraints": ["sum(visits.cost) == people.bill"]}
    plan["tables"]["people"] = {"key": "id", "columns": {"sex": KNOWN, "decade": KNOWN, "bill": SECRET}}
    plan["tables"]["visits"] = {
        "parent": "people",
        "columns": {"ward": KNOWN, "icu": SECRET, "cost": SECRET},
        "constraints": ["count() <= 4"],
    }
    tables = {"people": bills.with_columns(pl.col("bill").fill_null(0)), "visits": visits}
    released = shoal.protect(tables, plan, tmp_path / "out", seed=1, unproved=True)
    assert [v.holds for v in released.evidence.verdicts if v.requirement == plan["constraints"][0]] == [True]
    files = {name: pl.read_csv(tmp_path / f"out/release/{name}.csv") for name in tables}
    sums = dict(files["visits"].group_by("id").agg(pl.col("cost").sum()).iter_rows())
    assert files["people"]["bill"].to_list() == [sums.get(key, 0) for key in files["people"]["id"].to_list()]
    assert max(Counter(files["visits"]["id"].to_list()).values()) == 4
    never = {**plan, "constraints": ["repeats(visits.ward) == 0"]}
    with pytest.raises(DataError, match="persons break the rule"):
        shoal.protect(tables, never, seed=1, unproved=True)
    noted = {**plan, "constraints": {"rules": never["constraints"], "broken_rules": "report"}}
    with pytest.raises(Refused, match="persons break the rule 'repeats"):
        shoal.protect(tables, noted, seed=1, unproved=True)


@pytest.mark.usefixtures("without_pages")
def test_rules_hold_after_steps_that_move_what_they_bound(original: Tables, tmp_path: Path) -> None:
    """Discharges are drawn anew among all stays; those before their admission, or after a death, are moved back."""
    stays = {**HOSPITAL["tables"]["stays"], "steps": [{"mask": "permute", "columns": ["discharge"]}]}
    rules = ["stays.admission <= stays.discharge", "stays.discharge <= patients.died"]
    plan = changed(tables={**HOSPITAL["tables"], "stays": stays}, constraints=rules)
    shoal.protect(original, plan, tmp_path / "out", seed=1)
    files = {n: pl.read_csv(tmp_path / f"out/release/{n}.csv", try_parse_dates=True) for n in NAMES}
    joined = files["stays"].join(files["patients"], on="patient")
    assert not len(joined.filter(pl.col("admission") > pl.col("discharge")))
    assert not len(joined.filter(pl.col("discharge") > pl.col("died")))


def refusals() -> Iterator[tuple[dict[str, Any], str]]:
    k5 = {"privacy": "k-anonymity", "k": 5}
    stays = HOSPITAL["tables"]["stays"]

    def with_stays(**more: Any) -> dict[str, Any]:
        return changed(tables={**HOSPITAL["tables"], "stays": {**stays, **more}})

    yield changed(requirements=[k5]), "k-anonymity counts persons or records that are alike, and where all are made up"
    yield with_stays(requirements=[k5]), "table 'stays': requirements 1: k-anonymity counts persons"
    yield changed(suppress_persons=0.1), "suppress_persons is for persons who are released; none is"
    yield changed(output={"copies": 0}), "copies must be a whole number from 1 to 1,000; got 0"
    yield (
        {name: content for name, content in changed(output={"copies": 3}).items() if name != "synthesis"},
        "copies must be 1 where people's rows are released",
    )
    yield changed(synthesis="cart"), "synthesis must be a mapping"
    yield changed(synthesis={"order": {"stays": "admission"}}), "replace must name the method that draws"
    yield changed(synthesis={"replace": "normal"}), "Persons with their rows are drawn by cart, forest or"
    yield changed(synthesis={"replace": "kart"}), "unknown"
    yield changed(synthesis={"replace": {"method": "cart", "min_leaf": 3}}), "min_leaf must be at least 10 persons"
    yield (
        changed(synthesis={"replace": {"method": "cart", "given": ["sex"]}}),
        "leave out 'given', which is for one table",
    )
    yield changed(synthesis={"replace": "cart", "orders": {}}), "unknown key 'orders'"
    yield changed(synthesis={"replace": "cart", "order": ["stays"]}), "order must be a mapping of tables to a column"
    yield changed(synthesis={"replace": "cart", "order": {"stays": ["a", "b"]}}), "a mapping of tables to a column"
    yield changed(synthesis={"replace": "cart", "rules": []}), "unknown key 'rules'"
    yield changed(constraints=["patients.household <= patients.born"]), "no such column that is made up"
    yield changed(constraints=["stays.discharge <= stays.admission <= stays.discharge"]), "in a circle through"
    yield with_stays(columns={"*": SECRET}), "synthesis needs every column by its name"
    yield with_stays(columns={"admission": "stratum", "discharge": SECRET}), "keeps records together or apart"
    yield (
        with_stays(steps=[{"mask": "shift-dates", "columns": ["admission"], "most": 9}]),
        "hides what is made up anyway",
    )
    yield {**with_stays(columns={"admission": "identifier"}), "constraints": []}, "no column is left that could be made"
    yield changed(requirements=[{"risk": "suda2", "at most": 0.1}]), "is measured table by table"
    yield changed(requirements=[{"risk": "prosecutor", "at most": 0.1}]), "prosecutor counts persons or records that"
    yield changed(measures=[{"risk": "marketer"}]), "marketer counts persons or records that are alike"
    yield changed(requirements=[{"risk": "replicated-uniques", "columns": ["sex"], "at most": 0.1}]), "takes no columns"


@pytest.mark.parametrize(("plan", "sentence"), list(refusals()), ids=[sentence for _, sentence in refusals()])
def test_what_is_refused_before_a_row_is_read(plan: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PlanError) as refused:
        LinkedPlan.of(plan)
    assert sentence.lower() in str(refused.value).lower()


def test_tables_that_cannot_be_made_up(original: Tables) -> None:
    early = original["stays"].with_columns(discharge=pl.col("admission").dt.offset_by("-1d"))
    with pytest.raises(DataError, match=r"The table breaks its own rules: \d,\d+ records break the rule 'stays\.adm"):
        shoal.protect({**original, "stays": early}, HOSPITAL, seed=1)
    noted = changed(constraints={"rules": HOSPITAL["constraints"], "broken_rules": "report"})
    with pytest.raises(DataError, match=r"\d,\d+ rows of the original break 'stays\.admission <= stays\.discharge'"):
        shoal.protect({**original, "stays": early}, noted, seed=1)
    with pytest.raises(DataError, match="only 4 persons have rows in 'visits', and at least 10 must"):
        few = coarse(600, 3)
        shoal.protect({**few, "visits": few["visits"].unique("id").head(4)}, COARSE, seed=1)


def in_copies(copies: int, **sections: Any) -> dict[str, Any]:
    return {**COARSE, "output": {"copies": copies}, **sections}


@pytest.mark.usefixtures("without_pages")
def test_copies_of_all_tables_and_whom_any_gives_back(tmp_path: Path) -> None:
    """Recounted from the files alone: rows hang together in each copy, and unique persons count over all of them."""
    given, most = coarse(150, 3), {"risk": "unique-exact-matches", "at most": 0.99}
    described = LinkedPlan.of(in_copies(3, requirements=[most]))
    assert described.copies == 3
    assert LinkedPlan.of(described.as_mapping()).as_mapping() == described.as_mapping()
    release = shoal.protect(given, described, tmp_path / "out", seed=4, unproved=True)
    assert len(release.copies) == 3
    assert len({copy.account.seed for copy in release.copies}) == 3
    folders = [tmp_path / f"out/release/copies/{number}" for number in (1, 2, 3)]
    files = [{name: pl.read_csv(folder / f"{name}.csv") for name in given} for folder in folders]
    assert not (tmp_path / "out/release/people.csv").exists()
    alone = {p for p, count in Counter(profiles(given, ["ward", "icu"])).items() if count == 1}
    met = [alone & set(profiles(tables, ["ward", "icu"])) for tables in files]
    content = json.loads((tmp_path / "out/release/evidence.json").read_text())
    assert (content["copies"], len(content["sha256"])) == (3, 6)
    private = json.loads((tmp_path / "out/private/evidence.json").read_text())
    own, together = private["requirements"][:2]
    assert own["achieved"] == pytest.approx(len(met[0]) / len(alone))
    assert together["requirement"] == (
        "Unique records that stand in the release, of persons, in any copy, over 'people', 'visits' at most 0.99"
    )
    assert together["achieved"] == pytest.approx(len(set.union(*met)) / len(alone))
    assert together["achieved"] > own["achieved"] + 0.02
    for tables, copy in zip(files, release.copies, strict=True):
        assert sorted(tables["people"]["id"]) == list(range(1, 151))
        assert tables["visits"]["id"].is_in(tables["people"]["id"].implode()).all()
        assert {name: table.equals(copy.to_frames()[name]) for name, table in tables.items()} == dict.fromkeys(
            given, True
        )
    between = (own["achieved"] + together["achieved"]) / 2
    with pytest.raises(Refused, match=r"in any copy, over 'people', 'visits' at most .* does not hold"):
        shoal.protect(given, in_copies(3, requirements=[{**most, "at most": between}]), seed=4)


def test_uniques_replicated_in_any_copy() -> None:
    """By quasi-identifiers a person must be alone in a copy as well."""
    given = coarse(300, 5)
    bound = {"risk": "replicated-uniques", "at most": 0.9}
    release = shoal.protect(given, in_copies(2, requirements=[bound]), seed=2, unproved=True)
    before, *after = (Counter(profiles(t, ["ward"])) for t in (given, *(copy.to_frames() for copy in release.copies)))
    alone, *lone = ({profile for profile, count in counts.items() if count == 1} for counts in (before, *after))
    assert release.evidence.verdicts[1].achieved == pytest.approx(len(alone & set.union(*lone)) / 300)
    assert len(alone & set.union(*lone)) > len(alone & lone[0])


def test_nothing_links_a_copy_with_another() -> None:
    """An attack: persons with the same key, or in the same place, are as unlike as any two persons."""
    few = coarse(400, 9)
    made = shoal.protect(few, in_copies(3), seed=1, unproved=True)
    one, other, _ = (copy.to_frames() for copy in made.copies)
    keyed = [dict(zip(t["people"]["id"].to_list(), profiles(t, ["ward", "icu"]), strict=True)) for t in (one, other)]
    alike = sum(keyed[0][key] == keyed[1][key] for key in keyed[0])
    placed = sum(a == b for a, b in zip(*(profiles(t, ["ward", "icu"]) for t in (one, other)), strict=True))
    shares = [Counter(of.values()) for of in keyed]
    expected = sum(shares[0][p] * shares[1][p] for p in shares[0]) / 400
    assert abs(alike - expected) < 5 * expected**0.5, (alike, expected)
    assert abs(placed - expected) < 5 * expected**0.5, (placed, expected)
    assert len({len(copy.data["visits"]) for copy in made.copies}) > 1, "how many rows there are is drawn anew"


def test_a_copy_may_have_numbers_that_are_all_whole(tmp_path: Path) -> None:
    """All copies of a column have one type, also where every cell of one is whole."""
    given = coarse(120, 4)
    n = len(given["visits"])
    doses = [0.5 if place % (n // 6) == 1 else float(1 + place % 3) for place in range(n)]
    for name, table in {**given, "visits": given["visits"].with_columns(pl.Series("dose", doses))}.items():
        table.write_csv(tmp_path / f"{name}.csv")
    visits = {"parent": "people", "columns": {"ward": KNOWN, "icu": SECRET, "dose": SECRET}}
    plan = in_copies(3, tables={**COARSE["tables"], "visits": visits})
    cells = [copy.data["visits"]["dose"] for copy in shoal.protect(tmp_path, plan, seed=4, unproved=True).copies]
    assert [bool((own % 1 == 0).all()) for own in cells] == [False, True, False]
    assert {str(own.dtype) for own in cells} == {"Float64"}
