"""Keys and links of tables that hang together, guessed from their cells."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import only_by_night
from command_line import runner
from shoal.desk.init import drafted
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_guess import guess_links
from shoal.table.links import Key
from shoal.vocabulary.errors import DataError, ParameterError

N = 60


def hospital() -> dict[str, pl.DataFrame]:
    """Drugs name the patient as well as the stay; labs know the patient by another name; counts look like keys."""
    ids = [f"P{number:03}" for number in range(N)]
    stays = [f"S{number:03}" for number in range(2 * N)]
    return {
        "drugs": pl.DataFrame({"drug": ["a", "b"] * N, "stay": stays, "patient": ids * 2}).head(2 * N - 5),
        "labs": pl.DataFrame({"who": ids * 3, "value": [1, 2, 3] * N}),
        "patients": pl.DataFrame({"patient": ids, "sex": ["f", "m"] * (N // 2), "number": range(N)}),
        "stays": pl.DataFrame({"stay": stays, "patient": ids * 2, "days": [1, 2] * N}).with_columns(
            came=pl.Series([18_000 + number for number in range(2 * N)]).cast(pl.Int32).cast(pl.Date)
        ),
    }


def test_a_table_hangs_on_the_lowest_that_it_can() -> None:
    links = guess_links(hospital()).tables
    assert next(iter(links)) == "patients"
    assert {name: guessed.key for name, guessed in links.items()} == {
        "patients": Key(key="patient"),
        "stays": Key(key="stay", parent="patients", link="patient"),
        "drugs": Key(parent="stays", link="stay"),
        "labs": Key(parent="patients", link="who"),
    }
    assert links["patients"].reason == "'patient' has a value of its own in each row"
    assert links["labs"].reason == "all 60 values of 'who' are 'patient' of 'patients'"


def test_tables_that_do_not_hang_together_are_refused() -> None:
    tables = hospital()
    tables["labs"] = tables["labs"].with_columns(who=pl.lit("somebody"))
    with pytest.raises(DataError, match="No links were seen that make all tables hang on one: 'labs', 'patients' hang"):
        guess_links(tables)
    orphan = {**hospital(), "stays": hospital()["stays"].with_columns(patient=pl.lit("P999"))}
    with pytest.raises(DataError, match="Write the plan by hand"):
        guess_links(orphan)


def test_a_folder_gets_a_plan_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, table in hospital().items():
        table.write_csv(tmp_path / f"{name}.csv")
    status, text, _ = runner(monkeypatch, capsys)("init", tmp_path)
    assert status == 0
    assert "# rows can be put in order; if that is known, add to profiles and to a requirement order: came" in text
    (tmp_path / "plan.yaml").write_text(text)
    drafted = LinkedPlan.of(tmp_path / "plan.yaml")
    assert drafted.as_mapping() == shoal.init(tmp_path).as_mapping()
    assert drafted.files["labs"] == "labs.csv"
    release = shoal.protect(tmp_path, tmp_path / "plan.yaml", seed=1)
    assert release.evidence.holds and release.record["persons left out"] == 0
    assert [step.k for step in drafted.steps] == [5]
    with pytest.raises(ParameterError, match="A plan for several tables is drafted as it is"):
        shoal.init(hospital(), synthetic=True)


def test_missing_cells_are_filled_in_by_nothing() -> None:
    """A date of death that most lack stays missing: a median would give everybody one."""
    tables = hospital()
    died = pl.when(pl.col("number") % 9 == 0).then(pl.lit("2020-05-01").str.to_date())
    tables["patients"] = tables["patients"].with_columns(died=died, sex=pl.col("sex").replace({"m": None}))
    columns = shoal.init(tables).as_mapping()["tables"]["patients"]["columns"]
    assert columns["died"]["missing"] == columns["sex"]["missing"] == "keep"
    assert shoal.protect(tables, shoal.init(tables), seed=1).evidence.holds


def test_parts_of_one_table_are_no_linked_tables(tmp_path: Path) -> None:
    from shoal.desk.files_of_tables import tables_in_files

    for part in ("a", "b"):
        hospital()["labs"].write_parquet(tmp_path / f"{part}.parquet")
    assert tables_in_files(tmp_path) == {}
    hospital()["stays"].write_parquet(tmp_path / "c.parquet")
    assert list(tables_in_files(tmp_path)) == ["a", "b", "c"]
    assert tables_in_files(tmp_path / "a.parquet") == {}


def insurer(n: int = 600, seed: int = 0) -> dict[str, pl.DataFrame]:
    """Insured people, their contracts, the claims of each, and what was paid; many have several of each."""
    rng = np.random.default_rng(seed)
    contracts, claims, payments = 2 * n, 2 * n, 3 * n
    day = np.datetime64("2019-01-01")
    return {
        "insured": pl.DataFrame(
            {
                "number": [f"N{i:05}" for i in rng.permutation(n)],
                "gender": rng.choice(["female", "male"], n),
                "birth_date": (day - rng.integers(7_000, 30_000, n)).astype("datetime64[D]"),
                "postcode": [f"{a}{b:04}" for a, b in zip(rng.integers(1, 4, n), rng.integers(0, 9_999, n))],
                "income": np.round(np.exp(rng.normal(10, 0.6, n)), 2),
            }
        ),
        "contracts": pl.DataFrame(
            {"contract": range(1, contracts + 1), "kind": rng.choice(["car", "home", "life"], contracts)}
        ),
        "claims": pl.DataFrame(
            {
                "claim": [f"C{i:06}" for i in range(claims)],
                "contract": rng.integers(1, contracts + 1, claims),
                "reported": (day + rng.integers(0, 1_000, claims)).astype("datetime64[D]"),
                "amount": np.round(np.exp(rng.normal(6, 1, claims)), 2),
            }
        ),
        "payments": pl.DataFrame(
            {"claim": [f"C{i:06}" for i in rng.integers(0, claims, payments)], "share": rng.random(payments)}
        ),
    }


def joined() -> dict[str, pl.DataFrame]:
    tables = insurer()
    rng = np.random.default_rng(5)
    owner = tables["insured"]["number"].gather(rng.integers(0, 600, 1_200))
    return {**tables, "contracts": tables["contracts"].with_columns(number=owner)}


def profiles(tables: dict[str, pl.DataFrame], links: dict[str, tuple[str | None, str | None]], known: Any) -> list[Any]:
    """The profile of each person by loops over dictionaries; `links`: parent and column of the link, by table."""
    root = next(name for name, (parent, _) in links.items() if parent is None)
    keys = {name: next((link for parent, link in links.values() if parent == name), None) for name in links}

    def branch(name: str, row: dict[str, Any]) -> tuple[Any, ...]:
        below = []
        for other, (parent, _) in links.items():
            if parent == name:
                rows = rows_by_link[other].get(row[keys[name]], [])
                below.append(tuple(sorted((branch(other, r) for r in rows), key=repr)))
        return (*(row[column] for column in known[name]), *below)

    rows_by_link: dict[str, dict[Any, list[dict[str, Any]]]] = {}
    for name, (_, link) in links.items():
        rows_by_link[name] = {}
        for row in tables[name].iter_rows(named=True):
            rows_by_link[name].setdefault(row[link] if link else None, []).append(row)
    return [branch(root, row) for row in tables[root].iter_rows(named=True)]


@pytest.mark.parametrize("which", ["hospital", pytest.param("insurer", marks=only_by_night)])
def test_a_guessed_plan_runs_unchanged_and_keeps_everybody(which: str, tmp_path: Path) -> None:
    given = shoal.example_tables(1_000) if which == "hospital" else joined()
    folder = tmp_path / which
    folder.mkdir()
    for name, table in given.items():
        table.write_csv(folder / f"{name}.csv")
    drafted = shoal.init(folder, tmp_path / "plan.yaml")
    release = shoal.protect(folder, tmp_path / "plan.yaml", seed=1)
    assert release.evidence.holds
    released = release.to_frames()
    assert len(released[drafted.root]) == len(given[drafted.root])
    links = {name: (key.parent, key.link) for name, key in drafted.keys.items()}
    known = {
        name: [c for c in plan.schema.names("quasi-identifier") if c in released[name].columns]
        for name, plan in drafted.tables.items()
    }
    by_person = profiles(released, links, known)
    counts = {profile: by_person.count(profile) for profile in set(by_person)}
    assert min(counts.values()) >= 5, "by hand"
    assert len(counts) >= 50, "and people still differ"
    left_out = {"household"} if which == "hospital" else set()
    assert {c for t in given.values() for c in t.columns} - {
        c for t in released.values() for c in t.columns
    } == left_out


def test_a_measurement_that_gives_a_known_column_back_is_made_alike(tmp_path: Path) -> None:
    """Each value is of one test only, so values left as they are would tell the tests that profiles change."""
    shoal.init(shoal.example_tables(1_000), tmp_path / "plan.yaml")
    text = (tmp_path / "plan.yaml").read_text()
    assert "value: {role: quasi-identifier, level: continuous}" in text
    assert "a measurement that an intruder wants to learn; made alike, too, for it gives 'test' back" in text
    assert "a household number; left out, for it tells which persons are one household" in text


def test_too_few_persons_to_hide() -> None:
    tables = {
        "people": pl.DataFrame({"id": ["a", "b", "c"], "sex": ["f", "m", "f"]}),
        "visits": pl.DataFrame({"id": ["a", "a", "b"], "ward": ["x", "y", "x"]}),
    }
    plan = shoal.init(tables)
    assert [step.k for step in plan.steps] == [model.k for model in plan.requirements] == [3]


def test_times_in_utc_order_the_rows_and_come_back_with_their_z(tmp_path: Path) -> None:
    """Exports of health records write 2020-01-03T10:15:00Z: a time that rows are in order by, and no text."""
    tables = hospital()
    clock = pl.col("came").cast(pl.String).str.slice(0, 10) + pl.lit("T10:15:00Z")
    tables["stays"] = tables["stays"].with_columns(came=clock)
    files = [tmp_path / f"{name}.csv" for name in tables]
    for path, table in zip(files, tables.values(), strict=True):
        table.write_csv(path)
    text = drafted(files)
    assert "# rows can be put in order; if that is known, add to profiles and to a requirement order: came" in text
    (tmp_path / "plan.yaml").write_text(text)
    shoal.protect(files, tmp_path / "plan.yaml", tmp_path / "out", seed=1)
    cells = pl.read_csv(tmp_path / "out/release/stays.csv", infer_schema=False)["came"].drop_nulls()
    assert len(cells) and cells.str.contains(r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3}|\.\d{6})?Z$").all()
