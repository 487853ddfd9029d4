"""Rules over several rows: what is counted, what follows from them, what is moved, and what is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from naive.rules_over_rows import RULES, Tables
from shoal.constraints.grammar import is_of_rows, parse
from shoal.constraints.of_persons import PersonRules
from shoal.constraints.of_rows import RECORDS, DependentRows
from shoal.constraints.over_rows import RulesOverRows
from shoal.table.links import Key, Links
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import ConstraintError

KEYS = {"p": Key(key="id"), "s": Key(key="id", parent="p", link="p"), "i": Key(parent="s", link="s")}
COLUMNS: dict[str, dict[str, Any]] = {
    "p": {"total": "other", "died": "other"},
    "s": {"ward": {"role": "other", "level": "nominal"}, "start": "other", "end": "other"},
    "i": {"cost": "other"},
}


def drawn(rng: np.random.Generator, lacking: float) -> dict[str, list[dict[str, Any]]]:
    """Few persons with stays and items, some cells of which are missing."""

    def cell(value: Any) -> Any:
        return None if rng.random() < lacking else value

    persons = [
        {"id": n, "total": cell(int(rng.integers(0, 4)) / 2), "died": cell(int(rng.integers(2, 9)))} for n in range(6)
    ]
    starts, lengths = rng.integers(0, 6, 9).tolist(), rng.integers(0, 4, 9).tolist()
    wards, owners = rng.choice(["a", "b", "c"], 9).tolist(), rng.integers(0, 6, 9).tolist()
    stays = [
        {"id": n, "p": owner, "ward": cell(ward), "start": cell(start), "end": cell(start + length)}
        for n, (owner, ward, start, length) in enumerate(zip(owners, wards, starts, lengths))
    ]
    items = [{"s": int(rng.integers(0, 9)), "cost": cell(int(rng.integers(0, 6)) / 2)} for _ in range(12)]
    return {"p": persons, "s": stays, "i": items}


def rows_of(tables: Tables) -> DependentRows:
    links = Links(
        keys=KEYS,
        sizes={name: len(rows) for name, rows in tables.items()},
        above={
            "s": np.array([row["p"] for row in tables["s"]], dtype=np.int64),
            "i": np.array([row["s"] for row in tables["i"]], dtype=np.int64),
        },
    )
    types = {
        "total": pl.Float64,
        "cost": pl.Float64,
        "died": pl.Int64,
        "start": pl.Int64,
        "end": pl.Int64,
        "ward": pl.String,
    }
    kept = {
        name: {
            column: {"missing": "keep", **({"role": role} if isinstance(role, str) else role)}
            for column, role in columns.items()
        }
        for name, columns in COLUMNS.items()
    }
    records = {
        name: Microdata.of(
            pl.DataFrame({c: pl.Series([row[c] for row in tables[name]], dtype=types[c]) for c in COLUMNS[name]}),
            kept[name],
        ).encoded
        for name in tables
    }
    return DependentRows(tables=records, links=links)


def rules(*texts: str) -> RulesOverRows:
    return RulesOverRows(rules=texts, numbers={})


def one_table(cells: dict[str, list[Any]]) -> tuple[Records, Any]:
    """Records of a table with the column of persons `p`, and whose each is."""
    roles = {name: "person" if name == "p" else {"role": "other", "missing": "keep"} for name in cells}
    records = Microdata.of(pl.DataFrame(cells), roles).encoded
    return records, records.unit_numbers("person")


@pytest.mark.parametrize("lacking", [0.0, 0.15])
def test_as_many_rows_break_a_rule_as_by_hand(lacking: float) -> None:
    counts = dict.fromkeys(RULES, 0)
    for seed in range(60):
        tables = drawn(np.random.default_rng([seed, int(100 * lacking)]), lacking)
        verdicts = rules(*RULES).check(rows_of(tables))
        for verdict in verdicts:
            expected = RULES[verdict.requirement](tables)
            assert (verdict.achieved, verdict.holds) == (expected, not expected), (seed, verdict.requirement)
            counts[verdict.requirement] += expected
    assert all(counts.values()), "each rule was broken by some table"


def test_persons_are_counted_where_a_rule_is_of_persons() -> None:
    tables = drawn(np.random.default_rng(3), 0.0)
    count, stays = rules("count(s) <= 9", "s.start <= 9").check(rows_of(tables))
    assert count.sentence == "All 6 persons obey the rule 'count(s) <= 9'."
    assert stays.sentence == "All 9 records obey the rule 's.start <= 9'."


def test_sums_of_decimals_are_exact() -> None:
    tables: Any = {
        "p": [{"id": 0, "total": 0.3, "died": 1}],
        "s": [{"id": 0, "p": 0, "ward": "a", "start": 1, "end": 1}],
        "i": [{"s": 0, "cost": 0.1}, {"s": 0, "cost": 0.2}],
    }
    (verdict,) = rules("sum(i.cost) == p.total").check(rows_of(tables))
    assert verdict.holds
    assert "computed in decimals (to 1 place)" in verdict.sentence


@pytest.mark.parametrize(
    ("text", "blank", "column", "value"),
    [
        ("sum(i.cost) == p.total", ("i", 0), "cost", 1.5),
        ("sum(i.cost) == p.total", ("p", 0), "total", 4.5),
        ("max(i.cost) == p.total", ("i", 1), "cost", 4.5),
        ("s.start == p.died", ("p", 0), "died", 4),
        ("s.start == p.died", ("s", 0), "start", 4),
    ],
)
def test_a_missing_cell_that_a_rule_determines_is_filled_in(
    text: str, blank: tuple[str, int], column: str, value: float
) -> None:
    tables: Any = {
        "p": [{"id": 0, "total": 4.5, "died": 4}],
        "s": [
            {"id": 0, "p": 0, "ward": "a", "start": 4, "end": 6},
            {"id": 1, "p": 0, "ward": "a", "start": 4, "end": 6},
        ],
        "i": [{"s": 0, "cost": 1.5}, {"s": 1, "cost": 3.0}],
    }
    table, row = blank
    tables[table][row][column] = None
    rows = rows_of(tables)
    after = rules(text).deduced(rows)
    assert after.tables[table][column].values[row] == value
    assert all(records.complete_in(records.names()) for records in after.tables.values())
    assert rules("count(s) <= 9").deduced(rows) is rows


def test_two_missing_cells_of_a_sum_stay_hidden() -> None:
    tables: Any = {
        "p": [{"id": 0, "total": 4.5, "died": 4}],
        "s": [{"id": 0, "p": 0, "ward": "a", "start": 1, "end": 6}],
        "i": [{"s": 0, "cost": None}, {"s": 0, "cost": None}, {"s": 0, "cost": 1.0}],
    }
    rows = rows_of(tables)
    assert rules("sum(i.cost) == p.total").deduced(rows) is rows


def test_rows_move_to_the_nearest_that_obey() -> None:
    """The total follows its items, an end its death; what stands above, and the items, stay."""
    texts = ("sum(i.cost) == p.total", "s.end <= p.died")
    for seed in range(30):
        rows = rows_of(drawn(np.random.default_rng([seed, 7]), 0.0))
        after, facts = rules(*texts).repaired(rows)
        assert all(verdict.holds for verdict in rules(*texts).check(after))
        assert (after.tables["i"]["cost"].values == rows.tables["i"]["cost"].values).all()
        assert (after.tables["p"]["died"].values == rows.tables["p"]["died"].values).all()
        end, died = rows.tables["s"]["end"].values, rows.tables["p"]["died"].values[rows.links.above["s"]]
        assert (after.tables["s"]["end"].values == np.minimum(end, died)).all()
        assert facts["s"]["records repaired"].n == int((end > died).sum())  # type: ignore[union-attr] # a count


def test_what_no_move_of_a_row_makes_obey_is_left_for_the_verdict() -> None:
    rows = rows_of(drawn(np.random.default_rng(1), 0.0))
    after, _ = rules("count(s) <= 0").repaired(rows)
    assert after is rows


def test_the_quasi_identifiers_of_a_row_stay_where_another_column_can_move() -> None:
    frame = pl.DataFrame({"p": [1, 1], "day": [3, 5], "end": [9, 6]})
    records = Microdata.of(frame, {"p": "person", "day": "quasi-identifier", "end": "confidential"}).encoded
    after = rules("end <= min(day)").repaired(DependentRows.of_persons(records, np.array([0, 0])))[0].tables[RECORDS]
    assert after["day"].values.tolist() == [3, 5]
    assert after["end"].values.tolist() == [3, 3]


def test_functions_in_one_table_are_of_a_persons_records() -> None:
    records, persons = one_table({"p": [1, 1, 2, 2, 2], "day": [5, 2, 1, 1, 4], "kind": [1, 2, 1, 1, 3]})

    def broken(text: str) -> float | None:
        return PersonRules.parse([text], records).check(records, persons)[0].achieved

    assert broken("count() <= 2") == 1
    assert broken("count(where kind == 1) <= 1") == 1
    assert broken("repeats(kind) == 0") == 1
    assert broken("previous(kind by day) <= kind - 1") == 2, "1 after 2, and 1 after 1"
    assert broken("day <= min(day) + 2") == 2, "5 is after 2, and 4 after 1"
    assert PersonRules.parse([], records).check(records, persons) == []


def test_who_is_missing_is_a_person_each_time() -> None:
    records, _ = one_table({"p": [1, 1, 1], "day": [1, 2, 3]})
    (verdict,) = PersonRules.parse(["count() <= 1"], None).check(records, np.array([-1, -1, 0]))
    assert verdict.holds
    (unknown,) = PersonRules.parse(["count() <= 1"], None).check(records, None)
    assert (unknown.holds, unknown.achieved) == (False, None)


def test_a_missing_place_in_the_order_leaves_the_order_open() -> None:
    records, persons = one_table({"p": [1, 1, 1], "day": [1, None, 3], "kind": [3, 2, 1]})
    assert PersonRules.parse(["previous(kind by day) <= kind"], None).check(records, persons)[0].holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(i.cost by s.start) == 0", "sum takes no 'by'"),
        ("previous(s.end) <= s.start", "previous needs 'by' and the column that puts rows in order"),
        ("sum() == 0", "sum needs a column"),
        ("sum(s.ward) == 0", "'s.ward' holds no numbers, which sum needs"),
        ("sum(sum(i.cost)) == 0", "expected '\\)'"),
        ("count(s where count(i) >= 1) == 0", "a function of rows cannot stand inside another one"),
        ("count(t) == 0", "unknown table 't'"),
        ("sum(i.price) == 0", "unknown column 'i.price'"),
        ("count(p) == 0", "the rows of 'p' do not hang on rows of another table"),
        ("count(i per t) == 0", "unknown table 't'"),
        ("count(s where i.cost >= 1) == 0", "'i.cost' is no column of 's' or of a table above it"),
        ("sum(i.cost per) == 0", "expected the name of a column"),
    ],
)
def test_what_cannot_be_meant(text: str, message: str) -> None:
    rows = rows_of(drawn(np.random.default_rng(1), 0.0))
    with pytest.raises(ConstraintError, match=message):
        RulesOverRows.parse([text], rows)


def test_tables_that_do_not_hang_on_one_another() -> None:
    keys = {**KEYS, "v": Key(parent="p", link="p")}
    rows = rows_of(drawn(np.random.default_rng(1), 0.0))
    visits = Microdata.of(pl.DataFrame({"day": [1]}), {"day": "other"}).encoded
    links = Links(keys=keys, sizes={**rows.links.sizes, "v": 1}, above={**rows.links.above, "v": np.array([0])})
    more = DependentRows(tables={**rows.tables, "v": visits}, links=links)
    with pytest.raises(ConstraintError, match="do not hang on one another, so no row has both"):
        RulesOverRows.parse(["s.start <= v.day"], more)
    assert RulesOverRows.parse(["min(s.start) <= max(v.day)"], more).check(more)[0].requirement


def test_dates_are_compared_and_not_added_up() -> None:
    days = pl.Series([1, 9, 4]).cast(pl.Int32).cast(pl.Date)
    records = Microdata.of(pl.DataFrame({"p": [1, 1, 2], "day": days}), {"p": "person", "day": "other"}).encoded
    persons = records.unit_numbers("person")
    (verdict,) = PersonRules.parse(["max(day) - min(day) <= 7"], records).check(records, persons)
    assert verdict.achieved == 1
    with pytest.raises(ConstraintError, match="'day' holds dates, which are not added up"):
        PersonRules.parse(["sum(day) <= 7"], records)


def test_a_column_may_be_called_as_a_function() -> None:
    assert not is_of_rows("count <= 3 and sum == max")
    assert is_of_rows("a == 1 -> count() <= 3")
    assert not is_of_rows("a == 'count(b'")
    assert not is_of_rows("count(§) <= 3"), "a rule that cannot be read is refused where it is read"
    sentence = parse("sum ( x  where y == 'a' ) <= 3", 1)
    assert [function.text for function in sentence.of_rows] == ["sum ( x where y == 'a' )"]


def test_clashing_rules_are_refused_together() -> None:
    rows = rows_of(drawn(np.random.default_rng(1), 0.0))
    with pytest.raises(ConstraintError, match=r"No record can obey rule 1 .* and rule 2"):
        RulesOverRows.parse(["count(s) <= 1", "count(s) >= 2"], rows)


def plan(*texts: str, **more: Any) -> dict[str, Any]:
    """A plan for one table of visits, in groups of two patients."""
    roles = {"p": "person", "age": "quasi-identifier", "day": "other", "cost": {"role": "confidential", "decimals": 0}}
    return {"columns": roles, "constraints": list(texts), "accept": ["day", "cost"], **more}


def visits(days: Sequence[int] = (1, 3, 2, 5)) -> pl.DataFrame:
    return pl.DataFrame({"p": [1, 1, 2, 2], "age": [30, 30, 40, 40], "day": days, "cost": [5, 7, 2, 8]})


def test_a_plan_for_one_table(tmp_path: Any) -> None:
    texts = ("previous(day by day) <= day - 1", "count() == 2")
    release = shoal.protect(visits(), plan(*texts), tmp_path / "out", seed=1, unproved=True)
    assert {"previous(day by day) <= day - 1", "count() == 2"} <= {v.requirement for v in release.evidence.verdicts}
    assert shoal.audit(tmp_path / "out/release/data.csv", plan(*texts)).holds
    written = pl.read_csv(tmp_path / "out/release/data.csv")
    forged = written.with_columns(p=pl.lit(1))
    assert [v.holds for v in shoal.audit(forged, plan(*texts)).verdicts[-2:]] == [True, False]
    assert shoal.LinkedPlan is not None and shoal.Plan.of(plan(*texts)).as_mapping()["constraints"]["rules"] == list(
        texts
    )


def test_a_table_whose_persons_are_not_released_is_judged_by_the_private_folder(tmp_path: Any) -> None:
    described = plan("count() == 2")
    described["columns"]["p"] = {"role": "person", "release_key": False}
    shoal.protect(visits(), described, tmp_path / "out", seed=1, unproved=True)
    released, private = tmp_path / "out/release/data.csv", tmp_path / "out/private"
    alone = shoal.audit(released, described).verdicts[-1]
    assert (alone.holds, alone.achieved) == (False, None)
    assert "which records are one person's is not known" in alone.sentence
    assert shoal.audit(released, described, original=visits(), private=private).verdicts[-1].holds


def test_a_release_that_breaks_a_rule_of_persons_is_repaired_or_refused() -> None:
    swapped = [{"mask": "rank-swap", "columns": ["cost"], "p": 1.0}]
    totals = visits().with_columns(total=pl.col("cost").sum().over("p"))
    described = plan("sum(cost) == total", steps=swapped)
    described["columns"]["total"] = "other"
    described["accept"] = ["day", "total"]
    frame = shoal.protect(totals, described, seed=3, unproved=True).to_frame()
    assert frame["total"].to_list() == frame.select(pl.col("cost").sum().over("p"))["cost"].to_list()
    sampled = plan("count() == 2", steps=[{"mask": "truncate-records", "most": 1}])
    with pytest.raises(shoal.Refused, match="2 persons break the rule 'count\\(\\) == 2'"):
        shoal.protect(visits(), sampled, seed=1, unproved=True)


def test_mistakes_of_plans_for_one_table() -> None:
    with pytest.raises(shoal.InputError, match="The table breaks its own rules: 2 persons break the rule"):
        shoal.protect(visits(), plan("count() <= 1"), seed=1, unproved=True)
    reported = {**plan(), "constraints": {"rules": ["count() <= 1"], "broken_rules": "report"}}
    with pytest.raises(shoal.Refused, match="2 persons break the rule"):
        shoal.protect(visits(), reported, seed=1, unproved=True)
    with pytest.raises(shoal.InputError, match="is not repaired, for any of several records may be wrong"):
        shoal.Plan.of({**plan(), "constraints": {"rules": ["count() <= 1"], "broken_rules": "repair"}})
    nobody = plan("count() <= 1")
    nobody["columns"]["p"] = "identifier"
    with pytest.raises(shoal.InputError, match="no column has the role person"):
        shoal.Plan.of(nobody)
    in_parts = plan("count() == 2", exact=False)
    assert shoal.audit(visits(), in_parts).verdicts[-1].holds, "it is held whole all the same"
