"""The plan that a release shows names no cell that the release does not hold."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.plan.lines import dump_yaml, plain
from shoal.plan.publication import _places, _public, hidden_cells, public_rule, public_sections, recorded
from shoal.table.files.table import Table
from shoal.table.microdata import Microdata
from shoal.vocabulary.parameters import Setting

FRAME = pl.DataFrame(
    {
        "name": [f"person-{i}" for i in range(12)],
        "age": [34, 36, 35, 61, 63, 62, 45, 47, 46, 28, 27, 29],
        "zip": [
            "10117",
            "10119",
            "10115",
            "20095",
            "20097",
            "20099",
            "50667",
            "50668",
            "50670",
            "80331",
            "80333",
            "80335",
        ],
        "job": ["baker"] * 6 + ["cooper"] * 5 + ["falconer"],
        "income": [31250.5, 29990, 30480, 52310, 50870, 51640, 41120, 40090, 42230, 23410, 24560, 9876543.25],
    }
)
CITIES = {
    "Berlin": FRAME["zip"][:3].to_list(),
    "Hamburg": FRAME["zip"][3:6].to_list(),
    "Cologne": FRAME["zip"][6:9].to_list(),
    "Munich": FRAME["zip"][9:].to_list(),
}
PLAN: dict[str, Any] = {
    "columns": {
        "name": "identifier",
        "age": "quasi-identifier",
        "income": "confidential",
        "zip": {"role": "quasi-identifier", "level": "nominal", "hierarchy": {"nested": CITIES}},
        "job": {"role": "confidential", "order": ["baker", "cooper", "falconer"], "label": "falconer or not"},
    },
    "steps": [
        {"partition": "mdav", "k": 3},
        {"mask": "recode", "columns": ["job"], "groups": {"craft": ["cooper", "falconer"]}},
    ],
    "requirements": [{"privacy": "k-anonymity", "k": 3}],
}


def published(plan: dict[str, Any], tmp_path: Path) -> tuple[Path, str]:
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    texts = [(out / "release" / name).read_text() for name in ("report.html", "evidence.json", "codebook.json")]
    return out, "\n".join(texts)


def test_cells_that_only_the_original_has_are_withheld(tmp_path: Path) -> None:
    _, text = published(PLAN, tmp_path)
    for cell in (*FRAME["zip"].to_list(), "cooper", "person-3"):
        assert cell not in text
    assert text.count("falconer") == text.count("falconer or not") > 0  # the column's label is for the public
    for word in ("Berlin", "craft", "baker"):  # all of these are in the release
        assert word in text


def test_a_bound_at_the_extreme_cell_is_withheld() -> None:
    plan = shoal.Plan.of({**PLAN, "steps": [{"mask": "top-code", "columns": ["income"], "value": 9876543.25}]})
    original = Microdata.of(FRAME, plan.schema).records
    kept = original["income"].values
    released = original.with_variables(original["income"].with_values(kept.clip(max=52310)))
    assert "9876543" not in dump_yaml(public_sections(plan, hidden_cells(plan, original, released)))
    assert "value: 9876543.25" in dump_yaml(
        public_sections(plan, hidden_cells(plan, original, original))
    )  # the release shows it


def test_a_cell_in_a_bound_inside_a_step_is_withheld() -> None:
    bound = {"utility": "inconsistencies", "rules": ["income <= 9876543.25"], "at most": 0.5}
    plan = shoal.Plan.of(
        {**PLAN, "steps": [{"mask": "generalise", "k": 3, "columns": ["zip"], "requirements": [bound]}]}
    )
    original = Microdata.of(FRAME, plan.schema).records
    kept = original["income"].values
    released = original.with_variables(original["income"].with_values(kept.clip(max=52310)))
    text = dump_yaml(public_sections(plan, hidden_cells(plan, original, released)))
    assert "9876543" not in text and "utility: inconsistencies" in text and "at most: 0.5" in text


def test_a_rule_with_a_cell_is_proved_without_telling_it(tmp_path: Path) -> None:
    rules = ["income <= 9876543.250", "age >= 0"]
    top = {"mask": "top-code", "columns": ["income"], "value": 52310}
    out, text = published({**PLAN, "steps": [*PLAN["steps"], top], "constraints": rules}, tmp_path)
    evidence = json.loads((out / "release" / "evidence.json").read_text())
    assert {verdict["requirement"] for verdict in evidence["requirements"]} >= {"income <= withheld", "age >= 0"}
    assert "9876543" not in text
    assert "income <= 9876543.250" in (out / "private" / "report.html").read_text().replace("&lt;", "<")


@pytest.mark.parametrize(
    ("rule", "public"),
    [
        ("x1 <= 1", "x1 <= withheld"),
        ("`1` + 1.0 * x == 10", "`1` + withheld * x == 10"),
        ("a == '1 b'", "a == '1 b'"),
        ("a == '1' -> b in ('2', \"1\")", "a == withheld -> b in ('2', withheld)"),
        ("a.1 > 1e0 and a < 11", "a.1 > withheld and a < 11"),
    ],
)
def test_what_of_a_rule_is_a_cell(rule: str, public: str) -> None:
    assert public_rule(rule, {"1"}) == public


def test_files_are_named_without_their_folders(tmp_path: Path) -> None:
    folder = tmp_path / "Dr Mayer"
    folder.mkdir()
    rows = [";".join([zip_code, city, "*"]) for city, codes in CITIES.items() for zip_code in codes]
    (folder / "cities.csv").write_text("\n".join(rows))
    plan = {**PLAN, "steps": PLAN["steps"][:1], "accept": ["job"]}
    plan["columns"] = {
        **PLAN["columns"],
        "zip": {"role": "quasi-identifier", "level": "nominal", "hierarchy": str(folder / "cities.csv")},
    }
    out, text = published(plan, tmp_path)
    assert "cities.csv" in text
    assert "Mayer" not in text
    assert "Mayer" in (out / "private" / "record.json").read_text()


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ({"mask": "permute", "columns": ["age"]}, True),
        ({"mask": "suppress-records", "k": 2, "limit": 0.5, "columns": ["job"]}, False),
    ],
)
def test_only_values_that_occur_keep_their_labels(tmp_path: Path, step: dict[str, Any], kept: bool) -> None:
    frame = FRAME.select("age", job=pl.Series([1] * 11 + [2]))
    labels = Table(frame=frame, value_labels={"job": {1: "craftsman", 2: "falconer"}})
    plan = {
        "columns": {"age": "confidential", "job": {"role": "quasi-identifier", "level": "nominal"}},
        "steps": [step],
    }
    out = shoal.protect(frame, plan, seed=1).write(tmp_path / "out", labels=labels, unproved=True)
    text = (out / "release" / "codebook.json").read_text()
    assert "craftsman" in text
    assert ("falconer" in text) is kept


def test_what_is_shown_does_not_depend_on_the_original() -> None:
    """A word for what is withheld would itself say that somebody has it, if it stood for cells alone."""
    plan = shoal.Plan.of({**PLAN, "constraints": ["age <= 103"]})
    records = Microdata.of(FRAME, plan.schema).records
    ages = records["age"].values
    without, with_one = (
        records.with_variables(records["age"].with_values([*ages[:-1], last])) for last in (ages[-1], 103)
    )
    shown = {
        dump_yaml(public_sections(plan, hidden_cells(plan, original, without))) for original in (without, with_one)
    }
    assert len(shown) == 1
    assert "103" not in shown.pop()


def test_numbers_inside_released_labels_are_shown() -> None:
    plan = shoal.Plan.of({**PLAN, "steps": [{"mask": "recode", "columns": ["age"], "cuts": [30, 60]}]})
    records = Microdata.of(FRAME, plan.schema).records
    step = plan.steps[0]
    released = step.method.apply(records, ["age"], np.random.default_rng(1)).records
    shown = dump_yaml(public_sections(plan, hidden_cells(plan, records, released)))
    assert "30" in shown
    assert "60" in shown


def test_no_number_but_0_and_1_is_shown_for_nothing() -> None:
    """Every other rule speaks of them; 2 may be a cell like any other."""
    plan = shoal.Plan.of({**PLAN, "constraints": [f"age >= {number}" for number in (0, 1, 2, 3, 5, 10, 100)]})
    records = Microdata.of(FRAME, plan.schema).records
    hidden = hidden_cells(plan, records, records.take(np.arange(0)))
    assert hidden & {"0", "1", "2", "3", "5", "10", "100"} == {"2", "3", "5", "10", "100"}


def test_a_cell_in_the_method_that_replaces_is_withheld() -> None:
    """Beside a partition stands a replacement, whose parameters may name cells as those of the partition."""
    dealt = {"method": "muralidhar-sarathy", "alpha": 0.5}
    step = {"partition": "mdav", "k": 3, "columns": ["age"], "replace": dealt}
    plan = shoal.Plan.of({**PLAN, "steps": [step]})
    places = [(spec, key) for spec, key, _ in _places(plan, plain(plan.as_mapping()))]
    assert any((spec.get("method"), key) == ("muralidhar-sarathy", "alpha") for spec, key in places)


def test_how_many_cells_are_hidden_is_not_told() -> None:
    plan = shoal.Plan.of(PLAN)
    records = Microdata.of(FRAME, plan.schema).records
    shown = public_sections(plan, hidden_cells(plan, records, records.take(np.arange(6))))  # of bakers alone
    assert shown["columns"]["job"]["order"] == ["baker", "withheld"]
    assert shown["steps"][1]["groups"] == {"withheld": ["withheld"]}


def test_a_parameter_that_does_not_say_what_it_holds_is_taken_for_a_cell() -> None:
    assert _public("falconer", None, {"falconer"}) == "withheld"
    assert _public(["/home/mayer/falconer.csv", 3], None, {"3"}) == ["falconer.csv", "withheld"]
    assert _public("falconer", Setting(), {"falconer"}) == "falconer"


def test_words_for_readers_hide_only_what_the_original_has() -> None:
    """A label may hold any word, as long as it is no cell that the release does not show."""
    label = "falconer of 1850 with 'merlins' and \"person-3\""
    columns = {**PLAN["columns"], "job": {"role": "confidential", "label": label}}
    plan = shoal.Plan.of({**PLAN, "columns": columns, "steps": PLAN["steps"][:1]})
    records = Microdata.of(FRAME.with_columns(age=pl.lit(1850)), plan.schema).records
    nobody = records.take(np.arange(0))
    assert hidden_cells(plan, records, nobody) & {"1850", "merlins"} == {"1850"}
    assert not hidden_cells(plan, nobody, nobody) & {"1850", "merlins"}
    assert hidden_cells(plan, None, nobody) >= {"1850", "merlins"}


def hidden_in(plan: dict[str, Any], frame: pl.DataFrame = FRAME, released: int = 0) -> tuple[set[str], str]:
    """What a plan may not show where the first records alone are released, and what it shows."""
    read = shoal.Plan.of(plan)
    records = Microdata.of(frame, read.schema).records
    hidden = hidden_cells(read, records, records.take(np.arange(released)))
    return hidden, dump_yaml(public_sections(read, hidden))


def test_a_cell_in_a_requirement_or_a_measure_is_withheld() -> None:
    measure = {"utility": "inconsistencies", "rules": ["income <= 9876543.25"]}
    for section in ({"measures": [measure]}, {"requirements": [{**measure, "at most": 0.5}]}):
        hidden, shown = hidden_in({**PLAN, **section})
        assert "9876543.25" in hidden
        assert "utility: inconsistencies" in shown and "9876543" not in shown


def test_cells_in_what_was_explored_are_withheld() -> None:
    """In ranges of parameters, in steps of candidates and in parameters of the measures on the axes."""
    explored = {
        "method": {"mine": [{"mask": "top-code", "columns": ["income"], "value": 9876543.25}]},
        "value": [52310, 51640],
        "utility": {"method": "inconsistencies", "rules": ["age <= 63"]},
    }
    hidden, shown = hidden_in({**PLAN, "explore": explored})
    assert hidden >= {"9876543.25", "52310", "51640", "63"}
    assert not any(cell in shown for cell in ("9876543", "52310", "51640", "63"))
    assert "mask: top-code" in shown and "method: inconsistencies" in shown


@pytest.mark.parametrize(("kind", "late"), [(pl.Date, "1970-01-02"), (pl.Datetime("us"), "1970-01-01T00:00:01")])
def test_moments_in_rules_are_cells_of_columns_of_moments(kind: Any, late: str) -> None:
    """A day and a second after the start of 1970, when both are counted from; the number 1 is neither."""
    born = pl.Series(["1950-03-04", late, "1990-12-31"]).str.to_datetime().cast(kind)
    frame = pl.DataFrame({"born": born, "pay": [1.0, 2, 3]})
    plan = {"columns": {"born": "quasi-identifier", "pay": "confidential"}, "constraints": [f"born <= '{late}'"]}
    assert hidden_in(plan, frame, released=1)[0] >= {late}
    assert late not in hidden_in(plan, frame, released=2)[0]


def test_a_number_is_shown_if_the_release_has_it_with_either_sign() -> None:
    """A rule is read without the sign before its number."""
    frame = pl.DataFrame({"age": [-5.0, 7.0], "pay": [2.0, 3.0]})
    plan = {"columns": {"age": "quasi-identifier", "pay": "confidential"}, "constraints": ["age >= -5", "age <= 7"]}
    assert hidden_in(plan, frame, released=1)[0] & {"5", "7"} == {"7"}


def test_a_missing_cell_shows_no_category() -> None:
    """The last category of a column is what a code of -1 would stand for."""
    job = {"role": "confidential", "missing": "keep", "level": "nominal"}
    frame = pl.DataFrame({"age": [1.0, 2.0], "job": [None, "falconer"]})
    plan = {"columns": {"age": "quasi-identifier", "job": job}, "constraints": ["job == 'falconer' -> age >= 1"]}
    assert "falconer" in hidden_in(plan, frame, released=1)[0]
    assert "falconer" not in hidden_in(plan, frame, released=2)[0]


def test_a_secret_stands_in_no_record_and_a_table_that_was_given_only_as_one() -> None:
    secret = "0123456789abcdef" * 4
    steps = [
        {"mask": "pseudonymise", "columns": ["name"], "key": secret},
        {"mask": "pseudonymise", "columns": ["name"]},
    ]
    measures = [
        {"risk": "membership-inference", "holdout": FRAME},
        {"risk": "membership-inference", "holdout": "later.csv"},
        {"risk": "membership-inference"},
    ]
    plan = shoal.Plan.of({**PLAN, "steps": steps, "measures": measures})
    record = recorded(plan)
    assert secret not in str(record)
    assert [step.get("key") for step in record["steps"]] == ["withheld: secret", None]
    assert [measure.get("holdout") for measure in record["measures"]] == ["a table", "later.csv", None]
    shown = public_sections(plan, set())
    assert secret not in str(shown) and shown["steps"][0]["key"] == "withheld"
