"""An identifier that repeats: what counts records says so before anything else, and a plan may count its values."""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import runner
from shoal.privacy.k_anonymity import KAnonymity
from shoal.vocabulary.errors import DataError, ParameterError, PlanError, Refused

COLUMNS: dict[str, Any] = {
    "patient": "identifier",
    "age": "quasi-identifier",
    "area": {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"nested": {"n": ["a0", "a1"], "s": ["a2"]}}},
    "ill": "confidential",
}
K = {"privacy": "k-anonymity", "k": 3}
OF_PATIENTS = {**K, "unit": "patient"}
REQUIRED = {"method": "k-anonymity", "k": 3, "unit": "patient"}
PERSONS = 40


def visits(seed: int = 0, n: int = 120) -> pl.DataFrame:
    """Patients with one visit or several, of whom all have nearly the same age."""
    rng = np.random.default_rng(seed)
    patient = rng.permutation(np.concatenate([np.arange(PERSONS), rng.integers(0, PERSONS // 4, n - PERSONS)]))
    age, area = rng.integers(20, 90, PERSONS), rng.integers(0, 3, PERSONS)
    return pl.DataFrame(
        {
            "patient": [f"P{number:02}" for number in patient],
            "age": age[patient],
            "area": [f"a{number}" for number in area[patient]],
            "ill": rng.choice(["flu", "gout"], n),
        }
    )


def plan(*requirements: Any, **step: Any) -> dict[str, Any]:
    steps = [step or {"partition": "mdav", "k": 3, "columns": ["age"], "by": ["age", "area"]}]
    columns = COLUMNS if "mask" in step else {**COLUMNS, "area": "other"}
    return {"columns": columns, "steps": steps, "requirements": list(requirements) or [K]}


def patients_of_classes(out: Path, table: pl.DataFrame, keys: tuple[str, ...]) -> list[set[str]]:
    """The patients of each class, from the released file and the rows that the private folder has."""
    released = pl.read_csv(out / "release" / "data.csv", infer_schema=False)
    rows = pl.read_parquet(out / "private" / "partition.parquet")["row"].to_list()
    classes = defaultdict(set)
    for cells, row in zip(released.select(keys).rows(), rows, strict=True):
        classes[cells].add(table["patient"][row])
    return list(classes.values())


def test_it_is_said_before_anything_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = visits()
    table.write_csv(tmp_path / "visits.csv")
    described = plan(K, {"privacy": "t-closeness", "t": 0.99})
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(described).as_yaml())
    run = runner(monkeypatch, capsys)
    files = (tmp_path / "visits.csv", "--plan", tmp_path / "plan.yaml", "--out", tmp_path / "out")
    _, text, _ = run("protect", *files, "--seed", 1)
    few = [len(persons) for persons in patients_of_classes(tmp_path / "out", table, ("age",))]
    assert min(few) < 3, "or nothing is shown by this"
    small = sum(size < 3 for size in few)
    sentence = (
        f"3-anonymity, 0.99-closeness (distinct) of records; counted in values of 'patient' the smallest group is "
        f"{min(few)} (40 values in 120 records; {small} of {len(few)} groups have fewer than 3). "
        "Give it the role person if it numbers persons: promises then count them."
    )
    _, first, *others = text.splitlines()  # after what was read
    assert first == f"records   {sentence}"
    proved = [line for line in others if line.startswith("proved")]
    assert len(proved) == 2 and all("This is of records, not of values of 'patient'." in line for line in proved)
    printed = shoal.protect(table, described, seed=1).evidence.as_mapping()  # with --json, and in record.json
    for content in (printed, json.loads((tmp_path / "out/private/evidence.json").read_text())):
        (one,) = content["of records"]
        assert one["sentence"] == sentence
        assert (one["values"], one["records"], one["smallest"]) == (PERSONS, 120, min(few))
        assert (one["groups"], one["few"], one["k"]) == (len(few), small, 3)
    page = (tmp_path / "out/private/report.html").read_text()
    card = page[page.index('<div class="decision') : page.index('<dl class="headlines">')]
    assert 'class="decision open"' in card
    assert re.findall(r"<dd>(.*?)</dd>", card)[0] == sentence.replace("'", "&#39;")


def test_the_public_is_told_in_a_band_that_nobody_moves(tmp_path: Path) -> None:
    """How many patients a class has is no function of the release: of the original it tells of in bands, or not."""
    sentences = []
    for n, rows in (("all", slice(None)), ("without the first", slice(1, None))):
        out = shoal.protect(visits()[rows], plan(), seed=1).write(tmp_path / n)
        content = json.loads((out / "release" / "evidence.json").read_text())
        sentences += [one["sentence"] for one in content["of records"]]
        assert all(set(one) == {"identifier", "sentence", "promises"} for one in content["of records"])
        assert sentences[-1].replace("'", "&#39;") in (out / "release" / "report.html").read_text()
    expected = "3-anonymity of records, not of values of 'patient': at least 50 records of the original repeat one."
    assert sentences == [expected] * 2
    once = visits().unique("patient", maintain_order=True)
    twice = pl.concat([once, once[:1]])
    for table in (once, twice):  # one record more says nothing to the public
        out = shoal.protect(table, plan(), seed=1).write(tmp_path / f"{len(table)}")
        assert json.loads((out / "release" / "evidence.json").read_text())["of records"] == []
        assert len(shoal.protect(table, plan(), seed=1).evidence.of_records) == (table is twice)


@pytest.mark.parametrize(
    "step",
    [
        {"partition": "mdav", "k": 3, "unit": "patient", "columns": ["age"]},
        {"partition": "refined", "k": 3, "start": "mdav", "unit": "patient", "columns": ["age"], "moves": 1000},
        {"mask": "generalise", "k": 3, "columns": ["area"], "requirements": [REQUIRED], "suppression": 0.5},
        {"mask": "suppress-records", "k": 3, "limit": 1, "columns": ["area"], "requirements": [REQUIRED]},
        {"mask": "suppress", "k": 3, "missing": "equal", "columns": ["area"], "requirements": [REQUIRED]},
    ],
    ids=lambda step: next(name for kind, name in step.items() if kind in ("partition", "mask")),
)
def test_groups_hold_as_many_patients(step: dict[str, Any], tmp_path: Path) -> None:
    masked = "mask" in step
    columns = {**COLUMNS, "age": "confidential"} if masked else {**COLUMNS, "area": "other"}
    table = visits(seed=4).filter(pl.col("area") != "a2") if masked else visits(seed=4)
    lonely = table.with_columns(area=pl.when(pl.col("patient") == "P01").then(pl.lit("a2")).otherwise("area"))
    table = lonely if masked else table  # one patient alone in an area, with several visits
    described = {"columns": columns, "steps": [step], "requirements": [OF_PATIENTS, K], "accept": ["age", "area"]}
    out = shoal.protect(table, described, seed=1).write(tmp_path / "out")
    classes = patients_of_classes(out, table, ("area",) if masked else ("age",))
    assert min(map(len, classes)) >= 3
    without = {key: said for key, said in step.items() if key not in ("unit", "requirements")}
    with pytest.raises(Refused, match="3-anonymity of values of 'patient' does not hold") as refused:
        shoal.protect(table, {**described, "steps": [without]}, seed=1)
    remedies = " ".join(one.remedy for one in refused.value.advice)
    assert ("Say unit: patient in the step" in remedies) != masked
    assert "under the step's requirements" in remedies


def test_an_audit_counts_where_it_is_known_whose_records_are_whose(tmp_path: Path) -> None:
    table = visits()
    described = plan(OF_PATIENTS, partition="mdav", k=3, unit="patient", columns=["age"])
    out = shoal.protect(table, described, seed=1).write(tmp_path / "out")
    file, private = out / "release" / "data.csv", out / "private"
    (alone,) = shoal.audit(file, described).verdicts
    assert (alone.holds, alone.achieved) == (False, None)
    assert alone.sentence.startswith("The table has no column 'patient', and it is not known which original record")
    recorded = shoal.audit(file, described, private=private).verdicts[0]
    both = shoal.audit(file, described, private=private, original=table).verdicts[0]
    fewest = min(map(len, patients_of_classes(out, table, ("age",))))
    assert recorded.holds and both.holds and recorded.achieved == both.achieved == fewest
    public = json.loads((out / "release" / "evidence.json").read_text())["requirements"][0]
    assert (public["achieved"], public["sentence"]) == (None, "It was proved on the released table.")
    assert set(public["facts"]) == {"classes"}


def test_a_pseudonym_that_is_released_is_counted(tmp_path: Path) -> None:
    step = {"partition": "mdav", "k": 3, "unit": "patient", "columns": ["age"]}
    described = {**plan(OF_PATIENTS), "steps": [step, {"mask": "pseudonymise"}]}
    out = shoal.protect(visits(), described, seed=1).write(tmp_path / "out")
    assert shoal.audit(out / "release" / "data.csv", described).holds
    merged = pl.read_csv(out / "release" / "data.csv").with_columns(patient=pl.lit("0" * 20))
    assert not shoal.audit(merged, described).verdicts[0].holds


def test_bands_do_not_tell_that_somebody_with_many_records_was_left_out(tmp_path: Path) -> None:
    """The same records are released without Eve and with her ninety, which no requirement lets stay."""
    of_persons = {"privacy": "k-anonymity", "k": 2, "unit": "person", "knowing": "all records"}
    described = {
        "columns": {
            "person": "person",
            "sex": {"role": "quasi-identifier", "level": "nominal"},
            "pay": {"role": "confidential", "level": "continuous"},
        },
        "steps": [{"mask": "suppress-records", "k": 2, "requirements": [of_persons], "limit": 1}],
        "requirements": [of_persons],
        "accept": ["pay"],
    }
    shown = []
    for n in (0, 90):
        persons = [f"p{i}" for i in [*range(60)] * 2] + ["Eve"] * n
        cells = {"person": persons, "sex": ["f", "m"] * 60 + ["x"] * n, "pay": [i % 40 for i in range(120 + n)]}
        out = shoal.protect(pl.DataFrame(cells), described, seed=1).write(tmp_path / str(n))
        shown.append(json.loads((out / "release" / "evidence.json").read_text()))
    assert shown[0] == shown[1]
    (repeated,) = shown[0]["of records"]
    assert repeated["sentence"] == (
        "Requirements count persons, measured risks count records: 60 records repeat a person."
    )
    assert '"at most"' not in json.dumps(shown[0])


def test_part_by_part_records_are_counted_and_it_is_said(tmp_path: Path) -> None:
    table = visits()
    table.write_parquet(tmp_path / "visits.parquet")
    release = shoal.protect(
        tmp_path / "visits.parquet", {**plan(), "exact": False}, tmp_path / "out", seed=1, workers=1
    )
    first = release.evidence.lines()[0]
    assert first == (
        "records   3-anonymity of records, not of values of 'patient': there are 40 values in 120 records. "
        "Give it the role person if it numbers persons: promises then count them."
    )
    assert release.evidence.verdicts[0].private_sentence.endswith("This is of records, not of values of 'patient'.")
    public = json.loads((tmp_path / "out/release/evidence.json").read_text())["of records"]
    assert [one["sentence"] for one in public] == [
        "3-anonymity of records, not of values of 'patient': at least 50 records of the original repeat one."
    ]
    grouped = plan(partition="mdav", k=3, unit="patient", columns=["age"])
    for described in ({**grouped, "requirements": [OF_PATIENTS]}, grouped):
        made = shoal.protect(tmp_path / "visits.parquet", {**described, "exact": False}, seed=1, workers=1)
        whole = shoal.protect(table, described, seed=1)
        assert made.evidence.verdicts == whole.evidence.verdicts


@pytest.mark.parametrize("partition", ["l-diverse", "tcloseness-first", "tcloseness-merge", "k-anonymity-first"])
def test_groups_under_a_further_requirement_hold_as_many_patients(partition: str, tmp_path: Path) -> None:
    more: dict[str, Any] = {"l": 1} if partition == "l-diverse" else {"t": 0.9}
    step = {"partition": partition, "k": 3, "unit": "patient", "columns": ["age"], **more}
    out = shoal.protect(visits(), plan(OF_PATIENTS, **step), seed=1).write(tmp_path / "out")
    assert min(map(len, patients_of_classes(out, visits(), ("age",)))) >= 3
    with pytest.raises(Refused, match="does not hold"):
        shoal.protect(visits(), plan(OF_PATIENTS, **{**step, "unit": "record"}), seed=1)


def test_what_cannot_be_counted_or_grouped_is_refused() -> None:
    for wrong in (plan({**K, "unit": "ill"}), plan({**K, "unit": "nobody"})):
        with pytest.raises(
            PlanError, match="requirements 1: unit must be record, person, household or a column with the role"
        ):
            shoal.Plan.of(wrong)
    with pytest.raises(PlanError, match="steps 1: unit must be"):
        shoal.Plan.of(plan(partition="mdav", k=3, unit="ill", columns=["age"]))
    with pytest.raises(ParameterError, match=r"the table has 40 values of 'patient'\); got 41"):
        shoal.protect(visits(), plan(partition="mdav", k=41, unit="patient", columns=["age"]), seed=1)
    table = visits().with_columns(patient=pl.when(pl.col("patient") == "P01").then(None).otherwise("patient"))
    with pytest.raises(
        DataError, match=r"Column 'patient' has .* missing values, so that whose these records are is not known"
    ):
        shoal.protect(table, plan(partition="mdav", k=3, unit="patient", columns=["age"]), seed=1)
    assert KAnonymity(k=2, unit="patient", missing="wildcard").check(visits()).achieved is None


def test_init_and_risk_name_it_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    visits().with_columns(patient=pl.col("patient") + "@example.org").rename({"patient": "mail"}).write_csv(
        tmp_path / "visits.csv"
    )
    run = runner(monkeypatch, capsys)
    _, text, _ = run("init", tmp_path / "visits.csv")
    assert "mail: 40 persons in 120 records." in text.splitlines()[2]
    (tmp_path / "plan.yaml").write_text(text)
    _, text, _ = run("risk", tmp_path / "visits.csv", "--plan", tmp_path / "plan.yaml")
    assert "\nrecords   mail: 40 persons in 120 records" in text
    _, text, _ = run("--json", "risk", tmp_path / "visits.csv", "--plan", tmp_path / "plan.yaml")
    assert json.loads(text)["persons"] == {"mail": {"persons": 40, "records": 120}}


@pytest.mark.parametrize("times", [pl.Date, pl.Datetime])
def test_a_day_that_is_left_out_numbers_no_persons(times: type[pl.DataType], tmp_path: Path) -> None:
    """Persons come in on one day, whole or part by part: that says nothing of how many records one of them has."""
    days = visits().with_columns(patient=pl.Series(np.arange(120) % 50).cast(pl.Int32).cast(pl.Date).cast(times))
    days.write_parquet(tmp_path / "days.parquet")
    described = plan()
    for release in (
        shoal.protect(days, described, seed=1),
        shoal.protect(tmp_path / "days.parquet", {**described, "exact": False}, tmp_path / "out", seed=1, workers=1),
    ):
        assert release.evidence.of_records == ()
        assert "of records" not in release.evidence.verdicts[0].private_sentence


@pytest.mark.parametrize("name", ["person", "household"])
def test_an_identifier_with_the_name_of_a_unit_is_named_too(name: str) -> None:
    described = plan()
    described["columns"] = {name: described["columns"]["patient"]} | {
        key: role for key, role in described["columns"].items() if key != "patient"
    }
    repeats = shoal.protect(visits().rename({"patient": name}), described, seed=1).evidence.of_records
    assert [(one.identifier, one.values) for one in repeats] == [(name, PERSONS)]


def test_released_pseudonyms_are_a_caution_where_less_is_taken_to_be_known() -> None:
    """The numbers of 'patient' tell which records belong together; class by class says nothing of all of them."""
    steps = [{"mask": "recode", "columns": ["age"], "width": 100}, {"mask": "pseudonymise", "columns": ["patient"]}]
    described = {**plan(OF_PATIENTS), "columns": COLUMNS, "steps": steps}
    caution = "but 'patient' is released and tells which records are one patient's"
    assert caution in " ".join(shoal.protect(visits(), described, seed=1).evidence.lines())
    hidden = {**described, "steps": steps[:1]}
    assert caution not in " ".join(shoal.protect(visits(), hidden, seed=1).evidence.lines())
