"""What a release gives away is filled in before it is judged, by every model and by risks that count classes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night, only_by_night
from published.reference import reference
from shoal.constraints import Constraints
from shoal.judges.closure import Closure, closure
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.privacy.gate import Gate
from shoal.release.publish import _prove_file
from shoal.run.judging import laws_known
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.microdata import Microdata
from shoal.table.records import MissingCells, Records
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import Refused

KEY = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}
ROLES = {"home": "household", "town": KEY, "sex": KEY}
ROLES_OF_TOWNS = {"home": "household", "town": KEY, "region": KEY}
HOMES = pl.DataFrame(
    {
        "home": [1, 1, 2, 2, 3, 3, 4, 4],
        "town": ["A", None, "A", "A", "B", None, "B", "B"],
        "sex": ["f", "m", "f", "f", "m", "m", "f", "f"],
    }
)
KEYS = ["urbrur", "roof", "walls", "sex", "age"]


def survey_plan(missing: MissingCells, rows: list[dict[str, object]]) -> dict[str, object]:
    columns: dict[str, object] = dict.fromkeys(
        ("water", "electcon", "relat", "hhcivil", "expend", "savings", "sampling_weight", "household_weights"), "other"
    )
    columns |= {"ori_hid": "household", "income": "confidential", **dict.fromkeys(KEYS, KEY)}
    return {
        "columns": columns,
        "steps": rows,
        "requirements": [{"privacy": "k-anonymity", "k": 5, "missing": missing}],
        "output": {"shuffle": False},
        "accept": [name for name, role in columns.items() if role == "other"],
    }


def test_the_table_is_filled_in_and_says_from_what() -> None:
    closed = closure(Microdata.of(HOMES, ROLES).records)
    assert closed.filled == {"town": 2}
    assert closed.sentence == (
        "The release itself gives away 2 missing or generalised cells of 'town', by other records with the same 'home'."
    )
    assert closure(closed.records).filled == {}


def test_rules_and_households_are_applied_in_turn() -> None:
    """The rule tells one member's tax, the household the other's, and only then the rule the other's income."""
    number = {"role": "quasi-identifier", "missing": "keep"}
    frame = pl.DataFrame(
        {
            "home": [1, 1, 2, 2],
            "net": [5.0, 6.0, 1.0, 2.0],
            "tax": [None, None, 3.0, 3.0],
            "gross": [9.0, None, 4.0, 5.0],
        }
    )
    table = Microdata.of(frame, {"home": "household", "net": number, "tax": number, "gross": number}).records
    rules = Constraints.parse(["net + tax == gross"], table)
    closed = closure(table, rules.deduced)
    assert closed.records["tax"].values.tolist() == [4, 4, 3, 3]
    assert closed.records["gross"].values.tolist() == [9, 10, 4, 5]
    assert closed.origin.by_rules
    assert closed.sentence.endswith("by other records with the same 'home' and the rules.")


def test_models_and_risks_are_judged_on_what_can_be_filled_in() -> None:
    table = Microdata.of(HOMES, ROLES)
    model = shoal.KAnonymity(k=2, missing="wildcard")
    pair = TablePair.of(None, table.records)
    assert model.judge(pair).holds  # as the cells stand
    verdict = model.check(table)
    assert (verdict.holds, verdict.achieved) == (False, 1)
    assert verdict.sentence.startswith("The release itself gives away 2 missing or generalised cells of 'town'")
    assert verdict.public_form()["facts"]["cells that the release gives away"] == {"town": 2}
    blanked = pl.DataFrame({**HOMES.to_dict(), "town": ["A", None] * 4})
    assert (
        shoal.SampleUniques()
        .finding_on(TablePair.of(None, Microdata.of(blanked, ROLES).records), np.random.default_rng(0))
        .value
        == 0.125
    )


def test_a_verdict_must_hold_on_the_open_cells_too() -> None:
    """Filled in, everyone shares a town; as released, one record alone lacks its town."""
    frame = pl.DataFrame({"home": [1, 1, 2, 2], "town": ["A", None, "A", "A"]})
    table = Microdata.of(frame, {"home": "household", "town": KEY})
    assert shoal.KAnonymity(k=2).judge(TablePair.of(None, table.records).stages[-1]).holds
    assert not shoal.KAnonymity(k=2).check(table).holds


def test_every_model_and_rules_of_the_plan() -> None:
    frame = pl.DataFrame({"a": [1.0, 1.0, 2.0, 2.0], "b": [None] * 4, "s": [3.0, 3.0, 5.0, 6.0]})
    number = {"role": "quasi-identifier", "missing": "keep"}
    plan = {
        "columns": {"a": number, "b": number, "s": {"role": "other"}},
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "constraints": ["a + b == s"],
    }
    evidence = shoal.audit(frame.with_columns(pl.col("b").cast(pl.Float64)), plan)
    assert not evidence.verdicts[0].holds
    assert "by the rules" in evidence.verdicts[0].sentence
    assert shoal.audit(frame.with_columns(pl.col("b").cast(pl.Float64)), {**plan, "constraints": []}).verdicts[0].holds


@pytest.mark.parametrize(
    "missing", ["wildcard", *(pytest.param(missing, marks=only_by_night) for missing in ("equal", "nothing"))]
)
def test_suppression_by_household_of_a_survey(missing: MissingCells) -> None:
    """Suppressed record by record, the survey's members give each other away; by household they do not."""
    table = pl.read_csv(reference("testdata.csv")).head(by_night(900, 4_580))
    keys = Microdata.of(table.select(KEYS), dict.fromkeys(KEYS, KEY))
    alone = shoal.Suppress(k=5, missing=missing).apply(keys.records, KEYS, np.random.default_rng(1)).records
    lone = table.with_columns(keys.rebuild(alone).native)
    plan = survey_plan(missing, [])
    evidence = shoal.audit(lone, plan)
    assert not evidence.verdicts[0].holds
    assert "'ori_hid'" in evidence.verdicts[0].sentence
    with pytest.raises(Refused, match="gives away"):
        shoal.protect(lone, plan, seed=1)

    step = {"mask": "suppress", "k": 5, "missing": missing}
    release = shoal.protect(table, survey_plan(missing, [step]), seed=1)
    assert release.evidence.holds
    assert shoal.audit(release.table.native, plan).holds


def test_what_is_certain_and_what_is_not_are_kept_apart() -> None:
    """One household has two towns: the region follows from the town, the town of two others only nearly always."""
    home = [h for h in range(40) for _ in range(3)]
    town: list[str | None] = ["ABCDEFGH"[h % 8] for h in home]
    region: list[str | None] = ["north" if t in {"A", "B", "C"} else "south" for t in map(str, town)]
    town[0], town[4], region[9] = "B", None, None
    table = Microdata.of(pl.DataFrame({"home": home, "town": town, "region": region}), ROLES_OF_TOWNS)
    filled = closure(table.records)
    assert filled.filled == {"town": 1, "region": 1}
    certain, likely = filled.stages
    assert [int(certain[name].missing.sum()) for name in ("town", "region")] == [1, 0]
    assert [int(likely[name].missing.sum()) for name in ("town", "region")] == [0, 0]
    assert certain is filled.certain and likely is filled.records


def verdict_of(stages: list[bool]) -> Verdict:
    """The verdict where a model holds on the table as released, on what is certain, and on all, as is said."""
    frame = pl.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    tables = [Microdata.of(frame.head(1 if holds else 2), {"a": KEY, "b": "other"}).records for holds in stages]
    filled = Closure(records=tables[2], certain=tables[1], filled={"a": 1})
    return shoal.KAnonymity(k=1).verdict_on(TablePair.of(None, tables[0], known=filled))


def test_the_closure_without_exceptions_is_judged_between_the_table_and_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shoal.KAnonymity,
        "judge",
        lambda model, pair: Verdict(
            requirement="", holds=len(pair.released) == 1, required=1, achieved=1, sentence="", influence=0
        ),
    )
    assert verdict_of([True, True, True]).holds
    for failing in range(3):
        assert not verdict_of([stage != failing for stage in range(3)]).holds


def test_arithmetic_is_named_with_what_helps() -> None:
    years = np.random.default_rng(1).permutation(np.arange(1900, 2020))
    frame = pl.DataFrame({"year": years, "age": [None if i % 10 == 0 else 2024 - y for i, y in enumerate(years)]})
    number = {"role": "quasi-identifier", "missing": "keep"}
    closed = closure(Microdata.of(frame, {"year": "other", "age": number}).records)
    assert closed.filled == {"age": 12}
    assert closed.certain is None  # all of it is
    assert closed.sentence == (
        "The release itself gives away 12 missing or generalised cells of 'age', by arithmetic. 'year' gives 'age' "
        "back: take it out, coarsen it alike, or give it the role quasi-identifier."
    )
    after = closed.records["age"].values
    assert (after + years == 2024).all()


def hardly_shown() -> tuple[Records, Records]:
    """A hundred persons in ten postcodes of two regions; and the same with regions left to the women of a postcode in
    which two men live as well.
    """
    sex = ["m" if i >= 80 else "f" for i in range(100)]
    frame = pl.DataFrame({"zip": [i % 10 for i in range(100)], "region": [i % 10 < 5 for i in range(100)], "sex": sex})
    left = (pl.int_range(100) % 10 == 3) & (pl.col("sex") == "f")
    roles = {"zip": {"role": "other", "level": "nominal"}, "region": KEY, "sex": KEY}
    blanked = frame.with_columns(pl.when(left).then("region").alias("region"))
    return Microdata.of(frame, roles).records, Microdata.of(blanked, roles).records


def test_laws_of_the_original_are_filled_in_and_no_figure_is_taken_on_that() -> None:
    original, released = hardly_shown()
    alone, known = closure(released), closure(released, laws=Laws.for_release(original, released))
    assert alone.filled == known.filled == {}
    assert known.records is released and known.stages == ()
    assert known.informed is not None
    assert known.informed.filled == {"region": 2}
    assert known.informed.sentence == (
        "The release and the laws of the original give away 2 missing or generalised cells of 'region', by other "
        "records with the same 'zip'. 'zip' gives 'region' back: take it out, coarsen it alike, or give it the role "
        "quasi-identifier."
    )
    assert closure(original, laws=Laws.for_release(original, original)).informed is None


@pytest.mark.parametrize(
    ("lenient", "strict"),
    [
        (shoal.KAnonymity(k=2), shoal.KAnonymity(k=3)),
        (Gate(measure=shoal.Prosecutor(), at_most=1 / 2), Gate(measure=shoal.Prosecutor(), at_most=1 / 3)),
    ],
    ids=["model", "bound"],
)
def test_what_is_required_holds_for_whoever_knows_the_laws_of_the_original(
    lenient: shoal.KAnonymity | Gate, strict: shoal.KAnonymity | Gate
) -> None:
    """As released, the smallest class is of eight women; with two blanks filled in, of two men."""
    original, released = hardly_shown()
    pair = TablePair.of(None, released)
    informed = TablePair.of(None, released, known=closure(released, laws=Laws.for_release(original, released)))
    assert strict.verdict_on(pair).holds
    refuted = strict.verdict_on(informed)
    assert not refuted.holds
    assert refuted.sentence.startswith("The release and the laws of the original give away 2 missing")
    alone, known = lenient.verdict_on(pair), lenient.verdict_on(informed)
    assert known.holds
    assert known.public_form() == alone.public_form()  # which does not tell that there is such a law


@pytest.mark.parametrize("private", [False, True])
def test_a_plan_is_judged_by_the_laws_of_its_original_unless_privacy_is_spent(private: bool) -> None:
    """A refusal because of the original would have to be paid for."""
    original, released = hardly_shown()
    steps = [{"mask": "laplace", "columns": ["pay"], "epsilon": 1, "bounds": {"pay": [0, 9]}}] if private else []
    plan = shoal.Plan.of(
        {"columns": {"zip": "other", "region": KEY, "sex": KEY, "pay": "confidential"}, "steps": steps}
    )
    assert (laws_known(plan, original, released) is NO_LAWS) == private
    assert laws_known(plan, None, released) is NO_LAWS


@pytest.mark.parametrize("rules", [["net + tax == gross"], []])
def test_a_release_and_its_file_are_filled_in_by_the_rules(rules: list[str], tmp_path: Path) -> None:
    """Six records are too few to show the rule, which stands in the plan."""
    number = {"role": "quasi-identifier", "missing": "keep", "decimals": 0}
    plan = {
        "columns": {"net": "other", "tax": "other", "gross": number},
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
        "constraints": rules,
        "accept": ["net", "tax"],
        "output": {"format": "csv", "shuffle": False},
    }
    frame = pl.DataFrame({"net": [1, 1, 1, 2, 2, 2], "tax": [3, 3, 3, 5, 5, 5], "gross": [4, 4, 4, 7, 7, 7]})
    release = shoal.protect(frame, plan, seed=1)
    lacking = frame.with_columns(net=pl.Series([1, 2, 3, 4, 5, 6]), gross=pl.lit(None, dtype=pl.Int64))
    lacking.write_csv(tmp_path / "data.csv")
    if not rules:
        assert shoal.protect(lacking, plan, seed=1).evidence.holds
        _prove_file(release, lacking, tmp_path / "data.csv", {})
        return
    with pytest.raises(Refused, match="by the rules"):
        shoal.protect(lacking, plan, seed=1)
    with pytest.raises(Refused, match="by the rules"):
        _prove_file(_with_columns(release, lacking), lacking, tmp_path / "data.csv", {})


def _with_columns(release: shoal.Release, frame: pl.DataFrame) -> shoal.Release:
    """A release of which the table is another one."""
    return replace(release, table=Microdata.finished(frame, release.schema))


def test_a_release_and_its_file_are_narrowed_down_by_the_hierarchies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step leaves `Spain` to one member of a household whose other one lives in Madrid."""
    tree = {"nested": {"Spain": ["Madrid", "Vigo"], "France": ["Lyon"]}}
    plan = {
        "columns": {"home": "household", "town": {**KEY, "hierarchy": tree}},
        "steps": [{"mask": "generalise", "k": 2, "columns": ["town"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 2}],
        "output": {"format": "csv", "shuffle": False},
    }
    towns = ["Madrid"] * 4 + ["Lyon"] * 2
    labels = ["Madrid", "Spain", "Spain", "Madrid", "Lyon", "Lyon"]

    def left(method: object, records: Records, *given: object) -> StepResult:
        codes = np.array([["Madrid", "Spain", "Lyon"].index(label) for label in labels], dtype=np.int32)
        town = replace(records["town"], values=codes, categories=("Madrid", "Spain", "Lyon"))
        return StepResult(records=records.with_variables(town))

    monkeypatch.setattr(shoal.Generalise, "apply", left)
    alone = pl.DataFrame({"home": range(6), "town": towns})
    release = shoal.protect(alone, plan, seed=1)
    together = alone.with_columns(home=pl.Series([1, 1, 2, 3, 4, 5]))
    said = "The release itself gives away 1 missing or generalised cell of 'town'"
    with pytest.raises(Refused, match=said):
        shoal.protect(together, plan, seed=1)
    written = together.with_columns(town=pl.Series(labels))
    written.write_csv(tmp_path / "data.csv")
    with pytest.raises(Refused, match=said):
        _prove_file(_with_columns(release, written), written, tmp_path / "data.csv", {})


def test_one_law_that_the_release_shows_does_not_stand_for_another() -> None:
    """Postcodes tell areas in nearly all records that are released, and regions in few."""
    original, released = hardly_shown()
    areas = Microdata.of(pl.DataFrame({"area": [f"a{i % 10 // 2}" for i in range(100)]}), {"area": KEY}).records["area"]
    lacking = replace(areas, values=np.where(np.arange(100) == 99, np.int32(-1), areas.values))
    both = original.with_variables(areas)
    known = closure(released.with_variables(lacking), laws=Laws.for_release(both, released.with_variables(lacking)))
    assert known.filled == {"area": 1}
    assert known.informed is not None
    assert known.informed.filled == {"area": 1, "region": 2}


def test_a_table_whose_every_column_lacks_cells_is_filled_in() -> None:
    home = {"role": "household", "missing": "keep"}
    frame = pl.DataFrame({"home": [1, 1, 2, 2, None], "town": ["A", None, "B", "B", "B"]})
    assert closure(Microdata.of(frame, {"home": home, "town": KEY}).encoded).filled == {"town": 1}
