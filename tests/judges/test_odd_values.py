"""Numbers that no original record could have."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import cli
from shoal.judges.odd_values import BEYOND, FRACTIONS, NEGATIVE, odd_values
from shoal.table.variable import Variable


def column(*values: float) -> Variable:
    return Variable(name="a", role="other", level="continuous", values=np.array(values))


def test_by_hand() -> None:
    """1 to 10: the range ends at 1 - (5 - 1) / 5 = .2 and 10 + (10 - 6) / 5 = 10.8."""
    before = column(*range(1, 11))
    assert odd_values(before, column(1, 10, 5, np.nan)) == {}
    assert odd_values(before, column(-1, 0, 11, 10.5, 3)) == {NEGATIVE: 1, BEYOND: 2, FRACTIONS: 1}
    assert odd_values(before, column(-1, 10.5), averages=True) == {NEGATIVE: 1}
    assert odd_values(column(-4, -2, 0, 2, 4), column(-5, -6, 5, 7)) == {BEYOND: 2}


def test_no_numbers_have_no_range() -> None:
    nominal = Variable(name="a", role="other", level="nominal", values=np.zeros(2, np.int32), categories=("x",))
    assert odd_values(column(1, 2), nominal) == odd_values(nominal, column(1, 2)) == {}
    assert odd_values(column(np.nan), column(-1.5)) == {}


def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame({"dose": rng.lognormal(size=300), "age": rng.integers(20, 60, 300)})


def plan(**replacement: object) -> dict[str, object]:
    return {
        "columns": {"dose": "quasi-identifier", "age": "quasi-identifier"},
        "steps": [{"partition": "whole", "replace": replacement}],
    }


def test_a_warning_with_the_count_and_nothing_public(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = shoal.protect(table(), plan(method="normal"), seed=1)
    negative = int((pl.DataFrame(release.data)["dose"] < 0).sum())
    assert negative > 20
    assert release.account.odd_values["dose"][NEGATIVE] == negative
    table().write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.yaml").write_text(json.dumps(plan(method="normal")))
    arguments = ["protect", str(tmp_path / "in.csv"), "--plan", str(tmp_path / "plan.yaml"), "--seed", "1"]
    monkeypatch.setattr("sys.argv", ["shoal", *arguments, "--out", str(tmp_path / "out"), "--unproved"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert not end.value.code
    assert f"'dose' has {negative} values {NEGATIVE}" in capsys.readouterr().err
    private = json.loads((tmp_path / "out" / "private" / "evidence.json").read_text())["private"]
    assert private["values that cannot be"]["dose"][NEGATIVE] == negative
    assert "values that no original record could have" in (tmp_path / "out" / "private" / "report.html").read_text()
    for path in (tmp_path / "out" / "release").iterdir():
        assert "cannot be" not in path.read_text() and "original record could" not in path.read_text()


@pytest.mark.parametrize("method", ["cart", "forest", "sequential-regression"])
def test_default_synthesis_has_none(method: str) -> None:
    assert shoal.protect(table(), plan(method=method), seed=1).account.odd_values == {}


def test_averages_of_whole_numbers_are_no_surprise() -> None:
    aggregated = {**plan(method="centroid"), "steps": [{"partition": "mdav", "k": 7, "columns": ["age"]}]}
    assert shoal.protect(table(), aggregated, seed=1).account.odd_values == {}
    noisy = {**aggregated, "steps": [*aggregated["steps"], {"mask": "noise", "variance": 0.1, "columns": ["age"]}]}
    assert FRACTIONS in shoal.protect(table(), noisy, seed=1).account.odd_values["age"]
