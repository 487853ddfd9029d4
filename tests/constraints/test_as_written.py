"""Rules are judged on the file, as exactly as its cells are written."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.constraints import Constraints
from shoal.constraints.precision import written_decimals
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError, Refused


def holding(a: list[float], b: list[float], total: list[float]) -> Records:
    return Records.from_array(np.array([a, b, total]).T, names=["a", "b", "total"])


def test_a_bound_of_one_column_has_no_tolerance() -> None:
    rules = Constraints.parse(["a >= 0"], holding([1.0, 900.0], [0, 0], [0, 0]))
    past = holding([-9.9e-14, 900.0], [0, 0], [0, 0])
    assert rules.check(past)[0].holds
    assert not rules.as_written().check(past)[0].holds
    assert rules.on_bounds(past)["a"].values.tolist() == [0.0, 900.0]


def test_what_rounding_put_past_a_bound_is_put_on_it_and_nothing_else() -> None:
    rules = Constraints.parse(["b >= 5 -> a <= 0.3", "a + b == total"], holding([0.1, 0.2], [5, 6], [5.1, 6.2]))
    past = holding([0.1 + 0.2, 0.1 + 0.2, 0.7], [5, 4, 5], [5.3, 4.3, 5.7])
    assert rules.on_bounds(past)["a"].values.tolist() == [0.3, 0.1 + 0.2, 0.7]


def test_sums_of_decimals_are_exact_however_large() -> None:
    """Cents of hundreds of millions: a cent is less than the tolerance for what is computed."""
    table = holding([123456789.01, 1.0], [987654321.02, 2.0], [1111111110.04, 3.0])
    rules = Constraints.parse(["a + b == total"], table)
    assert not rules.check(table)[0].holds
    right = holding([123456789.01, 1.0], [987654321.02, 2.0], [1111111110.03, 3.0])
    assert rules.check(right)[0].holds
    computed = holding([123456789.01, 1.0], [987654321.02, 2.0], [1111111110.04, 1 / 3 + 8 / 3 - 1e-13])
    assert rules.check(computed)[0].holds  # whose total is not written in decimals


@pytest.mark.parametrize("seed", range(8))
def test_noise_under_rules_is_written_as_promised(seed: int, tmp_path: Path) -> None:
    """The cells of the file, read as decimals by Python alone, obey every rule to the last digit."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 50000, 60) / 100, rng.integers(0, 50000, 60) / 100
    b = np.maximum(b, 0.1)
    frame = pl.DataFrame({"a": a, "b": b, "total": np.round(a + b, 2)})
    cents = {name: {"role": "other", "decimals": 2} for name in frame.columns}
    said = {
        "columns": cents,
        "steps": [{"mask": "noise", "variance": 2.0, "columns": ["a", "b"]}],
        "constraints": ["a + b == total", "a >= 0", "b >= 0.1", "a <= 500"],
        "output": {"format": "csv"},
    }
    out = shoal.protect(frame, said, seed=seed).write(tmp_path / "out", unproved=True)
    for line in (out / "release" / "data.csv").read_text().splitlines()[1:]:
        x, y, total = map(Decimal, line.split(","))
        assert x + y == total
        assert 0 <= x <= 500
        assert y >= Decimal("0.1")


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (["sex == 'm'"], [4]),
        (["sex in ('m', 'x')"], [4]),
        (["age >= 3 -> sex == 'm'"], [2]),
        (["sex == 'm' -> age >= 5"], [0]),
        (["age <= 2", "age >= 3"], [2, 2]),
    ],
)
def test_an_audit_judges_rules_that_no_record_of_the_release_can_obey(rules: list[str], broken: list[int]) -> None:
    """The category may be one of which no record is left; the original had it."""
    frame = pl.DataFrame({"sex": ["f"] * 4, "age": [1, 2, 3, 4]})
    verdicts = shoal.audit(frame, {"columns": dict.fromkeys(frame.columns, "quasi-identifier"), "constraints": rules})
    assert [verdict.achieved for verdict in verdicts.verdicts] == broken


FORMATS = ("csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds")


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_is_read_back_and_judged(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that puts one cell past its bound, by a ten-thousandth, is found out by the rule and by nothing else."""
    frame = pl.DataFrame({"x": [0.5, 0.7, 0.25], "s": ["a", "b", "a"]})
    said = {
        "columns": {"x": "other", "s": "other"},
        "constraints": ["x <= 0.7", "s == 'b' -> x >= 0.6"],
        "output": {"format": ending},
    }
    release = shoal.protect(frame, said, seed=1)
    release.write(tmp_path / "right", unproved=True)

    def careless(step: float) -> Callable[..., None]:
        def write(table: Table, path: Path, **how: bool) -> None:
            moved = pl.when(pl.col("s") == "b").then(pl.col("x") + step).otherwise("x")
            write_table(replace(table, frame=table.frame.with_columns(moved.alias("x"))), path, **how)

        return write

    for step, rule in ((1e-4, "x <= 0.7"), (-0.2, "s == 'b' -> x >= 0.6")):
        monkeypatch.setattr(sys.modules["shoal.release.publish"], "write_table", careless(step))
        with pytest.raises(Refused, match=re.escape(f"1 record breaks the rule {rule!r}")):
            release.write(tmp_path / "wrong", unproved=True)
    assert [path.name for path in tmp_path.iterdir()] == ["right"]


@pytest.mark.parametrize("ending", FORMATS)
def test_single_precision_in_every_format(ending: str, tmp_path: Path) -> None:
    """Text has the digits of 0.7, above the bound; the others the number in single precision, below it."""
    frame = pl.DataFrame({"x": pl.Series([0.5, 0.7], dtype=pl.Float32)})
    said = {"columns": {"x": "other"}, "constraints": ["x <= 0.69999999"], "output": {"format": ending}}
    release = shoal.protect(frame, said, seed=1)
    if ending == "csv":
        with pytest.raises(Refused, match=r"1 record breaks the rule 'x <= 0\.69999999'"):
            release.write(tmp_path / "out", unproved=True)
        return
    path = release.write(tmp_path / "out", unproved=True) / "release" / f"data.{ending}"
    assert read_table(path).frame["x"].max() == np.float32(0.7)
    assert shoal.audit(path, said).holds


def said_of(rule: str, frame: pl.DataFrame) -> str:
    plan = {"columns": dict.fromkeys(frame.columns, "confidential"), "constraints": [rule]}
    (verdict,) = shoal.protect(frame, plan, seed=1).evidence.verdicts
    return verdict.public_sentence


def test_a_sum_of_decimals_that_floats_break_by_a_bit_is_proved_in_decimals_and_says_so() -> None:
    cents = np.random.default_rng(5).integers(0, 100_000, (300, 2))
    frame = pl.DataFrame({"a": cents[:, 0] / 100, "b": cents[:, 1] / 100, "s": cents.sum(axis=1) / 100})
    assert (frame["a"] + frame["b"] != frame["s"]).sum() > 20
    assert said_of("a + b == s", frame) == (
        "All 300 records obey the rule 'a + b == s', computed in decimals (to 2 places)."
    )
    assert said_of("0.1*a <= s", frame).endswith("computed in decimals (to 3 places).")


def test_a_sum_of_numbers_that_are_no_decimals_is_proved_but_for_rounding_and_says_so() -> None:
    x = np.random.default_rng(5).normal(0, 100, (300, 2))
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "s": x.sum(axis=1)})
    assert said_of("a == s - b", frame) == (
        "All 300 records obey the rule 'a == s - b', but for rounding: within 0.0000000001 of the size and spread of "
        "its terms."
    )


def test_whole_numbers_bounds_and_categories_are_compared_as_they_are() -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": [3, 4], "s": [4, 6], "x": [1 / 3, 0.1], "sex": ["m", "f"]})
    for rule in ("a + b == s", "x >= 0.1", "sex == 'm' -> x >= 0.3"):
        assert said_of(rule, frame) == f"All 2 records obey the rule {rule!r}."


def test_how_a_rule_was_judged_tells_nothing_of_records_that_are_not_released() -> None:
    """A cell with more decimals, and one that is no decimal, are rounded away, as the plan says."""
    tenths = {"role": "confidential", "decimals": 1}
    plan = {"columns": {"a": tenths, "b": tenths}, "constraints": ["a <= b"]}
    sentences = set()
    for cell in (0.5, 0.512, 1 / 3):
        frame = pl.DataFrame({"a": [0.1, 0.2, cell], "b": [0.9, 0.8, 0.7]})
        (verdict,) = shoal.protect(frame, plan, seed=1).evidence.verdicts
        sentences.add((verdict.public_sentence, str(verdict.public_form()["facts"])))
    assert len(sentences) == 1


def test_the_input_is_judged_in_its_decimals() -> None:
    """A cent is missing in a sum of billions."""
    frame = pl.DataFrame({"a": [5e9 + 0.01, 1.5], "b": [4e9 + 0.01, 2.5], "s": [9e9 + 0.01, 4.0]})
    with pytest.raises(DataError, match=re.escape("1 record breaks the rule 'a + b == s'")):
        said_of("a + b == s", frame)


@pytest.mark.parametrize(
    ("cells", "places"),
    [
        ([0.0, np.nan], 0),
        ([], 0),
        ([1.5, 2.25], 2),
        ([0.1 + 0.2], None),
        ([1 / 3], None),
        ([0.1, 1e9 + 0.01], 2),
        ([1e12 + 0.5], None),
        ([1.7e14 + 1], 0),
        ([1e-15], 15),
        ([1e300], None),
        ([8.123456789012345], None),
    ],
)
def test_decimals_of_cells(cells: list[float], places: int | None) -> None:
    assert written_decimals(np.array(cells)) == places
