"""Groups kept over releases: averages that follow their members, and an adversary who reads release/ folders only."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal.vocabulary.errors import ParameterError, Refused
from waves import K, data, known_of, registry

NAMES = ("age", "distance")
COLUMNS = {
    "person": "identifier",
    "age": "quasi-identifier",
    "distance": "quasi-identifier",
    "pay": "confidential",
    "left": "identifier",
}
ALONE: dict[str, Any] = {
    "columns": COLUMNS,
    "steps": [{"partition": "mdav", "k": K}],
    "requirements": [{"privacy": "k-anonymity", "k": K}],
}
KEPT = {**ALONE, "ledger": {"key": "person", "hold_back": True, "left": "left", "newcomers": 10}}


def in_numbers(table: pl.DataFrame, month: int) -> pl.DataFrame:
    """The registry with an age, which grows, and a distance, which is another one after a move or a correction."""
    place = pl.col("region").replace_strict(dict(zip("NSEW", range(4))), return_dtype=pl.Int64) * 4 + pl.col("cohort")
    return table.select(
        "person",
        age=(20 + pl.col("person") * 7919 % 600 / 10 + month / 12).round(1),
        distance=(pl.col("person") * 104_729 + place * 3331) % 1000 / 10,
        pay="pay",
        left="left",
    )


def loss(folder: Path, table: pl.DataFrame) -> float:
    """Squared errors of the released ages and distances of the living, in percent of their squared deviations."""
    both = table.filter(pl.col("left").is_null()).join(pl.read_csv(data(folder)), on="pay", suffix=" released")
    shares = [
        ((both[name] - both[f"{name} released"]) ** 2).sum() / ((both[name] - both[name].mean()) ** 2).sum()
        for name in NAMES
    ]
    return 100 * float(np.mean(shares))


def price_of(release: Any) -> dict[str, int]:
    (facts,) = (step.facts for step in release.account.steps if step.step == "ledger: hold_back")
    return {name: fact.private() for name, fact in facts.items()}


def test_averages_follow_groups_whose_members_stay(tmp_path: Path) -> None:
    """Groups formed anew give four in five persons away, kept ones nobody; no record has the average of others."""
    alone, kept = [], []
    for month, table in enumerate(registry(5, 300, 3)):
        numbers = in_numbers(table, month)
        alone.append(tmp_path / f"alone-{month}")
        kept.append(tmp_path / f"kept-{month}")
        shoal.protect(numbers.filter(pl.col("left").is_null()), ALONE, alone[-1], seed=1)
        release = shoal.protect(numbers, KEPT, kept[-1], seed=1, ledger=tmp_path / "l")
        assert price_of(release)["records with the cells of others"] == 0
    assert np.mean(np.array(list(known_of(alone, NAMES).values())) < K) > 0.8
    assert min(known_of(kept, NAMES).values()) >= K
    assert loss(alone[-1], numbers) < 2
    assert loss(kept[-1], numbers) < 10


def test_an_unchanged_registry_keeps_every_cell(tmp_path: Path) -> None:
    """The same persons with the same values are released alike, whatever the order of records and the seed."""
    numbers = in_numbers(next(registry(1, 100, 4)), 0)
    for number, table in enumerate((numbers, numbers.sample(fraction=1, shuffle=True, seed=2))):
        shoal.protect(table, KEPT, tmp_path / str(number), seed=number, ledger=tmp_path / "l")
    first, second = (pl.read_csv(data(tmp_path / n)).sort("pay") for n in "01")
    assert first.equals(second)


def test_newcomers_wait_for_others(tmp_path: Path) -> None:
    """Nine newcomers wait where ten are asked for; the tenth brings them all."""
    numbers = in_numbers(next(registry(1, 60, 5)), 0)
    for number, (persons, withheld) in enumerate(((50, 0), (59, 9), (60, 0))):
        release = shoal.protect(numbers[:persons], KEPT, tmp_path / str(number), seed=1, ledger=tmp_path / "l")
        assert price_of(release)["records withheld"] == withheld
    with pytest.raises(Refused, match="hold_back withholds every record"):
        shoal.protect(numbers[:9], KEPT, tmp_path / "few", seed=1, ledger=tmp_path / "other")


def test_a_class_whose_values_change_is_withheld_for_m_invariance(tmp_path: Path) -> None:
    """A pay is corrected: without holding back the release is refused; else the group is withheld and counted."""
    numbers = in_numbers(next(registry(1, 60, 6)), 0)
    corrected = numbers.with_columns(pay=pl.when(pl.col("person") == 7).then(9999.5).otherwise("pay"))
    with_m = {**KEPT, "ledger": {**KEPT["ledger"], "m": K}}
    shoal.protect(numbers, with_m, tmp_path / "1", seed=1, ledger=tmp_path / "l")
    release = shoal.protect(corrected, with_m, tmp_path / "2", seed=1, ledger=tmp_path / "l")
    count = price_of(release)["of these for m-invariance"]
    assert K <= count < 2 * K
    assert price_of(release)["records withheld"] == count
    first, second = (pl.read_csv(data(tmp_path / n)) for n in "12")
    absent = set(first["pay"]) - set(second["pay"])
    assert len(absent) == count
    sets = first.group_by("age", "distance").agg("pay")["pay"].to_list()
    assert absent in [set(pays) for pays in sets]
    assert "m-invariance" not in (tmp_path / "2" / "release" / "evidence.json").read_text().replace("5-invariance", "")
    with pytest.raises(Refused, match="are now in a class with other confidential values"):
        plan = {**with_m, "ledger": {"key": "person", "m": K}}
        shoal.protect(corrected, plan, tmp_path / "3", seed=1, ledger=tmp_path / "l")


def test_in_parts_a_ledger_is_kept_and_nothing_is_held_back(tmp_path: Path) -> None:
    """From a folder of Parquet files and by DuckDB, groups formed in blocks: what a table in memory would be refused
    for is refused, too."""
    duckdb = pytest.importorskip("duckdb")
    numbers = in_numbers(next(registry(1, 300, 7)), 0)
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(numbers.iter_slices(100)):
        part.write_parquet(folder / f"{number}.parquet")
    plan = {**ALONE, "exact": False, "ledger": {"key": "person"}, "output": {"format": "csv"}}
    shoal.protect(folder, plan, tmp_path / "1", seed=1, ledger=tmp_path / "l", workers=1)
    for table in (folder, duckdb.sql("from numbers where person <> 7")):
        with pytest.raises(Refused, match=r"Together with release 1 \("):
            shoal.protect(table, {**plan, "steps": []}, tmp_path / "2", seed=1, ledger=tmp_path / "l", workers=1)
    with pytest.raises(ParameterError, match="hold_back forms groups of the whole table at once"):
        shoal.protect(folder, {**KEPT, "exact": False}, tmp_path / "2", ledger=tmp_path / "l")


def test_who_withdraws_takes_the_group_along(tmp_path: Path) -> None:
    """A person who may no longer be released is taken out of the table: the rest of the group is withheld as well."""
    numbers = in_numbers(next(registry(1, 60, 8)), 0)
    folders = [tmp_path / str(number) for number in range(2)]
    shoal.protect(numbers, KEPT, folders[0], seed=1, ledger=tmp_path / "l")
    without = numbers.filter(pl.col("person") != 7)
    release = shoal.protect(without, KEPT, folders[1], seed=1, ledger=tmp_path / "l")
    assert K - 1 <= price_of(release)["records withheld"] < 2 * K - 1
    assert min(known_of(folders, NAMES).values()) >= K


def test_the_same_cells_stay_blank_while_values_do_not_change(tmp_path: Path) -> None:
    """Suppressed anew, people stand alone by what differs; kept, whoever does not change keeps all blanks and cells."""
    roles = {"cohort": {"role": "quasi-identifier", "level": "nominal", "missing": "keep"}, "left": "identifier"}
    roles |= {"region": {"role": "quasi-identifier", "missing": "keep"}, "person": "identifier", "pay": "confidential"}
    alone = {"columns": roles, "steps": [{"mask": "suppress", "k": K}], "requirements": ALONE["requirements"]}
    kept = {**alone, "ledger": {"key": "person", "hold_back": True, "left": "left"}}
    names = ("cohort", "region")
    folders: dict[str, list[Path]] = {"alone": [], "kept": []}
    months = list(registry(4, 120, 3))
    for month, table in enumerate(months):
        for way, described, rows in (("alone", alone, table.filter(pl.col("left").is_null())), ("kept", kept, table)):
            folders[way].append(tmp_path / f"{way}-{month}")
            options = {"ledger": tmp_path / "l"} if way == "kept" else {}
            shoal.protect(rows, described, folders[way][-1], seed=1, **options)
    first, last = (pl.read_csv(data(folder)) for folder in (folders["kept"][0], folders["kept"][-1]))
    assert sum(first[name].null_count() for name in names) == sum(last[name].null_count() for name in names) == 10
    same = months[0].join(months[-1], on=["pay", *names], how="semi")["pay"]
    both = first.join(last, on="pay", suffix=" last").filter(pl.col("pay").is_in(same.implode()))
    changed = sum(both[name].ne_missing(both[f"{name} last"]).sum() for name in names)
    assert (len(both) > 100, changed) == (True, 0)
    assert min(known_of(folders["kept"], names).values()) >= K
    assert min(known_of(folders["alone"], names).values()) == 1


def test_codes_stay_as_they_were(tmp_path: Path) -> None:
    """A lone person of 80 makes a search for levels give up all ages; kept, the levels of the first release stay."""
    trees = {"age": [5, 20, 40], "distance": [25, 50]}
    of_trees = {n: {"role": "quasi-identifier", "hierarchy": {"intervals": widths}} for n, widths in trees.items()}
    alone = {**ALONE, "columns": {**COLUMNS, **of_trees}, "steps": [{"mask": "generalise", "k": K}]}
    kept = {**alone, "ledger": {"key": "person", "hold_back": True, "left": "left"}}
    folders = [tmp_path / str(number) for number in range(2)]
    labels = []
    for month, table in enumerate(registry(2, 300, 3)):
        numbers = in_numbers(table, month)
        shoal.protect(numbers, kept, folders[month], seed=1, ledger=tmp_path / "l")
        labels.append(pl.read_csv(data(folders[month]))["age"].unique().sort().to_list())
    assert labels[0] == labels[1] == [f"[{age}, {age + 5})" for age in range(20, 80, 5)]
    assert set(shoal.protect(numbers, alone, seed=1).data["age"]) == {"*"}
    assert min(known_of(folders, NAMES).values()) >= K


def test_levels_of_other_columns_are_not_kept(tmp_path: Path) -> None:
    """A column that the next release no longer generalises has no level there."""
    tree = {"role": "quasi-identifier", "hierarchy": {"intervals": [20, 40]}}
    kept = {**KEPT, "columns": {**COLUMNS, "age": tree, "distance": tree}, "steps": [{"mask": "generalise", "k": K}]}
    first, second = (in_numbers(table, month) for month, table in enumerate(registry(2, 300, 3)))
    shoal.protect(first, kept, tmp_path / "0", seed=1, ledger=tmp_path / "l")
    fewer = {**kept, "columns": {**COLUMNS, "age": tree, "distance": "identifier"}}
    assert len(shoal.protect(second, fewer, tmp_path / "1", seed=1, ledger=tmp_path / "l").data) > 100
