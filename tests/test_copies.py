"""Several synthetic copies of one table: each proved, written beside each other, and combined."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table
from shoal.vocabulary.errors import DataError, ParameterError, PlanError, Refused

COLUMNS = {"age": "quasi-identifier", "pay": "quasi-identifier", "ill": "confidential"}
STEPS = [{"partition": "whole", "replace": "cart", "columns": ["age", "pay", "ill"]}]


def people(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(18, 90, n)
    return pl.DataFrame(
        {"age": age, "pay": np.round(1000 + 20 * age + rng.normal(0, 100, n), 2), "ill": rng.choice(["a", "b"], n)}
    )


def plan(copies: int, **sections: object) -> dict[str, object]:
    return {"columns": COLUMNS, "steps": STEPS, "output": {"copies": copies}, **sections}


def test_copies_differ_and_the_first_is_the_release_without_copies() -> None:
    release = shoal.protect(people(), plan(3), seed=7)
    assert len(release.copies) == 3
    assert release.copies[0] is release
    assert shoal.protect(people(), plan(1), seed=7).data.equals(release.data)
    assert len({copy.fingerprint for copy in release.copies}) == 3


def test_every_copy_is_made_again_from_its_seed() -> None:
    release = shoal.protect(people(), plan(3), seed=7)
    for copy, seed in zip(release.further, release.record["seeds of further copies"]):
        assert shoal.protect(people(), plan(1), seed=seed).data.equals(copy.data)


def test_the_files_and_what_the_report_says(tmp_path: Path) -> None:
    release = shoal.protect(people(), plan(3), seed=7)
    release.write(tmp_path / "out", unproved=True)
    public = tmp_path / "out" / "release"
    content = json.loads((public / "evidence.json").read_text())
    names = ["data-1.csv", "data-2.csv", "data-3.csv"]
    assert sorted(path.name for path in public.glob("data*")) == names
    for name, copy in zip(names, release.copies):
        assert pl.read_csv(public / name).equals(pl.DataFrame(copy.data))
        assert content["sha256"][name] == hashlib.sha256((public / name).read_bytes()).hexdigest()
    assert content["copies"] == 3
    assert "3 tables are released" in (public / "report.html").read_text()
    seeds = release.record["seeds of further copies"]
    assert not any(str(seed) in path.read_text() for seed in seeds for path in public.iterdir())


def test_every_copy_is_proved(tmp_path: Path) -> None:
    required = [{"privacy": "k-anonymity", "k": 5}]
    groups = [*STEPS, {"partition": "mdav", "k": 5, "replace": "centroid", "columns": ["age", "pay"]}]
    release = shoal.protect(people(), plan(2, steps=groups, requirements=required), seed=1)
    assert all(copy.evidence.verdicts[0].holds for copy in release.copies)
    with pytest.raises(Refused):
        shoal.protect(people(), plan(2, requirements=required), seed=1)


def test_private_noise_is_not_spent_again() -> None:
    noise = {"mask": "laplace", "epsilon": 1.0, "bounds": {"age": [0, 100]}, "columns": ["age"]}
    with pytest.raises(ParameterError, match="copies must be 1 where a step spends differential privacy"):
        shoal.protect(object(), plan(2, steps=[noise, *STEPS]), seed=1)


def test_a_number_of_copies_is_at_least_one() -> None:
    with pytest.raises(PlanError, match="copies must be a whole number from 1 to 1,000; got 0"):
        shoal.protect(people(), plan(0), seed=1)


def test_an_estimate_from_copies() -> None:
    release = shoal.protect(people(), plan(5), seed=2)

    def mean_pay(table: pl.DataFrame) -> tuple[float, float]:
        return float(table["pay"].mean()), float(table["pay"].var()) / len(table)

    combined = shoal.combine_tables((copy.data for copy in release.copies), mean_pay)
    assert combined.copies == 5
    assert combined.low < people()["pay"].mean() < combined.high


def test_the_private_evidence_has_every_copy(tmp_path: Path) -> None:
    required = [{"privacy": "k-anonymity", "k": 5}]
    groups = [*STEPS, {"partition": "mdav", "k": 5, "replace": "centroid", "columns": ["age", "pay"]}]
    measures = [{"risk": "attribute-inference"}]
    release = shoal.protect(people(), plan(3, steps=groups, requirements=required, measures=measures), seed=1)
    release.write(tmp_path / "out")
    recorded = json.loads((tmp_path / "out" / "private" / "evidence.json").read_text())["private"]["copies"]
    assert [copy["seed"] for copy in recorded] == [str(copy.account.seed) for copy in release.copies]
    for copy, made in zip(recorded, release.copies):
        assert [one["achieved"] for one in copy["requirements"]] == [v.achieved for v in made.evidence.verdicts]
        assert [one["value"] for one in copy["measures"]] == pytest.approx([f.value for f in made.evidence.findings])
    assert len({one["value"] for copy in recorded for one in copy["measures"]}) > 1
    page = (tmp_path / "out" / "private" / "report.html").read_text()
    assert "All copies" in page
    assert "All copies" not in (tmp_path / "out" / "release" / "report.html").read_text()
    assert json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())["private"] is None


def test_copies_of_a_text_file_have_one_type_each_column(tmp_path: Path) -> None:
    """Types follow from released cells, which are whole in one copy of these and in another are not."""
    table = pl.DataFrame({"age": [20, 30] * 20, "pay": [1.5, *[2.0] * 39]})
    write_table(Table(frame=table), tmp_path / "t.csv")
    columns = {"age": "quasi-identifier", "pay": "confidential"}
    tree = {"method": "cart", "smooth": False}
    steps = [{"partition": "whole", "replace": tree, "columns": ["age", "pay"]}, {"mask": "sample", "fraction": 0.5}]
    described = {"columns": columns, "steps": steps, "output": {"copies": 4}}
    release = shoal.protect(read_table(tmp_path / "t.csv"), described, seed=7)
    whole = [(copy.table.frame["pay"] == 2).all() for copy in release.copies]
    assert any(whole) and not all(whole)
    assert {str(copy.table.frame["pay"].dtype) for copy in release.copies} == {"Float64"}


def test_every_copy_is_proved_again_on_its_own_file(tmp_path: Path) -> None:
    """A further table on which the requirement does not hold, whatever was said of it before."""
    alone = {"columns": COLUMNS, "steps": [{"mask": "noise", "variance": 0.1, "columns": ["pay"]}]}
    required = [{"privacy": "k-anonymity", "k": 300}]
    steps = [{"partition": "whole", "replace": "centroid", "columns": ["age", "pay"]}]
    release = shoal.protect(people(), {"columns": COLUMNS, "steps": steps, "requirements": required}, seed=1)
    other = shoal.protect(people(), alone, seed=1)
    other = replace(other, requirements=release.requirements)
    with pytest.raises(Refused, match="300-anonymity"):
        replace(release, further=(other,)).write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_copy_is_written_that_was_changed_after_its_proof(tmp_path: Path) -> None:
    release = shoal.protect(people(), plan(2), seed=7)
    changed = replace(release.further[0], fingerprint="0" * 64)
    with pytest.raises(DataError, match="changed after it was proved"):
        replace(release, further=(changed,)).write(tmp_path / "out", unproved=True)
