"""Exposure by hand: how many share their quasi-identifiers with fewer than k, who, and because of which column."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import cli
from shoal.vocabulary.errors import DataError

FRAME = pl.DataFrame(
    {
        "sex": ["f", "f", "f", "f", "m", "m"],
        "area": ["a", "a", "a", "a", "b", "c"],
        "pay": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
PLAN = {"columns": {"sex": "quasi-identifier", "area": "quasi-identifier", "pay": "confidential"}}


def test_classes_by_hand() -> None:
    """Four records agree on (f, a); (m, b) and (m, c) stand alone, and only because of the area."""
    exposed = shoal.exposure(FRAME, PLAN, top=3)
    assert exposed.fewer_than == {2: 2, 3: 2, 5: 6}
    assert exposed.riskiest == ((5, 1), (6, 1), (1, 4))
    assert exposed.spared == {"area": 2, "sex": 0}
    assert list(exposed.spared) == ["area", "sex"]
    assert {f.measure: f.value for f in exposed.risks}["prosecutor"] == 1.0


def test_no_step_is_carried_out_and_the_figures_repeat() -> None:
    steps = {**PLAN, "steps": [{"mask": "rank-swap", "columns": ["pay"], "p": 0.5}]}
    assert shoal.exposure(FRAME, steps).as_mapping() == shoal.exposure(FRAME, PLAN).as_mapping()


def test_without_quasi_identifiers_there_is_nothing_to_say() -> None:
    with pytest.raises(DataError, match="Nothing can be said of the risk"):
        shoal.exposure(FRAME, {"columns": dict.fromkeys(FRAME.columns, "other")})


def test_the_command_guesses_roles_and_marks_its_output_private(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    said = CliRunner().invoke(cli, ["risk", str(tmp_path / "t.csv")])
    assert said.exit_code == 0
    assert said.stdout.startswith("PRIVATE   By 'sex', 'area', 'pay', 6 of 6 records (100.0 %) are alone, and 6 of 6 ")
    assert "2-anonymity is broken by" in said.stdout
    assert "Roles are guessed" in said.stderr
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(PLAN).as_yaml())
    answer = CliRunner().invoke(cli, ["--json", "risk", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "plan.yaml")])
    content = json.loads(answer.stdout)
    assert content["fewer than"] == {"2": 2, "3": 2, "5": 6}
    assert content["private"] is True
    assert content["riskiest records"][0] == {"row": 5, "class of": 1}


def test_columns_are_ranked_beside_their_roles() -> None:
    """Of 15 pairs the area parts 9: aaaa has six. Pay parts all, and finds four more people alone."""
    exposure = shoal.exposure(FRAME, PLAN)
    assert [(c.name, c.role) for c in exposure.columns] == [
        ("pay", "confidential"),
        ("area", "quasi-identifier"),
        ("sex", "quasi-identifier"),
    ]
    pay, area, sex = exposure.columns
    assert (pay.figures.separation, pay.figures.unique, pay.more) == (1, 1, 4)
    assert pay.remark == "whoever knows it finds 4 more records alone: a quasi-identifier?"
    assert area.figures.separation == pytest.approx(9 / 15)
    assert area.figures.unique == 2 / 6
    assert (area.more, area.remark) == (0, "")
    assert sex.figures.distinct == 2


def test_sets_of_columns_that_single_out() -> None:
    """Both lone men are alone by their area. A measurement that is confidential is part of no set."""
    exposure = shoal.exposure(FRAME, PLAN)
    assert exposure.searched.columns == ("sex", "area")
    assert exposure.searched.counts == {("area",): 2}
    assert [s.columns for s in exposure.sets] == [("area",)]
    plan = {"columns": {**PLAN["columns"], "pay": "other"}}
    assert shoal.exposure(FRAME, plan).searched.counts == {("pay",): 6, ("area",): 2}


def test_remarks_on_roles() -> None:
    table = FRAME.with_columns(town=pl.lit("x"), card=pl.Series([f"c{i}" for i in range(6)]))
    plan = {"columns": {**PLAN["columns"], "town": "quasi-identifier", "card": "other"}}
    remarks = {column.name: column.remark for column in shoal.exposure(table, plan).columns}
    assert remarks["town"] == "one value for all: it tells nobody apart"
    assert remarks["card"] == "nearly every record has a value of its own: an identifier?"


def test_identifiers_are_looked_for_and_no_cell_is_shown(tmp_path: Path) -> None:
    table = FRAME.with_columns(contact=pl.Series([f"p{i}@example.org" for i in range(6)]))
    plan = {"columns": {**PLAN["columns"], "contact": "identifier"}}
    mapping = shoal.exposure(table, plan).as_mapping()
    by_letter = {entry["letter"]: entry for entry in mapping["identifiers"]}
    assert len(by_letter) == 18
    assert by_letter["F"]["signs"] == {"contact": "100 % of its values hold one"}
    assert by_letter["B"]["signs"] == {"area": "its name says 'area'"}
    assert by_letter["P"]["not seen"] == "only the names and labels of columns are looked at"
    assert "example.org" not in json.dumps(mapping)
    table.write_csv(tmp_path / "t.csv")
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(plan).as_yaml())
    printed = CliRunner().invoke(cli, ["risk", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "plan.yaml")])
    assert printed.exit_code == 0
    assert "(F) e-mail addresses" in printed.stdout
    assert "not seen  (E), (I), (K), (P), (Q): only the names" in printed.stdout
    assert "in 6 of 6 records and 2 columns" in printed.stdout
    assert "example.org" not in printed.stdout


def test_a_seed_repeats_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal.judges.separation.MOST_RECORDS", 4)
    one, two, other = (shoal.exposure(FRAME, PLAN, seed=seed).searched for seed in (1, 1, 3))
    assert one.counts == two.counts
    assert one.records == other.records == 4


def test_laws_are_listed_before_anything_is_planned(tmp_path: Path) -> None:
    """Of 40 ages two are wrong; a name that is taken out gives nothing back."""
    years = [1950 + i % 20 for i in range(40)]
    ages = [2024 - year for year in years]
    ages[3], ages[7] = 90, 91
    frame = pl.DataFrame({"name": [f"n{i}" for i in range(20)] * 2, "year": years, "age": ages})
    plan = {"columns": {"name": "identifier", "year": "other", "age": "quasi-identifier"}}
    law = next(law for law in shoal.exposure(frame, plan).laws if law.name == "age")
    assert (law.sources, law.arithmetic, law.exceptions, law.pairs) == (("year",), True, 2, 40)
    assert 0.83 < law.interval.low < 0.84 and 0.98 < law.interval.high < 0.99  # Wilson: 38 of 40
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(plan).as_yaml())
    command = ["risk", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "plan.yaml")]
    said = CliRunner().invoke(cli, command).stdout
    assert "law       'year' gives 'age' back, with 2 exceptions, by arithmetic, in 40 records" in said
    assert "role quasi-identifier" in said
    listed = json.loads(CliRunner().invoke(cli, ["--json", *command]).stdout)["laws"]
    assert listed == [law.as_mapping() for law in shoal.exposure(frame, plan).laws]
    assert shoal.exposure(FRAME, PLAN).laws == ()


def test_three_sentences_come_first_and_a_page_is_all() -> None:
    """The area alone singles two out; pay is everybody's own, and nobody said that others know it."""
    exposed = shoal.exposure(FRAME, PLAN)
    assert exposed.sentences == (
        "By 'sex', 'area', 2 of 6 records (33.3 %) are alone, and 6 of 6 records (100.0 %) are like fewer than 4 "
        "others.",
        "Records that would not be alone without a column: 'area' 2.",
        "Look at the 1 column that may need another role: 'pay'.",
    )
    assert repr(exposed).splitlines()[:4] == ["Exposure of 6 records; private", *exposed.sentences]


def test_many_columns_make_no_long_page() -> None:
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"q{j}": rng.integers(0, 9, 200) for j in range(30)})
    exposed = shoal.exposure(wide, {"columns": dict.fromkeys(wide.columns, "quasi-identifier")}, top=50)
    assert "'q0', 'q1', 'q2' and 27 more" in exposed.sentences[0]
    assert len(repr(exposed)) < 2000


def test_columns_that_only_together_make_anybody_unique() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2] * 2, "b": [1, 1, 2, 2] * 2})
    exposed = shoal.exposure(frame, {"columns": {"a": "quasi-identifier", "b": "quasi-identifier"}})
    assert exposed.sentences[1:] == (
        "No single column makes anybody unique: whoever is alone is so by several columns at once.",
        "No column looks as if it had another role.",
    )
