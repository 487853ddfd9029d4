"""Persons with several records, looked for by somebody who joins what was released, knowing some or all of theirs.

The joiner reads the released file and nothing else but whose its rows are. It shares no code with what it attacks.
"""

from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night, only_by_night
from naive import persons as naive
from shoal.vocabulary.errors import DataError, InputError, ParameterError, Refused

AREA = {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"nested": {"n": ["a0", "a1"], "s": ["a2", "a3"]}}}


def visits(patients: int, records: int, seed: int = 0) -> pl.DataFrame:
    """A hospital whose patients come once or several times, a little older each time, and at times from elsewhere."""
    rng = np.random.default_rng(seed)
    patient = np.concatenate([np.arange(patients), rng.integers(0, patients, records - patients)])
    patient = np.sort(patient)
    born, area = rng.integers(1930, 2010, patients), rng.integers(0, 4, patients)
    year = rng.integers(2015, 2023, records)
    moved = rng.random(records) < 0.1
    return pl.DataFrame(
        {
            "patient": [f"P{number:05}" for number in patient],
            "age": year - born[patient],
            "area": [f"a{n}" for n in np.where(moved, rng.integers(0, 4, records), area[patient])],
            "ill": rng.choice(["flu", "gout", "cough", "rash"], records),
        }
    )


def columns(*, key: bool) -> dict[str, Any]:
    return {
        "patient": {"role": "person", "release_key": key},
        "age": "quasi-identifier",
        "area": AREA,
        "ill": "confidential",
    }


def released(out: Path, table: pl.DataFrame) -> tuple[pl.DataFrame, list[Any]]:
    """The released file, and whose each of its rows is: as it says itself, or as the private folder does."""
    data = pl.read_csv(out / "release" / "data.csv", infer_schema=False)
    rows = pl.read_parquet(out / "private" / "partition.parquet")["row"].to_list()
    own = table["patient"][rows].to_list()
    if "patient" in data.columns:
        assert len(set(zip(own, data["patient"]))) == len(set(own)), "one number a person"
        assert set(data["patient"]) == {str(n + 1) for n in range(len(set(own)))}, "numbers of those released only"
    return data, own


def joined(data: pl.DataFrame, own: list[Any], knowing: Any) -> int:
    """The fewest persons among whom anybody is hidden whose one record, any m records or all records are known."""
    cells = list(zip(*(data[name].fill_null("") for name in ("age", "area")), strict=True))
    persons = defaultdict(Counter)
    for person, cell in zip(own, cells, strict=True):
        persons[person][cell] += 1
    if knowing == "all records":
        return min(Counter(tuple(sorted(cells.items())) for cells in persons.values()).values())
    m = 1 if knowing == "one record" else knowing
    groups: Counter[Any] = Counter()
    for cells_of in persons.values():
        every = sorted(cells_of.elements())
        groups.update({some for size in range(1, m + 1) for some in combinations(every, min(size, len(every)))})
    return min(groups.values())


def refused(table: pl.DataFrame, plan: dict[str, Any]) -> str:
    with pytest.raises(Refused) as error:
        shoal.protect(table, plan, seed=1)
    return str(error.value)


@pytest.mark.parametrize(
    ("patients", "records"), [(700, 1_671), pytest.param(7_000, 16_706, marks=only_by_night)], ids=["tenth", "all"]
)
def test_visits_of_patients(patients: int, records: int, tmp_path: Path) -> None:
    table = visits(patients, records)
    groups = {"partition": "mdav", "k": 5, "columns": ["age", "area"]}
    asked = {"privacy": "k-anonymity", "k": 5}
    plan = {"columns": columns(key=False), "steps": [{**groups, "unit": "record"}], "requirements": [asked]}
    sentence = refused(table, plan)
    assert f"of {patients:,} persons in {records:,} records are alike with fewer than 4 others" in sentence
    assert "stand alone." in sentence or "stands alone." in sentence
    out = shoal.protect(table, {**plan, "steps": [groups]}, seed=1).write(tmp_path / "hidden")
    data, own = released(out, table)
    assert "patient" not in data.columns and joined(data, own, "one record") >= 5

    with_key = {**plan, "columns": columns(key=True), "steps": [groups]}
    assert "To anyone who knows all of their records" in refused(table, with_key)
    wide = {**groups, "k": 40}
    for knowing in ("all records", 2):
        required = {**asked, "knowing": knowing}
        dropped = {
            "mask": "suppress-records",
            "k": 1,
            "limit": 0.6,
            "requirements": [{**required, "method": "k-anonymity"}],
        }
        dropped["requirements"][0].pop("privacy")
        step = {**with_key, "steps": [wide, dropped], "requirements": [required]}
        out = shoal.protect(table, step, seed=1).write(tmp_path / f"{knowing}")
        assert joined(*released(out, table), knowing) >= 5
        assert not any(f"P{number:05}" in (out / "release/data.csv").read_text() for number in range(0, patients, 97))


def test_six_people_of_two_rows_each(tmp_path: Path) -> None:
    """Every class has three people, and every person's pair of rows is one of a kind."""
    table = pl.DataFrame(
        {
            "patient": [f"P{n // 2}" for n in range(12)],
            "age": [20, 30, 20, 40, 20, 50, 30, 40, 30, 50, 40, 50],
            "area": ["a0"] * 12,
            "ill": ["flu", "gout"] * 6,
        }
    )
    plan: dict[str, Any] = {"columns": columns(key=True), "requirements": [{"privacy": "k-anonymity", "k": 3}]}
    sentence = refused(table, {**plan, "steps": []})
    assert "6 of 6 persons in 12 records are alike with fewer than 2 others; 6 stand alone." in sentence
    out = shoal.protect(table, {**plan, "steps": [{"partition": "mdav", "k": 3}]}, seed=1).write(tmp_path / "out")
    data, own = released(out, table)
    assert [joined(data, own, knowing) for knowing in ("one record", 1, 2, "all records")] == [3] * 4
    less = {**plan, "requirements": [{"privacy": "k-anonymity", "k": 3, "knowing": "one record"}], "steps": []}
    release = shoal.protect(table, less, seed=1)
    head = release.evidence.lines()[1]
    assert head.startswith("records   k-anonymity of persons, one record known: but 'patient' is released and tells")
    assert release.evidence.verdicts[0].holds


def test_a_column_that_tells_persons_apart_is_as_good_as_a_key() -> None:
    table = visits(60, 150).with_columns(ward=pl.col("patient").str.replace("P", "W"))
    plan = {
        "columns": {**columns(key=False), "ward": "other"},
        "steps": [{"partition": "mdav", "k": 5}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
        "accept": ["ward"],
    }
    assert "To anyone who knows all of their records" in refused(table, plan)
    one = {**plan, "requirements": [{"privacy": "k-anonymity", "k": 5, "knowing": "one record"}]}
    assert "but 'ward' is released and tells" in shoal.protect(table, one, seed=1).evidence.lines()[1]


PARTITIONS = ("mdav", "vmdav", "mu-approx", "k-anonymity-first", "tcloseness-merge", "l-diverse", "univariate")


def random_plan(rng: np.random.Generator) -> dict[str, Any]:
    """A plan of one or two steps, with requirements on persons that its steps may or may not reach."""
    k = int(rng.integers(2, 4))
    knowing = [None, "one record", "all records", 2, 3][rng.integers(5)]
    said = {} if knowing is None else {"knowing": knowing}
    required: list[dict[str, Any]] = [{"privacy": "k-anonymity", "k": k, **said}]
    further = [{"privacy": "l-diversity", "l": 1.5, "kind": "entropy"}, {"privacy": "l-diversity", "l": 2}]
    further += [{"privacy": "t-closeness", "t": 0.5}, {"privacy": "average-risk", "average": 0.4}]
    if rng.random() < 0.5:
        required.append({**further[rng.integers(len(further))], **said})
    inner = [{"method": "k-anonymity", "k": k, **said}]
    method = PARTITIONS[rng.integers(len(PARTITIONS))]
    more = {"tcloseness-merge": {"t": 0.5}, "k-anonymity-first": {"t": 0.5}, "l-diverse": {"l": 2}}.get(method, {})
    groups = {"partition": method, "k": k + int(rng.integers(3)), "columns": ["age"], **more}
    if method != "univariate" and rng.random() < 0.5:
        groups["columns"] = ["age", "area"]
    choices = [
        [groups],
        [groups, {"mask": "suppress-records", "k": 1, "limit": 0.9, "requirements": inner}],
        [{"mask": "truncate-records", "most": 1 + int(rng.integers(2))}, groups],
        [
            {"partition": "mdav", "k": k, "columns": ["age"]},
            {"mask": "generalise", "k": k, "columns": ["area"], "suppression": 0.5},
            {"mask": "suppress-records", "k": 1, "limit": 0.9, "requirements": inner},
        ],
        [
            {"partition": "mdav", "k": 2 * k, "columns": ["age"]},
            {"mask": "suppress", "k": k, "missing": "equal", "columns": ["area"], "requirements": inner},
        ],
    ]
    plan = {
        "columns": columns(key=bool(rng.random() < 0.5)),
        "steps": choices[rng.integers(len(choices))],
        "requirements": required,
    }
    return {**plan, "steps": [{"mask": "profiles", "k": k}]} if rng.random() < 0.2 else plan


def recounted(plan: dict[str, Any], data: pl.DataFrame, own: list[Any]) -> None:
    """Every promise of a plan, counted anew from what was released."""
    cells = zip(*(data[name].fill_null("") for name in ("age", "area")), strict=True)
    table = [{"p": p, "q": q, "c": c} for p, q, c in zip(own, cells, data["ill"], strict=True)]
    for required in plan["requirements"]:
        default = "all records" if plan["columns"]["patient"]["release_key"] else "one record"
        knowing = required.get("knowing", default)
        if required["privacy"] == "k-anonymity":
            assert joined(data, own, knowing) >= required["k"]
            continue
        groups = naive.groups(table, knowing)
        if required["privacy"] == "average-risk":
            assert naive.average_risk(table, knowing) <= required["average"] + 1e-9
        elif required["privacy"] == "t-closeness":
            assert max(naive.apart(group, table) for group in groups) <= required["t"] + 1e-9
        elif required.get("kind") == "entropy":
            assert min(naive.entropy(group) for group in groups) >= required["l"] - 1e-9
        else:
            assert min(naive.represented(group) for group in groups) >= required["l"]


def kept(seed: int, folder: Path) -> bool:
    """True if a random plan released a random table, whose promises were then counted anew."""
    rng = np.random.default_rng(seed)
    patients = int(rng.integers(4, 24))
    table = visits(patients, patients + int(rng.integers(0, 2 * patients)), seed)
    plan = random_plan(rng)
    try:
        out = shoal.protect(table, plan, seed=seed).write(folder / str(seed))
    except (Refused, ParameterError, DataError, InputError):
        return False
    recounted(plan, *released(out, table))
    return True


@pytest.mark.slow
def test_random_plans_keep_what_they_promise(tmp_path: Path) -> None:
    plans = by_night(20, 240)
    assert sum(kept(seed, tmp_path) for seed in range(plans)) >= plans // 5, "or nothing is shown by this"
