"""Recode, suppress, PRAM, rank swap and microaggregation in one plan on testdata: proved, reported, repeated."""

import json

import numpy as np
import pandas as pd
import pytest

import shoal
from by_night import by_night
from published.reference import reference
from shoal.vocabulary.errors import Refused

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "age"]


def plan(k=3, asked=3, pairs=5):
    nominal = {name: {"role": "quasi-identifier", "level": "nominal"} for name in KEYS if name != "age"}
    return {
        "columns": {
            **nominal,
            "age": "quasi-identifier",
            "hhcivil": {"role": "other", "level": "nominal"},
            "expend": "other",
            "income": "confidential",
            "savings": "confidential",
            "ori_hid": "identifier",
            "sampling_weight": "weight",
            "household_weights": "other",
        },
        "steps": [
            {"mask": "recode", "columns": ["age"], "cuts": [15, 30, 45, 60]},
            {"mask": "suppress", "columns": KEYS, "k": k, "importance": {"age": 2, "sex": 3}},
            {"mask": "pram", "columns": ["hhcivil"], "diagonal": 0.8},
            {"mask": "rank-swap", "columns": ["expend"], "p": 0.05},
            {"partition": "mdav", "k": pairs, "columns": ["income", "savings"]},
        ],
        "requirements": [
            {"privacy": "k-anonymity", "k": asked, "columns": KEYS, "missing": "wildcard"},
            {"privacy": "k-anonymity", "k": 5, "columns": ["income", "savings"]},
        ],
    }


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(reference("testdata.csv")).head(by_night(700, 4_580))


def least_matches(frame):
    x = np.column_stack([pd.factorize(frame[name])[0] for name in KEYS])  # -1 for missing
    return min(int(((x == row) | (x < 0) | (row < 0)).all(axis=1).sum()) for row in np.unique(x, axis=0))


@pytest.mark.slow
def test_proved_reported_and_repeated_from_the_record(table, tmp_path):
    release = shoal.protect(table, plan(), seed=7)
    first = release.write(tmp_path / "one")
    released = pd.read_csv(first / "release" / "data.csv")
    assert least_matches(released) >= 3
    assert released.groupby(["income", "savings"]).size().min() >= 5
    assert sorted(released["expend"]) == sorted(table["expend"])
    assert 0.02 < (released["hhcivil"] != table["hhcivil"].to_numpy()[release.rows]).mean() < 0.2
    assert "ori_hid" not in released
    assert released["age"].dropna().isin(["< 15", "[15, 30)", "[30, 45)", "[45, 60)", ">= 60"]).all()

    record = json.loads((first / "private" / "record.json").read_text())
    again = shoal.protect(table, record["plan"], seed=record["seed"]).write(tmp_path / "two")
    for name in ("data.csv", "codebook.json", "evidence.json", "report.html"):
        assert (first / "release" / name).read_bytes() == (again / "release" / name).read_bytes()
    suppressed = next(s for s in record["steps"] if s["step"] == "suppress")
    blanked = sum(int(released[name].isna().sum()) for name in KEYS)
    assert suppressed["cells suppressed"] == blanked
    assert "wildcard" in (first / "release" / "evidence.json").read_text()
    evidence = shoal.audit(released, record["plan"])
    assert evidence.holds


@pytest.mark.slow
def test_refused_where_a_step_falls_short(table, tmp_path):
    with pytest.raises(Refused, match=r"4-anonymity on urbrur, roof, .* does not hold"):
        shoal.protect(table, plan(k=2, asked=4), seed=7)


def people():
    return pd.DataFrame({"name": ["Ann", "Bob", "Cem", "Dan"], "age": [30, 40, 50, 60], "pay": [1.0, 2.0, 3.0, 4.0]})


def test_pseudonyms_stay_and_identifiers_go():
    columns = {"name": "identifier", "age": "other", "pay": "other"}
    key = "00112233445566778899aabbccddeeff"
    kept = shoal.protect(people(), {"columns": columns, "steps": [{"mask": "pseudonymise", "key": key}]}, seed=1).data
    again = shoal.protect(people()[::-1], {"columns": columns, "steps": [{"mask": "pseudonymise", "key": key}]}, seed=2)
    assert sorted(kept["name"]) == sorted(again.data["name"])
    assert not set(kept["name"]) & set(people()["name"])
    anonymous = shoal.protect(people(), {"columns": columns, "steps": [{"mask": "remove-identifiers"}]}, seed=1).data
    assert list(anonymous.columns) == ["age", "pay"]


def test_a_key_in_the_plan_is_not_published(tmp_path):
    key = "00112233445566778899aabbccddeeff"
    columns = {"name": "identifier", "age": "other", "pay": "other"}
    out = shoal.protect(people(), {"columns": columns, "steps": [{"mask": "pseudonymise", "key": key}]}, seed=1).write(
        tmp_path / "out", unproved=True
    )
    assert not any(key.encode() in path.read_bytes() for path in (out / "release").rglob("*") if path.is_file())
    assert b"withheld" in (out / "release" / "report.html").read_bytes()
    record = (out / "private" / "record.json").read_text()
    assert key not in record
    assert json.loads(record)["plan"]["steps"][0]["key"] == "withheld: secret"


def test_epsilons_of_steps_add_up_in_the_record():
    columns = {"name": "identifier", "age": "other", "pay": "confidential"}
    steps = [
        {"mask": "geometric", "columns": ["age"], "epsilon": 1, "bounds": {"age": [0, 120]}},
        {"mask": "laplace", "epsilon": 0.5, "bounds": {"pay": [0, 10]}},
    ]
    record = shoal.protect(people(), {"columns": columns, "steps": steps}, seed=1).record
    assert [s["privacy loss"]["epsilon"] for s in record["steps"] if "privacy loss" in s] == [1, 0.5]
    assert record["steps"][-1]["epsilon of all steps"] == 1.5
