"""Rules over the rows of linked tables: kept, repaired or refused, and judged again from the files."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from naive.rules_over_rows import RULES
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_schema import plan_schema
from shoal.release import publish
from shoal.vocabulary.errors import DataError, PlanError, Refused

QI = {"role": "quasi-identifier", "level": "nominal"}
WHOLE = {
    "p": {"key": "id", "columns": {"total": "confidential", "died": "other"}, "accept": ["died", "total"]},
    "s": {"key": "id", "parent": "p", "link": "p", "columns": {"ward": QI, "start": "other", "end": "other"},
          "accept": ["ward", "start", "end"]},
    "i": {"parent": "s", "link": "s", "columns": {"cost": "confidential"}, "accept": ["cost"]},
}  # fmt: skip


@pytest.fixture(autouse=True)
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn elsewhere; a page a table would be most of the time."""
    monkeypatch.setattr(publish, "page", lambda content: "")


def tables() -> dict[str, pl.DataFrame]:
    """Persons whose stays and items obey every rule by hand."""
    stays = {"id": [11, 12, 13, 14], "p": ["a", "a", "b", "d"], "ward": list("abab")}
    return {
        "p": pl.DataFrame({"id": list("abcd"), "total": [3.2, 0.5, 0.0, 4.0], "died": [9, None, None, 20]}),
        "s": pl.DataFrame({**stays, "start": [1, 5, 3, 7], "end": [4, 9, 8, 9]}),
        "i": pl.DataFrame({"s": [11, 11, 12, 13, 14], "cost": [1.2, 0.5, 1.5, 0.5, 4.0]}),
    }


def plan(*rules: str, steps: dict[str, list[dict[str, Any]]] | None = None, **more: Any) -> dict[str, Any]:
    described = {name: {**table, "steps": (steps or {}).get(name, [])} for name, table in WHOLE.items()}
    return {"tables": described, "constraints": list(rules), **more}


def read(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The cells of released files, for the naive joiner."""

    def cell(name: str, text: str) -> Any:
        return None if not text else text if name == "ward" else float(text)

    return {
        name: [
            {n: cell(n, text) for n, text in row.items()}
            for row in csv.DictReader(StringIO((folder / f"{name}.csv").read_text()))
        ]
        for name in WHOLE
    }


def broken_in(verdicts: Any) -> dict[str, float]:
    return {v.requirement: v.achieved for v in verdicts if v.requirement in RULES}


def test_rules_are_kept_and_judged_again_from_the_files(tmp_path: Path) -> None:
    release = shoal.protect(tables(), plan(*RULES), tmp_path / "out", seed=1, unproved=True)
    assert broken_in(release.evidence.verdicts) == dict.fromkeys(RULES, 0)
    folder = tmp_path / "out/release"
    assert {rule: count(read(folder)) for rule, count in RULES.items()} == dict.fromkeys(RULES, 0)
    assert broken_in(shoal.audit(folder, plan(*RULES)).verdicts) == dict.fromkeys(RULES, 0)
    shown = [
        requirement["requirement"] for requirement in json.loads((folder / "evidence.json").read_text())["requirements"]
    ]
    assert shown[: len(RULES)] == list(RULES)


def test_files_that_were_tampered_with_break_as_many_rows_as_by_hand(tmp_path: Path) -> None:
    shoal.protect(tables(), plan(*RULES), tmp_path / "out", seed=1, unproved=True)
    folder = tmp_path / "out/release"
    stays = pl.read_csv(folder / "s.csv")
    stays.with_columns(p=pl.lit(1), ward=pl.lit("a")).write_csv(folder / "s.csv")
    expected = {rule: count(read(folder)) for rule, count in RULES.items()}
    assert sum(count > 0 for count in expected.values()) >= 4
    assert broken_in(shoal.audit(folder, plan(*RULES)).verdicts) == expected


@pytest.mark.parametrize("rule", list(RULES))
def test_an_input_that_breaks_a_rule_is_refused_or_reported(rule: str, tmp_path: Path) -> None:
    given = tables()
    given["p"] = given["p"].with_columns(total=pl.col("total") + 1, died=pl.lit(3))
    given["s"] = given["s"].with_columns(ward=pl.lit("a"), start=pl.Series([1, 2, 3, 7]))
    given["i"] = given["i"].with_columns(cost=pl.col("cost") + 1)
    with pytest.raises(
        DataError, match=r"The table breaks its own rules: .* set broken_rules: report under constraints"
    ):
        shoal.protect(given, plan(rule), seed=1, unproved=True)
    reported = {**plan(), "constraints": {"rules": [rule], "broken_rules": "report"}}
    if rule in ("sum(i.cost) == p.total", "s.end <= p.died", "previous(s.end by s.start) <= s.start"):
        release = shoal.protect(given, reported, tmp_path / "out", seed=1, unproved=True)
        broken = [step.facts["broken"].value for step in release.account.steps if "input constraints" in step.step]  # type: ignore[union-attr]
        assert list(broken[0]) == [rule]
        assert RULES[rule](read(tmp_path / "out/release")) == 0, "the finished tables were repaired"
    else:
        with pytest.raises(Refused, match="the rule"):
            shoal.protect(given, reported, seed=1, unproved=True)


def test_a_total_follows_its_rounded_items(tmp_path: Path) -> None:
    """Averages of items are rounded as items came in; the totals are those of the rounded ones."""
    steps = {"i": [{"partition": "mdav", "k": 3, "columns": ["cost"], "replace": "centroid"}]}
    described = plan("sum(i.cost) == p.total", steps=steps)
    release = shoal.protect(tables(), described, tmp_path / "out", seed=1, unproved=True)
    released = read(tmp_path / "out/release")
    assert {item["cost"] for item in released["i"]} == {1.5}
    assert sorted(person["total"] for person in released["p"]) == [0.0, 1.5, 1.5, 4.5]
    stages = [step for step in release.account.steps if "constraints over tables" in step.step]
    assert {column for step in stages for column in step.columns} == {"p.total"}
    assert "p.total" not in release.tables["p"].account.untouched


def test_rows_whose_rows_above_go_still_add_up(tmp_path: Path) -> None:
    steps = {"s": [{"mask": "truncate-records", "most": 1, "keep": "first"}]}
    described = plan("sum(i.cost) == p.total", "count(s) <= 1", steps=steps)
    with pytest.raises(DataError, match=r"1 person breaks the rule 'count\(s\) <= 1'"):
        shoal.protect(tables(), described, seed=1, unproved=True)
    reported = {**described, "constraints": {"rules": described["constraints"], "broken_rules": "report"}}
    shoal.protect(tables(), reported, tmp_path / "out", seed=1, unproved=True)
    assert sorted(person["total"] for person in read(tmp_path / "out/release")["p"]) == [0.0, 0.5, 1.7, 4.0]


def test_a_death_that_holds_no_day_any_more_cannot_be_kept() -> None:
    steps = {"p": [{"mask": "recode", "columns": ["died"], "cuts": [10]}]}
    with pytest.raises(Refused, match=r"cannot be judged: 'p.died' is no longer there or no longer holds numbers"):
        shoal.protect(tables(), plan("s.end <= p.died", steps=steps), seed=1, unproved=True)


def test_a_blank_that_a_rule_over_tables_gives_back_counts_as_known() -> None:
    """Persons a and b are alike as long as the blank age of a is not the age at a's only stay."""
    keep = {**QI, "missing": "keep", "level": "continuous"}
    described = {
        "tables": {
            "p": {"key": "id", "columns": {"age": keep}, "accept": ["age"]},
            "s": {"parent": "p", "link": "p", "columns": {"at": "other"}, "accept": ["at"]},
        },
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
    }
    given = {
        "p": pl.DataFrame({"id": [1, 2, 3, 4], "age": [None, None, 50, 50]}),
        "s": pl.DataFrame({"p": [1, 2, 3, 4], "at": [30, 40, 50, 50]}),
    }
    assert shoal.audit(given, described).holds
    ruled = {**described, "constraints": ["max(s.at) == p.age"]}
    verdicts = shoal.audit(given, ruled).verdicts
    assert [verdict.holds for verdict in verdicts[:2]] == [False, True]
    assert verdicts[0].sentence.startswith("With cells filled in that the tables give away together: ")
    with pytest.raises(Refused, match="With cells filled in that the tables give away together"):
        shoal.protect(given, ruled, seed=1)


def test_what_only_the_original_tells_stands_in_no_public_file(tmp_path: Path) -> None:
    """The rule names a cost that no released item has."""
    given = tables()
    given["i"] = given["i"].with_columns(cost=pl.Series([1.2, 0.5, 1.5, 0.5, 77.0]))
    coded = {"i": [{"mask": "top-code", "columns": ["cost"], "value": 1.5}]}
    described = plan("count(i where i.cost == 77) <= 1", steps=coded)
    release = shoal.protect(given, described, tmp_path / "out", seed=1, unproved=True)
    assert "count(i where i.cost == 77) <= 1" in {v.requirement for v in release.evidence.verdicts}
    for path in (tmp_path / "out/release").rglob("*.json"):
        assert "i.cost == 77" not in path.read_text(), path
    assert "i.cost == 77" in (tmp_path / "out/private/evidence.json").read_text()


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ("count(s) <= 1", "constraints must be a list of rules, each a text"),
        (["count(s) <= "], "Rule 1 .*: expected a number, a column or a level in quotes"),
        (["end <= 3"], "'end' names no column of a table; write TABLE.COLUMN, for a table of: p, s, i"),
        (["s.ends <= 3"], "unknown column of 's' 'ends'; did you mean 'end'"),
        ({"rules": ["count(s) <= 1"], "broken_rules": "repair"}, "is not repaired, for any of several rows"),
        ({"rules": ["count(s) <= 1"], "broken": "report"}, "Unknown key of constraints 'broken'"),
    ],
)  # fmt: skip
def test_mistakes_in_the_rules_of_a_plan(constraints: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        LinkedPlan.of({**plan(), "constraints": constraints})


def test_a_written_plan_has_the_same_rules(tmp_path: Path) -> None:
    described = LinkedPlan.of(plan(*RULES))
    path = tmp_path / "plan.yaml"
    path.write_text(described.as_yaml())
    assert LinkedPlan.of(path).edit_rules == described.edit_rules
    assert "constraints" not in LinkedPlan.of(plan()).as_mapping()
    assert "constraints" in plan_schema()["$defs"]["SeveralTables"]["properties"]
