"""How columns single out records, counted by hand and by a slow twin."""

from collections import Counter

import numpy as np
import polars as pl

from shoal.judges.standing import standing
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.schema import Schema


def records_of(frame: pl.DataFrame) -> Records:
    schema = Schema.of(
        {name: {"role": "quasi-identifier", "level": "nominal", "missing": "keep"} for name in frame.columns}
    )
    return Microdata.of(frame, schema).records


def test_by_hand() -> None:
    """Classes of age and town: (30, A) 2, (30, B) 1, (41, B) 2, (52, missing) 1."""
    table = pl.DataFrame({"age": [30, 30, 30, 41, 41, 52], "town": ["A", "A", "B", "B", "B", None]})
    stands = standing(records_of(table), ["age", "town"])
    assert stands.fewer_than == {2: 2, 3: 6, 5: 6}
    assert stands.expected == 4.0
    assert [(s.name, s.spared, s.alone) for s in stands.columns] == [("age", 1, 1), ("town", 1, 1)]


def test_against_counting_one_by_one() -> None:
    rng = np.random.default_rng(7)
    table = pl.DataFrame({name: rng.integers(0, n, 300) for name, n in (("a", 7), ("b", 5), ("c", 40))})
    stands = standing(records_of(table), table.columns)

    def unique(columns: list[str]) -> set[int]:
        rows = table.select(columns).rows()
        counts = Counter(rows)
        return {i for i, row in enumerate(rows) if counts[row] == 1}

    everyone = unique(table.columns)
    for share in stands.columns:
        assert share.spared == len(everyone - unique([c for c in table.columns if c != share.name]))
        assert share.alone == len(unique([share.name]))
    assert [s.spared for s in stands.columns] == sorted((s.spared for s in stands.columns), reverse=True)


def test_a_single_column_is_all_that_there_is() -> None:
    records = records_of(pl.DataFrame({"a": [1, 1, 2]}))
    [share] = standing(records, ["a"]).columns
    assert (share.spared, share.alone) == (1, 1)
    [share] = standing(records.take(np.array([2])), ["a"]).columns
    assert (share.spared, share.alone) == (0, 1)


def test_a_column_goes_with_the_spellings_of_its_values() -> None:
    """Ages 30 and 30, of which one is written otherwise: alone by their spelling, alike once the column is left out."""
    table = pl.DataFrame({"age": [30, 30, 41], "town": ["A", "A", "A"]})
    columns = {name: {"role": "quasi-identifier", "level": "nominal"} for name in table.columns}
    records = Microdata.finished(table, columns, {"age": np.array([0, 1, 0])}).records
    assert [(s.name, s.spared, s.alone) for s in standing(records, ["town", "age"]).columns] == [
        ("age", 3, 3),
        ("town", 0, 0),
    ]
