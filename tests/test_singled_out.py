"""What leaves unchanged is named first, with the records that it singles out, by one count wherever it is made."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import shoal
from shoal.cli import cli
from shoal.report.unchanged import most_singled_out, unchanged_sentence

FRAME = pl.DataFrame(
    {"sex": ["f"] * 4 + ["m"] * 4, "area": list("aabcddee"), "room": [1] * 8, "ward": list("xyxyzzww")}
)
PLAN = {
    "columns": {"sex": {"role": "quasi-identifier"}, "area": "other", "room": "confidential", "ward": "other"},
    "requirements": [{"privacy": "k-anonymity", "k": 4}],
}
SENTENCE = (
    "Leaves unchanged: sex, area, room, ward. They single records out: area alone 2 of 8, all 4 together 4; "
    "beside the quasi-identifiers 4."
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
        sentence = SENTENCE.removeprefix("Leaves unchanged: ")  # which is the point's label
        assert sentence in page[: page.index('class="headlines"')].replace("\u00a0", " ")
        content = json.loads((tmp_path / "out" / folder / "evidence.json").read_text())
        assert {tuple(one["columns"]): one["alone"] for one in content["singled out"]}[("area",)] == 2
    answer = json.loads(CliRunner().invoke(cli, ["--json", *asked, str(tmp_path / "again")]).stdout)
    assert answer["left as they came"] == FRAME.columns
    assert {"columns": ["area"], "alone": 2, "beside the quasi-identifiers": 2} in answer["singled out"]


def test_the_public_counts_follow_from_the_release(tmp_path: Path) -> None:
    """A column that a step names is not told to have stayed as it was, and what is counted is counted on the file."""
    plan = {**PLAN, "steps": [{"mask": "recode", "columns": ["ward"], "groups": {"x": ["x"]}}]}
    out = shoal.protect(FRAME, plan, seed=1).write(tmp_path / "out")
    public = json.loads((out / "release" / "evidence.json").read_text())
    released = pl.read_csv(out / "release" / "data.csv")
    assert public["left as they came"] == ["sex", "area", "room"]
    assert not any("ward" in one["columns"] for one in public["singled out"])
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


def test_nobody_singled_out_is_said_too() -> None:
    one = {"columns": ["a"], "alone": 0, "beside the quasi-identifiers": 0}
    content = {"records": 9, "columns": [], "left as they came": ["a"], "singled out": [one]}
    assert unchanged_sentence(content).endswith("It singles no record out, not even beside the quasi-identifiers.")
    assert unchanged_sentence({**content, "left as they came": []}) == ""


@pytest.mark.parametrize("keys", [("sex",), ()])
def test_parts_count_what_memory_counts(keys: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole release is counted, not the sample of it, whichever parts the records lie in."""
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
    plan = {"columns": columns, "requirements": privacy, "output": {"format": "parquet"}}
    frame.write_parquet(tmp_path / "t.parquet")
    unproved = not keys
    by_parts = shoal.protect(
        tmp_path / "t.parquet", {**plan, "exact": False}, tmp_path / "out", seed=1, unproved=unproved
    )
    in_memory = shoal.protect(frame, plan, seed=1)
    assert set(by_parts.account.singled_out) == set(in_memory.account.singled_out)
    assert max(one.alone for one in in_memory.account.singled_out) > 200
