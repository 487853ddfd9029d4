"""Releases of the same linked tables side by side: figures over persons, and those of each table."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import Run, runner
from shoal.vocabulary.errors import FileError

NOMINAL = {"role": "quasi-identifier", "level": "nominal"}
NAMES = ("patients", "stays")


def tables(n: int = 80) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(0)
    patients = pl.DataFrame(
        {"patient": np.arange(n), "sex": rng.choice(["f", "m"], n), "area": rng.choice(["n", "s"], n)}
    )
    of = rng.integers(0, n, 2 * n)
    stays = pl.DataFrame({"patient": of, "ward": rng.choice(["a", "b"], 2 * n), "cost": rng.integers(1, 9, 2 * n)})
    return {"patients": patients, "stays": stays}


def plan(k: int, **more: Any) -> dict[str, Any]:
    return {
        "tables": {
            "patients": {"key": "patient", "columns": {"sex": NOMINAL, "area": NOMINAL}},
            "stays": {
                "parent": "patients",
                "columns": {"ward": NOMINAL, "cost": "confidential"},
                "measures": [{"utility": "records-per-person"}],
            },
        },
        "steps": [{"mask": "profiles", "k": k}],
        "requirements": [{"privacy": "k-anonymity", "k": k}],
        "measures": [{"utility": "k-marginal", "columns": ["patients.sex", "stays.ward"]}],
        **more,
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("releases")
    for k in (2, 5):
        shoal.protect(tables(), plan(k), place / str(k), seed=1)
    return place / "2", place / "5"


def test_figures_over_persons_and_of_each_table_stand_side_by_side(folders: tuple[Path, Path]) -> None:
    """Every figure of every evidence.json is there once, and records are those that the files have."""
    rows = {(row["group"], row["title"]): row["cells"] for row in shoal.compare(*folders).rows}
    assert rows["requirement", "2-anonymity of persons, all records known, over 'patients', 'stays'"] == [2, None]
    expected = {("release", "Records"): [sum(len(read(folder, name)) for name in NAMES) for folder in folders]}
    for name in NAMES:
        expected["release", f"{name}: Records"] = [len(read(folder, name)) for folder in folders]
    for place, folder in enumerate(folders):
        for name in ("", *NAMES):
            content = json.loads((folder / "private" / name / "evidence.json").read_text())
            for measure in content["measures"]:
                title = measure["title"] if not name else f"{name}: {measure['title']}"
                expected.setdefault((measure["kind"], title), [None, None])[place] = measure["value"]
    assert rows["utility", "stays: Change of records per person"][0] is not None
    assert expected.items() <= rows.items()


def read(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(folder / "release" / f"{name}.csv")


def test_in_memory_in_public_and_on_the_command_line(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = shoal.protect(tables(), plan(2), seed=1)
    both = shoal.compare(release, folders[0])
    assert both.private and not both.note
    assert all(row["cells"][0] == row["cells"][1] for row in both.rows)
    assert "stays: Records" in both.to_frame()["figure"]
    run: Run = runner(monkeypatch, capsys)
    status, out, _ = run("compare", *folders, "--out", tmp_path / "page.html")
    assert (status, "patients: Records" in out) == (0, True)
    assert "stays: Records" in (tmp_path / "page.html").read_text()
    for folder in folders:
        copy = tmp_path / folder.name
        copy.mkdir()
        (folder / "release").rename(copy / "release")
    public = shoal.compare(tmp_path / "2", tmp_path / "5")
    assert not public.private
    assert {"Records", "patients: Records", "stays: Records"} <= set(public.to_frame()["figure"])
    for folder in folders:
        (tmp_path / folder.name / "release").rename(folder / "release")


def test_releases_of_other_tables_are_refused(folders: tuple[Path, Path]) -> None:
    fewer = {**tables(), "stays": tables()["stays"].head(100)}
    with pytest.raises(FileError, match="in 'stays' one has 160 records, the other 100"):
        shoal.compare(shoal.protect(tables(), plan(2), seed=1), shoal.protect(fewer, plan(2), seed=1))
    columns = {"patient": "identifier", "sex": NOMINAL, "area": NOMINAL}
    alone = shoal.protect(tables()["patients"], {"columns": columns}, seed=1, unproved=True)
    with pytest.raises(FileError, match="only one has 'patients', 'stays'"):
        shoal.compare(alone, folders[0])
    other = {**tables(), "stays": tables()["stays"].with_columns(cost=pl.col("cost") + 1)}
    assert "different cells" in shoal.compare(folders[0], shoal.protect(other, plan(2), seed=1)).note
