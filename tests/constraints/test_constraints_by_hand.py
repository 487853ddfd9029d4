"""Constraints on tables small enough to work by hand."""

import datetime as dt
import re

import numpy as np
import polars as pl
import pytest

from shoal.constraints import Constraints
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ConstraintError, DataError, Refused

BILL = ["net + tax == gross", "tax >= 0"]


def bill(*rows: tuple[float, float, float], **options: object) -> Records:
    return Records.from_array(np.array(rows, dtype=float), names=["net", "tax", "gross"], **options)


def stays() -> Microdata:
    day = dt.date(2024, 3, 1)
    frame = pl.DataFrame(
        {
            "sex": ["male", "female"] * 10,
            "pregnant": [0, 1] * 10,
            "grade": ["low", "mid", "high", "mid"] * 5,
            "admission": [day + dt.timedelta(i) for i in range(20)],
            "discharge": [day + dt.timedelta(i + i % 4) for i in range(20)],
            "seen": [dt.datetime(2024, 3, 1, 12) + dt.timedelta(i) for i in range(20)],
            "los": [i % 4 for i in range(20)],
        }
    )
    roles: dict[str, object] = dict.fromkeys(frame.columns, "confidential")
    roles["grade"] = {"role": "confidential", "level": "ordinal", "order": ["low", "mid", "high"]}
    return Microdata.of(frame, roles)


def broken(rules: Constraints, records: Records) -> list[int]:
    return [int(b.sum()) for b in rules.violations(records).values()]


def test_violations_are_counted_rule_by_rule() -> None:
    table = bill((1, 2, 3), (2, 2, 5), (4, -1, 3), (1, -2, 8))
    assert broken(Constraints.parse(BILL, table), table) == [2, 2]


def test_a_chain_is_one_rule() -> None:
    table = bill((1, 2, 3), (2, 2, 5), (4, -1, 3))
    assert broken(Constraints.parse(["0 <= tax <= net <= 3"], table), table) == [2]


def test_decimals_in_a_rule_are_exact() -> None:
    table = bill((0.1, 0.2, 0.3), (0.7, 0.1, 0.8))
    assert broken(Constraints.parse(["net + tax == gross"], table), table) == [0]


def test_an_equality_is_repaired_by_orthogonal_projection() -> None:
    # (2, 2, 5) lacks 1: along (1, 1, -1) the nearest point of net + tax = gross is a third of it away in each
    table = bill((1, 2, 3), (2, 2, 5), (0, 4, 4), scale="none")
    after = Constraints.parse(["net + tax == gross"], table).repair(table, keep=()).records
    assert after.raw()[1] == pytest.approx([2 + 1 / 3, 2 + 1 / 3, 5 - 1 / 3], abs=1e-15)
    assert (after.raw()[[0, 2]] == table.raw()[[0, 2]]).all()


def test_a_bound_stops_the_projection() -> None:
    # net + tax = gross, tax >= 0: from (5, -3, 2) the equality alone holds; tax goes to 0, and the 3 that are
    # then too much are shared by net and gross
    table = bill((5, -3, 2), (1, 1, 2), scale="none")
    after = Constraints.parse(BILL, table).repair(table, keep=()).records
    assert after.raw()[0] == pytest.approx([3.5, 0, 3.5], abs=1e-12)


def test_distance_is_that_of_the_standardised_columns() -> None:
    # gross varies 100 times as much as net, so it carries nearly all of the correction
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.normal(0, 1, 50), rng.normal(0, 100, 50)])
    table = Records.from_array(values, names=["net", "gross"])
    after = Constraints.parse(["net == gross"], table).repair(table).records
    moved = np.abs(after.raw() - values)
    assert (moved[:, 0] < 0.001 * moved[:, 1]).all()


def test_the_consequence_of_a_condition_is_kept_and_not_the_condition_changed() -> None:
    data = stays()
    records = data.records
    rules = Constraints.parse(["sex == 'male' -> pregnant == 0"], records)
    assert broken(rules, records) == [0]
    wrong = records.with_variables(records["pregnant"].with_values(np.full(20, 0.8)))
    after = rules.repair(wrong).records
    assert (after["sex"].values == records["sex"].values).all()
    assert (after["pregnant"].values == np.where(np.arange(20) % 2 == 0, 0.0, 0.8)).all()


def test_a_condition_is_changed_where_its_consequence_cannot_be_met() -> None:
    records = stays().records
    rules = Constraints.parse(["sex == 'male' -> pregnant == 0"], records)
    wrong = records.with_variables(records["pregnant"].with_values(np.full(20, 1.0)))
    after = rules.repair(wrong, keep=["pregnant"]).records
    assert (after["pregnant"].values == 1.0).all()
    assert set(after["sex"].values) == {records["sex"].categories.index("female")}


def test_a_wrong_category_goes_to_the_nearest_allowed_one() -> None:
    records = stays().records
    rules = Constraints.parse(["los >= 2 -> grade >= 'mid'"], records)
    after = rules.repair(records, keep=["los"]).records
    grades = np.array(["low", "mid", "high"])[after["grade"].values]
    assert grades.tolist() == ["low", "mid", "high", "mid"] * 5  # records with los 2 and 3 obey already
    wrong = records.with_variables(records["grade"].with_values(np.zeros(20)))
    after = rules.repair(wrong, keep=["los"]).records
    assert np.array(["low", "mid", "high"])[after["grade"].values].tolist() == ["low", "low", "mid", "mid"] * 5


def test_dates_count_in_days_and_stay_dates() -> None:
    data = stays()
    records = data.records
    rules = Constraints.parse(["discharge >= admission", "los == discharge - admission"], records)
    assert broken(rules, records) == [0, 0]
    early = records.with_variables(records["discharge"].with_values(records["discharge"].values - 2.3))
    after = rules.round(rules.repair(early).records, {"los": 0})
    assert broken(rules, after) == [0, 0]
    frame = data.rebuild(after).native
    assert frame["discharge"].dtype == pl.Date
    assert ((frame["discharge"] - frame["admission"]).dt.total_days() == frame["los"]).all()


def test_a_date_may_be_written_in_quotes() -> None:
    records = stays().records
    rules = Constraints.parse(["admission >= '2024-03-05'", "seen <= '2024-03-02T12:00'"], records)
    assert broken(rules, records) == [4, 18]


def test_missing_values_break_nothing_and_stay_missing() -> None:
    net, tax, gross = (
        Variable(name=n, role="other", level="continuous", values=np.array(v))
        for n, v in (("net", [1.0, np.nan, 3.0]), ("tax", [1.0, 1.0, -2.0]), ("gross", [3.0, 3.0, 1.0]))
    )
    table = Records.of([net, tax, gross])
    rules = Constraints.parse(BILL, table)
    assert broken(rules, table) == [1, 1]
    after = rules.round(rules.repair(table).records, {"net": 0, "tax": 0, "gross": 0})
    assert broken(rules, after) == [0, 0]
    assert np.isnan(after["net"].values).tolist() == [False, True, False]


def test_equal_records_get_equal_repairs() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(40, 3))[rng.integers(0, 40, 200)]
    table = Records.from_array(values, names=["net", "tax", "gross"])
    rules = Constraints.parse(BILL, table)
    names = ("net", "tax", "gross")
    repaired = rules.repair(table).records
    after = rules.round(repaired, dict.fromkeys(names, 2))
    before = table.classes(names).ids
    for stage in (repaired, after):
        ids = stage.classes(names).ids
        assert all(len(set(ids[before == c])) == 1 for c in set(before))


def test_classes_survive_rules_that_tie_quasi_identifiers_to_other_columns() -> None:
    # charge is the quasi-identifier, released as a centroid; room and drugs differ within a class
    rng = np.random.default_rng(3)
    parts = rng.gamma(2, 50, (60, 2)).round()
    charge = np.repeat(parts.sum(axis=1).reshape(12, 5).mean(axis=1), 5) - 160.0  # some below 0
    columns = [Variable(name="charge", role="quasi-identifier", level="continuous", values=charge)]
    columns += [
        Variable(name=n, role="confidential", level="continuous", values=parts[:, j])
        for j, n in enumerate(("room", "drugs"))
    ]
    table = Records.of(columns)
    rules = Constraints.parse(["charge == room + drugs", "room >= 0", "drugs >= 0"], table)
    change = rules.repair(table)
    after = rules.round(change.records, dict.fromkeys(("charge", "room", "drugs"), 0))
    assert change.details["records whose kept columns had to move"] == 0
    assert (charge < 0).any()
    assert after.classes(["charge"]).sizes.min() >= 5
    assert broken(rules, after) == [0, 0, 0]


def test_largest_remainders_are_rounded_up() -> None:
    # parts 1.4 + 1.4 + 1.2 = 4: floors leave 1 over, which goes to a part with remainder .4 (the first)
    table = Records.from_array(np.array([[1.4, 1.4, 1.2, 4.0], [2.6, 2.6, 1.8, 7.0]]), names=["a", "b", "c", "s"])
    after = Constraints.parse(["a + b + c == s"], table).round(table, dict.fromkeys("abcs", 0)).raw()
    assert after[:, 3].tolist() == [4, 7]
    assert after[0].tolist() in ([2, 1, 1, 4], [1, 2, 1, 4])
    assert after[1].tolist() in ([2, 3, 2, 7], [3, 2, 2, 7])


def test_coefficients_that_are_no_units_round_through_a_column_with_enough_decimals() -> None:
    table = Records.from_array(np.array([[15.3, 23.4, 42.786]]), names=["exp16", "exp7", "total"])
    rules = Constraints.parse(["1.16*exp16 + 1.07*exp7 == total"], table)
    after = rules.round(rules.repair(table).records, {"exp16": 0, "exp7": 0, "total": 2}).raw()
    # (15, 24, 43.08) is .732 away, plain rounding of the parts to (15, 23, 42.01) .923
    assert after[0].tolist() == [15, 24, 43.08]


def test_decimals_that_make_a_rule_impossible_are_refused_with_what_to_do() -> None:
    # 116 a + 107 b is no multiple of 100 for a and b from 1 to 7
    table = Records.from_array(np.array([[4.0, 4.0, 8.92], [4.2, 3.8, 8.938]]), names=["exp16", "exp7", "total"])
    rules = Constraints.parse(["1.16*exp16 + 1.07*exp7 == total", "exp16 >= 1", "exp7 >= 1"], table)
    message = (
        "2 records cannot be rounded to the decimals asked for so that '1.16*exp16 + 1.07*exp7 == total' holds. "
        "Give 'total' 2 decimals, or change the rule."
    )
    with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
        rules.round(table, {"exp16": 0, "exp7": 0, "total": 0}, keep=())


def test_the_policy_for_a_table_that_comes_in() -> None:
    table = bill((1, 2, 3), (2, 2, 5), (4, -1, 3))
    rules = Constraints.parse(BILL, table)
    with pytest.raises(DataError, match="1 record breaks the rule 'net \\+ tax == gross'"):
        rules.admit(table)
    reported = rules.admit(table, "report")
    assert reported.records is table
    assert reported.details == {"policy": "report", "broken": {"net + tax == gross": 1, "tax >= 0": 1}}
    assert broken(rules, rules.admit(table, "repair").records) == [0, 0]
    with pytest.raises(Refused, match="Nothing is released"):
        rules.prove(table)


def test_redundant_rules_are_named_with_their_source() -> None:
    table = bill((1, 2, 3))
    rules = Constraints.parse(["net >= 0", "tax >= 1", "gross == net + tax", "gross >= 0.5", "tax >= 1"], table)
    assert rules.redundant == {
        "gross >= 0.5": ("net >= 0", "tax >= 1", "gross == net + tax"),
        "tax >= 1": ("tax >= 1",),
    }


CLASHES = {
    "two bounds": (
        ["net >= 5", "tax >= 0", "net <= 4"],
        "No record can obey rule 1 ('net >= 5') and rule 3 ('net <= 4') together. Change or drop one of them.",
    ),
    "through a sum": (
        ["gross <= 1", "tax >= 2", "net + tax == gross", "net >= 0", "gross >= -9"],
        "No record can obey rule 1 ('gross <= 1'), rule 2 ('tax >= 2'), rule 3 ('net + tax == gross') and "
        "rule 4 ('net >= 0') together. Change or drop one of them.",
    ),
    "two equalities": (
        ["net + tax == 1", "2*net == 5 - 2*tax"],
        "No record can obey rule 1 ('net + tax == 1') and rule 2 ('2*net == 5 - 2*tax') together. "
        "Change or drop one of them.",
    ),
    "one rule": (["5 <= net <= 4"], "No record can obey rule 1 ('5 <= net <= 4'). Change or drop it."),
    "under a condition": (
        ["net > 10 -> tax == 0", "net > 5 -> tax >= 1"],
        "No record that meets the condition of rule 1 can obey rule 1 ('net > 10 -> tax == 0') and "
        "rule 2 ('net > 5 -> tax >= 1') together. Change or drop one of them.",
    ),
}


@pytest.mark.parametrize("name", CLASHES)
def test_rules_that_clash_are_refused_by_name(name: str) -> None:
    rules, message = CLASHES[name]
    with pytest.raises(ConstraintError, match=f"^{re.escape(message)}$"):
        Constraints.parse(rules, bill((1, 2, 3)))


WRONG = {
    "net + tx == gross": "position 7: unknown column 'tx'; did you mean 'tax'? Known: gross, net, tax.",
    "net * tax == gross": "position 5: a product of two columns is not linear; rules are sums of multiples.",
    "net / tax == 3": "position 5: a division by a column is not linear; multiply both sides by it.",
    "net / 0 == 3": "position 5: a division by zero.",
    "net < 3": "position 5: '<' leaves no nearest allowed value; write <= or >= (for whole numbers x <= 4, not x < 5).",
    "net - net == 0": "position 11: the columns cancel out, so the rule says nothing about the data.",
    "1 <= 2": "position 3: a comparison without a column says nothing about the data.",
    "net": "position 4: expected a comparison (==, !=, <, <=, >, >= or in); got 'the end of the rule'.",
    "net == 3 3": "position 10: expected 'and', '->' or the end of the rule; got '3'.",
    "net == __import__('os')": "position 18: expected 'and', '->' or the end of the rule; got '('.",
    "net @ 3": "position 5: '@' is not part of the language of rules.",
    "net in (1, 2)": "position 5: 'net' is continuous; 'in' is for categories.",
    "net >= '2020-01-01'": "position 8: a date is compared with a column that holds no dates.",
    "net >= 'much'": "position 8: a continuous column is compared with text; give a number or a date.",
    "net != 3 -> tax == 0": "position 5: '!=' is for categories; write the condition with < or >.",
}


@pytest.mark.parametrize("rule", WRONG)
def test_a_rule_that_cannot_be_used_is_answered_with_its_place_and_what_to_do(rule: str) -> None:
    message = f"Rule 1 ({rule!r}), {WRONG[rule]}"
    with pytest.raises(ConstraintError, match=f"^{re.escape(message)}$"):
        Constraints.parse([rule], bill((1, 2, 3)))


ALONE = "is categorical; compare a categorical column alone with a level, as in sex == 'male'."

WRONG_STAYS = {
    "sex == 'mal' -> pregnant == 0": "position 8: unknown level 'mal' of column 'sex'; did you mean 'male'? "
    "It has 2 levels.",
    "sex >= 'male'": "position 5: 'sex' is nominal and has no order; use == or in.",
    "sex == grade": f"position 5: 'sex' {ALONE}",
    "sex + 1 == 2": f"position 9: 'sex' {ALONE}",
    "admission == 3": "position 11: 'admission': a date is no plain number; compare a date with a date (discharge >= "
    "admission, admission >= '2020-01-01') or a difference of dates with a number.",
    "seen >= admission": "position 6: columns 'seen', 'admission' mix dates (in days) with times (in microseconds); "
    "make them one kind.",
}


@pytest.mark.parametrize("rule", WRONG_STAYS)
def test_levels_measurement_and_units_are_checked(rule: str) -> None:
    message = f"Rule 1 ({rule!r}), {WRONG_STAYS[rule]}"
    with pytest.raises(ConstraintError, match=f"^{re.escape(message)}$"):
        Constraints.parse([rule], stays().records)


def test_a_level_that_few_records_hold_is_not_told() -> None:
    values = np.array([0] * 10 + [1] * 3, dtype=np.int32)
    table = Records.of(
        [
            Variable(
                name="illness", role="confidential", level="nominal", values=values, categories=("influenza", "kuru")
            )
        ]
    )
    with pytest.raises(ConstraintError, match="did you mean 'influenza'"):
        Constraints.parse(["illness == 'influensa'"], table)
    with pytest.raises(ConstraintError, match=r"unknown level 'kuri' of column 'illness'\. It has 2 levels\.$"):
        Constraints.parse(["illness == 'kuri'"], table)


def test_a_rule_whose_column_is_gone_or_recoded_is_not_proved() -> None:
    table = bill((1, 2, 3), (2, 2, 4))
    rules = Constraints.parse(BILL, table)
    bands = Variable(
        name="tax", role="quasi-identifier", level="nominal", values=np.zeros(2, dtype=np.int32), categories=("0-5",)
    )
    for changed in (table.without(["tax"]), table.with_variables(bands)):
        verdicts = rules.check(changed)
        assert [v.holds for v in verdicts] == [False, False]
        assert verdicts[0].sentence == (
            "The rule 'net + tax == gross' cannot be judged: 'tax' is no longer there or no longer holds numbers. "
            "Take the rule out, or leave the column as it is."
        )
        with pytest.raises(Refused, match="cannot be judged"):
            rules.repair(changed)


def test_a_release_need_not_hold_every_level_of_the_rules() -> None:
    sex = Variable(
        name="sex", role="other", level="nominal", values=np.zeros(3, dtype=np.int32), categories=("female",)
    )
    count = Variable(name="n", role="other", level="continuous", values=np.array([0.0, 1.0, 2.0]))
    table = Records.of([sex, count])
    with pytest.raises(ConstraintError, match="unknown level 'male'"):
        Constraints.parse(["sex == 'male' -> n == 0"], table)
    rules = Constraints.parse(["sex == 'male' -> n == 0", "sex != 'male' -> n <= 1"], table, released=True)
    assert broken(rules, table) == [0, 1]


def test_single_precision_is_named_as_the_cause() -> None:
    exact = np.random.default_rng(1).gamma(2, 10, (20, 2))
    values = np.column_stack([exact, exact.sum(axis=1)]).astype(np.float32).astype(float)
    table = Records.from_array(values, names=["net", "tax", "gross"])
    sentence = Constraints.parse(["net + tax == gross"], table).check(table)[0].sentence
    assert sentence.endswith("But for the digits that float32 lacks it would hold; make 'net', 'tax', 'gross' float64.")
    values[:, 2] += 1e-8 * exact[:, 0]
    table = Records.from_array(values, names=["net", "tax", "gross"])
    assert "make 'net', 'tax' float64." in Constraints.parse(["net + tax == gross"], table).check(table)[0].sentence
    table = Records.from_array(exact @ [[1, 0, 1], [0, 1, 1]] + [0, 0, 1e-7], names=["net", "tax", "gross"])
    assert "float" not in Constraints.parse(["net + tax == gross"], table).check(table)[0].sentence
    table = bill((1, 2, 3), (2, 2, 5))
    assert "float32" not in Constraints.parse(["net + tax == gross"], table).check(table)[0].sentence


@pytest.mark.parametrize(
    ("relation", "broken_rows"), [("<", [1, 2]), ("<=", [2]), (">", [0, 1]), (">=", [0]), ("==", [0, 2]), ("!=", [1])]
)
def test_comparisons_of_an_ordinal_column(relation: str, broken_rows: list[int]) -> None:
    """low, mid and high, each held against mid."""
    grade = Variable(
        name="grade",
        role="other",
        level="ordinal",
        values=np.arange(3, dtype=np.int32),
        categories=("low", "mid", "high"),
    )
    table = Records.of([grade])
    rules = Constraints.parse([f"grade {relation} 'mid'"], table)
    assert broken(rules, table) == [len(broken_rows)]
    (rows,) = rules.violations(table).values()
    assert np.flatnonzero(rows).tolist() == broken_rows


def test_the_nearest_category_is_that_of_the_hierarchy_and_of_equally_near_ones_the_first() -> None:
    """Beside 'c' in the order stand 'b' and 'd', under one node with it 'a' alone."""
    frame = pl.DataFrame({"job": list("abcde"), "age": [1, 1, 1, 1, 9]})
    tree = {"nested": {"left": ["a", "c"], "right": ["b", "d", "e"]}}
    for job, repaired in (({"hierarchy": tree}, "a"), ({}, "a")):
        roles = {"job": {"role": "confidential", "level": "nominal", **job}, "age": "confidential"}
        records = Microdata.of(frame, roles).records
        rules = Constraints.parse(["age <= 5 -> job != 'c'"], records)
        after = rules.repair(records, keep=["age"]).records["job"]
        assert [after.categories[code] for code in after.values] == ["a", "b", repaired, "d", "e"]
    records = Microdata.of(frame, {**roles, "job": {"role": "confidential", "hierarchy": tree}}).records
    rules = Constraints.parse(["age <= 5 -> job in ('a', 'b', 'e')"], records)
    after = rules.repair(records, keep=["age"]).records["job"]
    assert [after.categories[code] for code in after.values] == ["a", "b", "a", "b", "e"]  # e is as near to d as b
