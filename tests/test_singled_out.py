"""What leaves unchanged is named first, with the records that it singles out, by one count wherever it is made."""

import json
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.cli import cli
from shoal.release.evidence_file import left_as_they_came
from shoal.release.singled_out import singling_out
from shoal.report.unchanged import most_singled_out, unchanged_sentence

FRAME = pl.DataFrame(
    {"sex": ["f"] * 4 + ["m"] * 4, "area": list("aabcddee"), "room": [1] * 8, "ward": list("xyxyzzww")}
)
PLAN = {
    "columns": {"sex": {"role": "quasi-identifier"}, "area": "other", "room": "confidential", "ward": "other"},
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
    "accept": ["area", "ward"],
}
SENTENCE = (
    "Leaves unchanged: sex, area, room, ward. They single records out: area alone 2 of 8, all 4 together 4; "
    "with the quasi-identifiers 4. Accepted by the plan: area, ward, which together single out 4 of 8 records "
    "(50.0 %)."
)


def test_columns_and_all_of_them_together() -> None:
    """One lives in b and one in c; of the two in a one lies in ward x and one in y."""
    counts = {
        one.columns: (one.alone, one.beside_keys) for one in shoal.protect(FRAME, PLAN, seed=1).account.singled_out
    }
    assert counts == {
        ("sex",): (0, 0),
        ("area",): (2, 2),
        ("room",): (0, 0),
        ("ward",): (0, 0),
        ("sex", "area", "room", "ward"): (4, 4),
        ("area", "ward"): (4, 4),
    }


def test_the_quasi_identifiers_part_what_a_column_leaves_together() -> None:
    """Of two in each ward one is a woman: nobody is alone by the ward, everybody beside the sex."""
    frame = pl.DataFrame({"sex": list("fmfmfmfm"), "ward": list("aabbccdd")})
    plan = {"columns": {"sex": "quasi-identifier", "ward": "other"}, "requirements": PLAN["requirements"]}
    ward = next(one for one in shoal.protect(frame, plan, seed=1).account.singled_out if one.columns == ("ward",))
    assert (ward.alone, ward.beside_keys) == (0, 8)


def test_it_stands_in_the_head_of_both_reports_on_the_terminal_and_in_json(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(PLAN).as_yaml())
    asked = ["protect", str(tmp_path / "t.csv"), "--plan", str(tmp_path / "plan.yaml"), "--out"]
    said = CliRunner().invoke(cli, [*asked, str(tmp_path / "out")])
    assert said.exit_code == 0
    assert " ".join(said.stderr.split()).count(SENTENCE) == 1
    for folder in ("release", "private"):
        page = (tmp_path / "out" / folder / "report.html").read_text()
        head = page[: page.index('class="headlines"')].replace("\u00a0", " ")
        left, accepted = SENTENCE.removeprefix("Leaves unchanged: ").split(
            " Accepted"
        )  # the former is the point's label
        assert f"<dd>{left}</dd><dd>Accepted{accepted}</dd>" in head
        content = json.loads((tmp_path / "out" / folder / "evidence.json").read_text())
        assert {tuple(one["columns"]): one["alone"] for one in content["singled out"]}[("area",)] == 2
    answer = json.loads(CliRunner().invoke(cli, ["--json", *asked, str(tmp_path / "again")]).stdout)
    assert answer["left as they came"] == FRAME.columns
    assert answer["accepted"] == ["area", "ward"]
    assert {"columns": ["area"], "alone": 2, "beside the quasi-identifiers": 2} in answer["singled out"]


def test_the_public_counts_follow_from_the_release(tmp_path: Path) -> None:
    """A column that a step names is not told to have stayed as it was, and what is counted is counted on the file."""
    plan = {**PLAN, "steps": [{"mask": "recode", "columns": ["ward"], "groups": {"x": ["x"]}}]}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    public = json.loads((out / "release" / "evidence.json").read_text())
    released = pl.read_csv(out / "release" / "data.csv")
    assert public["left as they came"] == ["sex", "area", "room"]
    assert {tuple(one["columns"]) for one in public["singled out"] if "ward" in one["columns"]} == {
        ("ward",),
        ("area", "ward"),
    }  # which the plan accepts, whether its cells changed or not
    for one in public["singled out"]:
        assert one["alone"] == released.select(one["columns"]).is_unique().sum()
        assert one["beside the quasi-identifiers"] == released.select({"sex", *one["columns"]}).is_unique().sum()


def test_more_than_one_in_a_hundred_is_left_to_be_decided() -> None:
    content = {
        "records": 1000,
        "columns": [{"name": "sex", "role": "quasi-identifier"}, {"name": "pay", "role": "confidential"}],
        "left as they came": ["sex", "pay"],
        "singled out": [
            {"columns": ["sex"], "alone": 700, "beside the quasi-identifiers": 700},
            {"columns": ["pay"], "alone": 10, "beside the quasi-identifiers": 20},
        ],
    }
    assert most_singled_out(content) == ""
    content["singled out"][1]["alone"] = 11
    assert most_singled_out(content) == "11 of 1,000 records can be found by pay, which left unchanged"
    assert most_singled_out({**content, "accepted": ["pay"]}) == ""


def test_nobody_singled_out_is_said_too() -> None:
    one = {"columns": ["a"], "alone": 0, "beside the quasi-identifiers": 0}
    content = {"records": 9, "columns": [], "left as they came": ["a"], "accepted": [], "singled out": [one]}
    assert unchanged_sentence(content).endswith("It singles no record out, not even with the quasi-identifiers.")
    one["beside the quasi-identifiers"] = 2
    assert unchanged_sentence(content).endswith("It singles out no record alone; with the quasi-identifiers 2 of 9.")
    assert unchanged_sentence({**content, "left as they came": []}) == ""


@pytest.mark.parametrize(("keys", "worth_a_copy"), [(("sex",), 0), (("sex",), 3000), ((), 0)])
def test_parts_count_what_memory_counts(
    keys: tuple[str, ...], worth_a_copy: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole release is counted, not the sample of it, whichever parts the records lie in, in a copy or not."""
    monkeypatch.setattr("shoal.table.parts.counts.WORTH_A_COPY", worth_a_copy)
    monkeypatch.setattr("shoal.table.parts.counts.AT_ONCE", 2)
    monkeypatch.setattr("shoal.proof.sampled.SAMPLE", 200)
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 300)
    monkeypatch.setattr("shoal.table.parts.dealing.BLOCK_CELLS", 1200)
    rng = np.random.default_rng(3)
    n = 3000
    frame = pl.DataFrame(
        {
            "sex": rng.integers(0, 2, n),
            "area": rng.integers(0, 900, n),
            "pay": rng.lognormal(8, 1, n).round(1),
            "ward": [None if i % 7 == 0 else f"w{i % 40}" for i in range(n)],
        }
    )
    columns = {name: "quasi-identifier" if name in keys else "other" for name in frame.columns}
    privacy = [{"privacy": "k-anonymity", "k": 4}] if keys else []
    accept = [name for name in columns if name not in keys]
    plan = {"columns": columns, "requirements": privacy, "accept": accept, "output": {"format": "parquet"}}
    frame.write_parquet(tmp_path / "t.parquet")
    unproved = not keys
    by_parts = shoal.protect(
        tmp_path / "t.parquet", {**plan, "exact": False}, tmp_path / "out", seed=1, unproved=unproved
    )
    in_memory = shoal.protect(frame, plan, seed=1)
    assert set(by_parts.account.singled_out) == set(in_memory.account.singled_out)
    assert max(one.alone for one in in_memory.account.singled_out) > 200


WIDE = pl.DataFrame(
    {
        "sex": ["f", "m"] * 200,
        "weight": np.linspace(1, 2, 400),
        "ward": [f"w{i % 20}" for i in range(400)],
        "bed": [i // 20 for i in range(400)],
        "born": [1900 + i % 97 + 97 * (i > 390) for i in range(400)],
        "bmi": np.linspace(20, 30, 400),
    }
)
ROLES = {"sex": "quasi-identifier", **dict.fromkeys(("weight", "ward", "bed"), "other")}
ROLES |= dict.fromkeys(("born", "bmi"), "confidential")
"""Ward and bed number the patients together; everybody knows a year of birth, and nobody the body mass index."""


def wide_plan(**sections: object) -> dict[str, object]:
    return {"columns": ROLES, "requirements": PLAN["requirements"], **sections}


def test_a_release_stops_at_columns_that_nobody_answers_for() -> None:
    with pytest.raises(shoal.Refused) as refusal:
        shoal.protect(WIDE, wide_plan(), seed=1)
    assert str(refusal.value) == (
        "Nothing was released. Columns leave unchanged that no requirement covers, and people can be found by them: "
        "'weight' singles out 400 of 400 records (100.0 %); 'born' singles out 9 (2.2 %); "
        "'ward', 'bed' together single out 400 (100.0 %). 'born' is confidential in the plan, but its name says "
        "'born': "
        "an intruder may know this about a person. Make them quasi-identifiers if others may know them, change them in "
        "a step, or take them out (role identifier). If nobody outside can know them, answer for it in the plan: "
        "accept: [weight, ward, bed, born]."
    )


@pytest.mark.parametrize("accept", [["weight", "born"], ["weight", "ward", "bed"], ["born", "bed", "ward"]])
def test_every_column_has_to_be_answered_for(accept: list[str]) -> None:
    with pytest.raises(shoal.Refused, match="Columns leave unchanged"):
        shoal.protect(WIDE, wide_plan(accept=accept), seed=1)


def test_an_answer_stands_in_the_evidence_with_its_figure() -> None:
    release = shoal.protect(WIDE, wide_plan(accept=["weight", "born", "ward", "bed"]), seed=1)
    assert release.account.accepted == ("weight", "born", "ward", "bed")
    assert "Accepted by the plan: weight, born, ward, bed, which together single out 400 of 400 records (100.0 %)." in (
        unchanged_sentence(left_as_they_came(release))
    )


def test_a_changed_column_needs_no_answer_and_no_proof_needs_consent_of_its_own() -> None:
    steps = [{"mask": "round", "columns": ["born"], "base": 50}]
    roles = {**ROLES, "weight": "identifier", "bed": "identifier"}
    assert shoal.protect(WIDE, wide_plan(columns=roles, steps=steps), seed=1).evidence.holds
    assert not shoal.protect(WIDE, wide_plan(requirements=[]), seed=1).account.proved


def test_columns_that_only_some_requirement_covers() -> None:
    """A key that no requirement looks at is as open as any other column."""
    required = [{"privacy": "k-anonymity", "k": 4, "columns": ["sex"]}]
    frame = WIDE.select("sex", "ward", bed="born")
    plan = {"columns": dict.fromkeys(frame.columns, "quasi-identifier"), "requirements": required}
    with pytest.raises(shoal.Refused, match="'bed' singles out 9 of 400"):
        shoal.protect(frame, plan, seed=1)


@pytest.mark.parametrize(
    ("accept", "sentence"),
    [
        (["nobody"], "accept: Unknown column 'nobody'"),
        (["sex", "id"], "accept: 'id' is an identifier and is not released. Take it out."),
        ("sex", "accept must be a list of columns, as in [weight, region]."),
    ],
)
def test_only_released_columns_can_be_accepted(accept: object, sentence: str) -> None:
    with pytest.raises(shoal.PlanError, match=re.escape(sentence)):
        shoal.Plan.of({"columns": {"sex": "quasi-identifier", "id": "identifier"}, "accept": accept})


def brute_force(frame: pl.DataFrame, accepted: set[str]) -> dict[tuple[str, ...], int]:
    """Every set of up to three columns that singles out too many records, while none inside it does."""
    tolerated, sets = len(frame) / 100, {}
    for size in (1, 2, 3):
        for some in combinations(frame.columns, size):
            known = [name for name in some if name in accepted]
            alone = int(frame.select(some).is_unique().sum())
            beyond = alone - (int(frame.select(known).is_unique().sum()) if known else 0)
            inside = any(set(smaller) <= set(some) for smaller in sets)
            if beyond > tolerated and not accepted.issuperset(some) and not inside:
                sets[some] = alone
    return sets


@given(st.integers(0, 10**6), st.integers(1, 6), st.sets(st.sampled_from("abcd")))
def test_the_sets_are_those_of_brute_force(seed: int, values: int, accepted: set[str]) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.integers(0, values * (j + 1), 120) for j, name in enumerate("abcde")})
    records = shoal.Microdata.of(frame, shoal.Schema(dict.fromkeys(frame.columns, "other"))).records
    sets = singling_out(frame.columns, accepted, len(frame), records.uniques)
    assert sets == brute_force(frame, accepted)


def test_parts_stop_where_memory_does(tmp_path: Path) -> None:
    WIDE.write_parquet(tmp_path / "t.parquet")
    messages = []
    for table, exact in ((WIDE, None), (tmp_path / "t.parquet", False)):
        with pytest.raises(shoal.Refused) as refusal:
            shoal.protect(table, {**wide_plan(), "exact": exact}, tmp_path / "out", seed=1)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]
    assert not (tmp_path / "out").exists()


NEARLY = {
    "one cell is coded": ({"mask": "top-code", "columns": ["weight"], "value": 1.999}, "weight"),
    "too little noise": ({"mask": "noise", "columns": ["weight"], "variance": 1e-12}, "weight"),
    "fine rounding": ({"mask": "round", "columns": ["weight"], "base": 0.001}, "weight"),
    "few cells swapped": ({"mask": "data-swap", "columns": ["suite"], "share": 0.02}, "suite"),
    "few cells drawn": ({"mask": "pram", "columns": ["suite"], "diagonal": 0.9}, "suite"),
    "two categories in one": ({"mask": "recode", "columns": ["suite"], "groups": {"r0": ["r1"]}}, "suite"),
}


@pytest.mark.parametrize("how", NEARLY)
def test_a_change_that_leaves_most_cells_is_none(how: str) -> None:
    step, name = NEARLY[how]
    frame = WIDE.select("sex", weight="weight", suite=pl.format("r{}", pl.int_range(400) % 300))
    columns = {"sex": "quasi-identifier", **dict.fromkeys(("weight", "suite"), "identifier"), name: "other"}
    with pytest.raises(shoal.Refused, match=f"'{name}' changed, but most of its cells still tell the original ones"):
        shoal.protect(frame, {**PLAN, "columns": columns, "accept": [], "steps": [step]}, seed=1)


@pytest.mark.parametrize(
    "step",
    [
        {"mask": "noise", "columns": ["weight"], "variance": 0.3},
        {"mask": "shuffle", "columns": ["weight"]},
        {"mask": "round", "columns": ["weight"], "base": 0.2},
        {"mask": "microaggregate-columns", "columns": ["weight"], "size": 5, "grouping": {"method": "mdav", "k": 5}},
    ],
)
def test_a_change_that_hides_needs_no_answer(step: dict[str, object]) -> None:
    columns = {"sex": "quasi-identifier", "weight": "other"}
    plan = {**PLAN, "columns": columns, "accept": [], "steps": [step]}
    assert shoal.protect(WIDE.select(*columns), plan, seed=1).evidence.holds


def test_a_bound_covers_the_columns_of_its_measure() -> None:
    """How closely incomes can be guessed says nothing of those who are alone with their keys."""
    gate = {"risk": "interval-disclosure", "columns": ["bmi"], "at most": 0.99}
    columns = {"sex": "quasi-identifier", "weight": "quasi-identifier", "bmi": "confidential"}
    plan = {"columns": columns, "steps": [{"mask": "noise", "columns": ["bmi"], "variance": 0.5}]}
    with pytest.raises(shoal.Refused, match="'weight' singles out 400 of 400"):
        shoal.protect(WIDE.select(*columns), {**plan, "requirements": [gate]}, seed=1)
