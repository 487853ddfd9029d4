"""Keys and links that are guessed are those that were planted, in tables whose numbers are among keys by chance."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.plan.linked_guess import guess_links
from shoal.table.links import Key
from shoal.vocabulary.errors import DataError


def bank(*, cards: bool = True) -> dict[str, pl.DataFrame]:
    """Accounts that clients share, as banks write them: who disposes of which, cards, loans, districts."""
    rng = np.random.default_rng(7)
    n, clients = 400, 480
    accounts, people = rng.permutation(np.arange(1, 2 * n, 2)), rng.permutation(np.arange(3, 3 + clients))
    owned = np.concatenate([accounts, rng.choice(accounts, clients - n, replace=False)])
    disposers = np.arange(9, 9 + clients)
    days = [int(f"93{month:02}{day:02}") for month, day in zip(rng.integers(1, 13, 120), rng.integers(1, 29, 120))]
    tables = {
        "account": {"account_id": accounts, "district_id": rng.integers(1, 16, n), "pays": rng.choice(["m", "w"], n)},
        "client": {
            "client_id": people,
            "born": rng.integers(1930, 1980, clients),
            "district_id": rng.integers(1, 16, clients),
        },
        "disp": {
            "disp_id": disposers,
            "client_id": people,
            "account_id": owned,
            "type": ["o"] * n + ["d"] * (clients - n),
        },
        "loan": {"loan_id": range(1, 121), "account_id": rng.choice(accounts, 120, replace=False), "date": days},
        "district": {
            "A1": range(1, 16),
            "A2": [f"place {letter}" for letter in "abcdefghijklmno"],
            "A4": rng.permutation(15) + 100,
        },
    }
    if cards:
        tables["card"] = {
            "card_id": range(1, 91),
            "disp_id": rng.choice(disposers, 90, replace=False),
            "kind": ["g", "s"] * 45,
        }
    return {name: pl.DataFrame(dict(columns)) for name, columns in tables.items()}


def written(tables: dict[str, pl.DataFrame], folder: Path) -> Path:
    folder.mkdir()
    for name, table in tables.items():
        table.write_csv(folder / f"{name}.csv")
    return folder


def test_a_bank_hangs_on_its_accounts() -> None:
    hanging = guess_links(bank())
    assert {name: guessed.key for name, guessed in hanging.tables.items()} == {
        "account": Key(key="account_id"),
        "disp": Key(key="disp_id", parent="account", link="account_id"),
        "loan": Key(parent="account", link="account_id"),
        "card": Key(parent="disp", link="disp_id"),
    }
    assert hanging.tables["account"].reason.endswith(
        "up to 2 rows of 'client' share one, so promises count rows of 'account'"
    )
    assert hanging.left_out["district"] == (
        "'district' is left out: 'district_id' of 'account', 'client' looks its rows up by 'A1', and promises do not "
        "count them. Join the columns that you need to 'account' and draft again, or protect it by itself."
    )
    assert hanging.left_out["client"] == (
        "'client' is left out: it hangs on 'disp' by 'client_id', others do by 'disp_id', and a table has one key. "
        "Join its columns to 'disp', or 'disp_id' to it, and draft again."
    )


def as_advised(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """What the sentence on clients says: each client's row with the number of who disposes."""
    numbers = tables["disp"].select("client_id", "disp_id")
    return {**tables, "client": tables["client"].join(numbers, on="client_id")}


@pytest.mark.parametrize("which", ["as it came", "as advised", "without cards"])
def test_the_plan_of_a_bank_runs_unchanged(which: str, tmp_path: Path) -> None:
    given = {"as it came": bank(), "as advised": as_advised(bank()), "without cards": bank(cards=False)}[which]
    folder = written(given, tmp_path / "bank")
    drafted = shoal.init(folder, tmp_path / "plan.yaml")
    text = (tmp_path / "plan.yaml").read_text()
    assert "# 'district' is left out" in text
    assert "# rows can be put in order; if that is known, add to profiles and to a requirement order: date" in text
    assert ("client" in drafted.keys) == (which != "as it came")
    column = drafted.as_mapping()["tables"]["account"]["columns"]["district_id"]
    assert column == {"role": "quasi-identifier", "level": "nominal"}, "a name, of which there is no mean"
    release = shoal.protect(folder, tmp_path / "plan.yaml", seed=1)
    assert release.evidence.holds and release.record["persons left out"] == 0
    released = release.to_frames()
    assert len(released["account"]) == 400
    known = [c for c in ("district_id", "pays") if c in released["account"].columns]
    below = released["loan"].group_by("account_id").agg(pl.col("date").sort())
    disposers = released["disp"].group_by("account_id").agg(pl.col("type").sort())
    profiles = released["account"].join(below, on="account_id", how="left").join(disposers, on="account_id", how="left")
    counts = profiles.group_by(*known, "date", "type").len()["len"]
    assert counts.min() >= 5, "by hand"
    assert len(counts) >= 20, "and accounts still differ"


def people(n: int = 60) -> dict[str, pl.DataFrame]:
    """Patients and visits as databases number them: each table by its own `id`, and links called `patient_id`."""
    rng = np.random.default_rng(1)
    visits = 3 * n
    return {
        "patients": pl.DataFrame(
            {"id": range(1, n + 1), "visits": rng.integers(1, 9, n), "sex": ["f", "m"] * (n // 2)}
        ),
        "visits": pl.DataFrame(
            {
                "id": range(1, visits + 1),
                "visit_no": [1, 2, 3] * n,
                "patient_id": np.repeat(np.arange(1, n + 1), 3),
                "ward_id": rng.integers(1, 8, visits),
            }
        ),
        "labs": pl.DataFrame({"visit_no": [1, 2, 3] * n, "visit_id": rng.integers(1, visits + 1, visits)}),
    }


def test_numbers_that_count_are_no_links() -> None:
    """The number of a patient's visits, and of a visit among the patient's, are all keys of visits by chance."""
    links = guess_links(people()).tables
    assert {name: guessed.key for name, guessed in links.items()} == {
        "patients": Key(key="id"),
        "visits": Key(key="id", parent="patients", link="patient_id"),
        "labs": Key(parent="visits", link="visit_id"),
    }
    with pytest.raises(DataError, match="'patients', 'labs' hang on no other"):
        guess_links({**people(), "labs": people()["labs"].drop("visit_id")})


def test_wards_are_looked_up_and_doctors_too() -> None:
    wards = pl.DataFrame({"ward_id": range(1, 8), "beds": [10, 20, 30, 10, 20, 30, 10]})
    hanging = guess_links({**people(), "wards": wards})
    assert list(hanging.tables) == ["patients", "visits", "labs"]
    assert list(hanging.left_out) == ["wards"]
    assert hanging.names["visits"] == {"ward_id": "wards"}


def test_visits_are_not_taken_for_persons_where_wards_are_left_out() -> None:
    """Without a table of patients nothing has a row each, so wards stay the first table, and fewer are promised."""
    tables = {"wards": pl.DataFrame({"ward_id": range(1, 8), "beds": [5] * 7}), "visits": people()["visits"]}
    assert list(guess_links(tables).tables) == ["wards", "visits"]


def test_who_is_linked_to_two_is_asked_about() -> None:
    rng = np.random.default_rng(0)
    sales = pl.DataFrame(
        {"buyer": [f"B{i}" for i in rng.integers(0, 50, 500)], "item": [f"I{i}" for i in rng.integers(0, 40, 500)]}
    )
    tables = {
        "buyers": pl.DataFrame({"buyer": [f"B{i}" for i in range(50)], "sex": ["f", "m"] * 25}),
        "items": pl.DataFrame({"item": [f"I{i}" for i in range(40)], "price": [1.5] * 40}),
        "sales": sales,
    }
    with pytest.raises(
        DataError,
        match=r"'buyers', 'items' hang on no other.*'sales' hangs on 'buyers', 'items': if but one is of persons, "
        r"leave the file of the other out, which 'sales' looks up\. Write the plan by hand, with parent and link",
    ):
        guess_links(tables)
    del tables["items"]
    assert guess_links(tables).tables["sales"].key == Key(parent="buyers", link="buyer")


NAMES = ("patients", "visits", "labs", "drugs", "bills")


def random_tables(rng: np.random.Generator) -> tuple[dict[str, pl.DataFrame], dict[str, tuple[str, str]]]:
    """Tables with whole numbers among each other's keys, and the links that were planted, by table."""
    names = list(NAMES[: rng.integers(2, 6)])
    planted: dict[str, tuple[str, str]] = {}
    rows = {name: int(rng.integers(30, 90)) for name in names}
    keys = {name: str(rng.choice([f"{name[:-1]}_id", "id", "record_id", "number", name[:-1]])) for name in names}
    columns: dict[str, dict[str, Any]] = {name: {} for name in names}
    for place, name in enumerate(names):
        first = int(rng.choice([0, 1, 1, 1000]))
        decoys = {
            "number": rng.integers(1, rng.integers(3, 90), rows[name]),
            "visits": rng.integers(1, rng.integers(3, 90), rows[name]),
            "visit": rng.integers(1, 6, rows[name]),
            "visit_no": rng.integers(1, 6, rows[name]),
            "count": rng.integers(0, rng.integers(2, 90), rows[name]),
            "rank": rng.permutation(rows[name]) + 1,
            "year": rng.integers(1990, 2020, rows[name]),
            "group": rng.choice(["a", "b", "c"], rows[name]),
        }
        chosen = rng.permutation([column for column in decoys if column != keys.get("visits")])[: rng.integers(2, 7)]
        columns[name] = {column: decoys[column] for column in chosen} | {keys[name]: first + np.arange(rows[name])}
        if place and rng.random() < 0.8:
            parent = names[int(rng.integers(0, place))]
            link = f"{parent[:-1]}_id"
            if link not in columns[name]:
                columns[name][link] = rng.choice(columns[parent][keys[parent]], rows[name])
                planted[name] = (parent, link)
    shuffled = {name: list(rng.permutation(list(columns[name]))) for name in rng.permutation(names)}
    return {name: pl.DataFrame({c: columns[name][c] for c in order}) for name, order in shuffled.items()}, planted


def test_in_random_tables_no_link_is_guessed_that_was_not_planted() -> None:
    guessed = wanted = 0
    for seed in range(by_night(50, 200)):
        tables, planted = random_tables(np.random.default_rng(seed))
        wanted += len(planted) == len(tables) - 1
        try:
            links = guess_links(tables).tables
        except DataError:
            continue
        guessed += 1
        assert {n: (g.key.parent, g.key.link) for n, g in links.items() if g.key.parent} == planted, seed
    assert guessed >= 0.5 * wanted > by_night(7, 30), "and most that were planted are seen"
