"""What several files give away together: by hand, beside a slow twin, and where no pairing is known."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import Run
from shoal.ledger.derived import common_part, meaning
from shoal.ledger.pairing import by_profile
from shoal.vocabulary.errors import DataError, ParameterError

PLAN = {
    "columns": {"age": "quasi-identifier", "town": "quasi-identifier", "pay": "confidential", "id": "identifier"},
    "requirements": [{"privacy": "k-anonymity", "k": 2}],
}


def frame(**columns: Any) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_blanks_are_filled_ranges_intersected_and_a_newcomer_is_told_apart() -> None:
    """January blanks an age that February shows; February's range and January's meet in one; 5 is new."""
    january = frame(id=[1, 2, 3, 4], age=[None, "30", "[30, 40]", "[30, 40]"], town=["A", "A", "B", "B"])
    february = frame(id=[5, 4, 3, 2, 1], age=["30", "[40, 50]", "[40, 50]", "30", "30"], town=["A", "B", "B", "A", "A"])
    known = shoal.audit_together([january, february], PLAN, key="id")
    assert (known.records, known.alone, known.persons) == ((4, 5), (2, 0), 5)
    assert (known.under_k, known.unique, known.come_or_go, known.come_or_go_under_k) == (1, 1, 1, 1)
    assert (dict(known.filled), dict(known.narrowed)) == ({"age": 1, "town": 0}, {"age": 4, "town": 0})
    assert not known.holds


def test_nobody_is_in_a_small_class_where_files_say_the_same() -> None:
    table = frame(id=[1, 2, 3, 4], age=[30, 30, 40, 40], town=["A", "A", "B", "B"])
    known = shoal.audit_together([table, table], PLAN, key="id")
    assert (known.under_k, known.holds) == (0, True)


def by_brute_force(tables: list[list[tuple[str | None, ...] | None]]) -> Counter[Any]:
    """Persons by what is known of them, for cells that are blank or one value: persons by file, columns in tuples."""
    known: Counter[Any] = Counter()
    for rows in zip(*tables):
        present = tuple(row is not None for row in rows)
        columns = []
        for cells in zip(*(row for row in rows if row is not None)):
            values = {cell for cell in cells if cell is not None}
            columns.append(values.pop() if len(values) == 1 else cells if values else None)
        known[(present, *columns)] += 1
    return known


@pytest.mark.parametrize("seed", range(5))
def test_classes_are_those_of_a_slow_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells: list[str | None] = ["x", "y", None]
    tables: list[list[tuple[str | None, ...] | None]] = []
    for _ in range(3):
        drawn = [(cells[a], cells[b]) for a, b in rng.integers(0, 3, (60, 2))]
        tables.append([row if rng.random() < 0.8 else None for row in drawn])
    frames = []
    for table in tables:
        rows = [(f"p{n}", *row) for n, row in enumerate(table) if row is not None]
        rng.shuffle(rows)
        frames.append(pl.DataFrame(rows, schema={"id": pl.String, "age": pl.String, "town": pl.String}, orient="row"))
    counted = by_brute_force(tables)
    nobody = sum(all(table[person] is None for table in tables) for person in range(60))
    counted = Counter({known: count for known, count in counted.items() if any(known[0])})
    result = shoal.audit_together(frames, PLAN, key="id", k=4)
    assert result.persons == 60 - nobody
    assert result.under_k == sum(count for count in counted.values() if count < 4)
    assert result.unique == sum(count for count in counted.values() if count == 1)


@pytest.mark.parametrize(
    ("first", "second", "common"),
    [
        ("[20, 40)", "[30, 50)", "[30, 40)"),
        ("[20, 30)", "30", None),
        ("a | b", "b | c", "b"),
        ("< 20", "[10, 30]", "[10, 20)"),
    ],
)
def test_labels_are_intersected(first: str, second: str, common: str | None) -> None:
    expected = None if common is None else meaning(common, {})
    assert common_part([meaning(first, {}), meaning(second, {})]) == expected


def test_nodes_of_a_hierarchy_are_intersected() -> None:
    nodes = {"Spain": frozenset({0, 1}), "Madrid": frozenset({0}), "Italy": frozenset({2})}
    assert common_part([meaning("Spain", nodes), meaning("Madrid", nodes)]) == frozenset({0})
    assert common_part([meaning("Spain", nodes), meaning("Italy", nodes)]) is None


def people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    towns = np.array(["A", "B", "C", "D"])[rng.integers(0, 4, n)]
    return frame(age=rng.integers(20, 70, n), town=towns, pay=np.round(np.exp(rng.normal(8, 1, n)), 2))


def test_the_closest_profile_pairs_the_same_people_and_no_others() -> None:
    """80 of 100 stay, 20 come; ages are one higher, a tenth of the pays are blank."""
    january = people(100, 1)
    order = np.random.default_rng(2).permutation(100)
    after = pl.concat([january[20:].with_columns(pl.col("age") + 1), people(20, 3)])
    february = after.with_columns(pay=pl.when(pl.int_range(100) % 10 > 0).then("pay"))[order]
    pairing = by_profile([january, february], ["age", "town", "pay"])
    assert pairing is not None
    rows = {person: row for row, person in enumerate(pairing.persons[0].tolist())}
    pairs = [(rows[p], int(order[n]) + 20) for n, p in enumerate(pairing.persons[1].tolist()) if p in rows]
    right = sum(a == b for a, b in pairs)
    assert right >= 65
    assert right >= 0.95 * len(pairs)


@pytest.mark.parametrize("seed", range(3))
def test_no_pairing_is_known_between_files_of_other_people(seed: int) -> None:
    known = shoal.audit_together([people(100, seed), people(100, seed + 10)], PLAN)
    assert (known.persons, known.under_k, known.holds) == (None, None, False)
    assert known.pairing.startswith("No pairing is known")
    assert "No figure is given" in " ".join(known.lines())


def test_equal_files_in_equal_order_are_not_paired_by_their_order() -> None:
    """Every record has a twin, so nobody has a nearest record of his own."""
    table = frame(age=[30, 30, 40, 40], town=["A", "A", "B", "B"])
    assert shoal.audit_together([table, table], PLAN).persons is None


def test_one_plan_on_two_months_tells_newcomers_apart(tmp_path: Path, run: Run) -> None:
    """The case of the issue: each month is proved, together they are not; from the command line, by release/ alone."""
    rng = np.random.default_rng(4)
    everybody = people(230, 5).with_columns(
        id=pl.int_range(230), pay=pl.Series(np.round(rng.normal(3000, 900, 230), 2))
    )
    plan = {
        "columns": {**PLAN["columns"], "pay": "confidential"},
        "steps": [{"partition": "mdav", "k": 5}],
        "requirements": [{"privacy": "k-anonymity", "k": 5}],
    }
    for month, last in (("jan", 200), ("feb", 230)):
        shoal.protect(everybody[:last], plan, tmp_path / month, seed=7)
    files = [tmp_path / month / "release" / "data.csv" for month in ("jan", "feb")]
    known = shoal.audit_together(files, plan, k=5)
    assert known.alone == (0, 0)
    assert known.come_or_go_under_k is not None
    assert known.come_or_go_under_k > 10
    (tmp_path / "plan.yaml").write_text(shoal.Plan.of(plan).as_yaml())
    status, out, _ = run("audit", *files, "--together", "--plan", tmp_path / "plan.yaml")
    assert status == 3
    assert f"All files together: {known.under_k:,} of" in out


def test_bad_input_is_refused(tmp_path: Path, run: Run) -> None:
    table = frame(id=[1, 1, 2], age=[30, 30, 40], town=["A", "A", "B"])
    with pytest.raises(ParameterError, match=r"at least two files"):
        shoal.audit_together([table], PLAN)
    with pytest.raises(DataError, match=r"'id' repeats in file 1: 1 record too many\."):
        shoal.audit_together([table, table], PLAN, key="id")
    with pytest.raises(DataError, match=r"File 1 has no column 'name'\."):
        shoal.audit_together([table, table], PLAN, key="name")
    with pytest.raises(DataError, match=r"share no quasi-identifier"):
        shoal.audit_together([table, table.select("id")], PLAN)
    table.write_csv(tmp_path / "a.csv")
    status, _, error = run("audit", tmp_path / "a.csv", tmp_path / "a.csv")
    assert (status, "add --together" in error) == (2, True)


def test_a_pair_of_files_is_read_in_any_frame_and_by_guess() -> None:
    table = people(60, 1).with_columns(id=pl.int_range(60))
    by_polars = shoal.audit_together([table, table], key="id")
    by_pandas = shoal.audit_together([table.to_pandas(), table.to_arrow()], key="id")
    assert by_polars == by_pandas
    assert by_polars.k == 5


def test_who_is_missing_from_one_of_many_files_is_told_apart_by_it() -> None:
    table = frame(id=range(60), age=["30", "40", "50"] * 20, town=["A", "B"] * 30)
    known = shoal.audit_together([*[table] * 65, table.filter(pl.col("id") != 7)], PLAN, key="id")
    assert (known.unique, known.come_or_go, known.holds) == (1, 1, False)


def test_a_key_is_the_same_written_with_a_point_or_without() -> None:
    table = frame(id=[1, 2, 3, 4], age=[30, 30, 40, 40], town=["A", "A", "B", "B"])
    assert shoal.audit_together([table, table.cast({"id": pl.Float64})], PLAN, key="id").persons == 4
    large = table.with_columns(id=pl.col("id") + 10**17)
    assert shoal.audit_together([large, large.cast({"id": pl.String})], PLAN, key="id").persons == 4


def test_files_without_records_are_not_paired() -> None:
    empty = frame(id=[1], age=[30], town=["A"]).clear()
    assert shoal.audit_together([empty, empty], PLAN).persons is None
