"""Every method of a step begins with settings that work on the table, or says why it cannot."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from by_night import by_night, by_turns
from shoal.plan import Plan
from shoal.run.carry_out import carry_out
from shoal.studio import beginnings as module
from shoal.studio.beginnings import K, Trial, forecast, only
from shoal.studio.forms import catalogue
from shoal.table.files.table import Table
from shoal.utility.information_kept import InformationKept
from shoal.vocabulary.errors import ShoalError

rng = np.random.default_rng(3)
FRAME = pl.DataFrame(
    {
        "area": rng.choice(["north", "south", "west"], 300),
        "sex": rng.choice(["f", "m"], 300),
        "age": rng.integers(18, 90, 300),
        "born": [f"19{year:02}-0{month}-11" for year, month in zip(rng.integers(10, 99, 300), rng.integers(1, 9, 300))],
        "income": rng.lognormal(8, 1, 300).round(2),
        "illness": rng.choice(list("abcd"), 300),
    }
).with_columns(pl.col("born").str.to_date())
COLUMNS = {
    "area": {"role": "quasi-identifier", "level": "nominal"},
    "sex": {"role": "quasi-identifier", "level": "nominal"},
    "age": {"role": "quasi-identifier", "level": "continuous"},
    "born": {"role": "quasi-identifier", "level": "continuous"},
    "income": {"role": "confidential", "level": "continuous"},
    "illness": {"role": "confidential", "level": "nominal"},
}
TABLE = Table(frame=FRAME, described="made")


def plan(**sections) -> Plan:
    return Plan.of({"columns": COLUMNS, **sections}, Path())


@pytest.fixture(scope="module")
def offered() -> dict:
    return catalogue()


@pytest.fixture(scope="module")
def begun() -> dict:
    requirements = [{"privacy": "k-anonymity", "k": 4}, {"privacy": "l-diversity", "l": 3}]
    return Trial.of(TABLE, plan(requirements=requirements)).beginnings()


def test_every_method_of_a_step_has_settings_or_a_reason(begun, offered) -> None:
    steps = {f"{m['kind']}/{m['name']}" for m in offered["methods"] if m["kind"] in ("partition", "mask")}
    assert begun.keys() == steps
    for name, one in begun.items():
        assert ("spec" in one) != bool(one.get("reason")), name
    assert sum("spec" in one for one in begun.values()) > 0.8 * len(begun)


def test_what_begins_can_be_carried_out_on_the_whole_table(begun) -> None:
    failed = {}
    for name, one in by_turns(begun.items(), 0, 2):
        if "spec" in one and name not in ("partition/refined", "partition/tcloseness-refined"):  # which take long
            try:
                carry_out(TABLE, only(plan(), [one["spec"]]), 1, None)
            except ShoalError as error:
                failed[name] = str(error)
    assert failed == {}


def test_settings_follow_from_the_plan_and_the_columns(begun) -> None:
    assert begun["partition/mdav"]["spec"] == {"partition": "mdav", "k": 4}
    assert begun["mask/suppress"]["spec"]["k"] == 4
    assert begun["partition/l-diverse"]["spec"] == {"partition": "l-diverse", "k": 4, "l": 3}
    assert begun["partition/consensus"]["spec"]["start"] == {"method": "mdav", "k": 4}
    assert begun["mask/noise"]["spec"]["columns"] == ["age", "income"]
    assert begun["mask/pram"]["spec"]["columns"] == ["area", "sex"]
    assert begun["mask/shift-dates"]["spec"]["columns"] == ["born"]
    assert begun["partition/univariate"]["spec"]["columns"] == ["age"]
    assert begun["mask/round"]["spec"]["base"] == 10  # ages spread by some 20 years, incomes by thousands
    assert begun["mask/recode"]["spec"] == {"mask": "recode", "bins": 4, "columns": ["age", "income"]}
    assert "do not come from the table" in begun["mask/laplace"]["reason"]


def test_a_reason_is_that_of_the_usual_columns() -> None:
    nobody = {name: {**column, "role": "quasi-identifier"} for name, column in COLUMNS.items()}
    begun = Trial.of(TABLE, Plan.of({"columns": nobody}, Path())).beginnings(["partition/burel"])
    assert begun["partition/burel"] == {"reason": "burel needs a confidential column; give one the role confidential."}


def test_categories_alone_are_recoded_where_they_are_rare() -> None:
    categories = {name: COLUMNS[name] for name in ("area", "sex")}
    frame = FRAME.select(list(categories))
    trial = Trial.of(Table(frame=frame, described="made"), Plan.of({"columns": categories}, Path()))
    begun = trial.beginnings(["mask/recode"])
    assert begun["mask/recode"]["spec"] == {"mask": "recode", "rare": 2 * K, "other": "other"}


def test_households_and_strata_do_not_make_the_sample_too_thin() -> None:
    frame = FRAME.with_columns(home=pl.int_range(300) // 3, ward=pl.Series(["x", "y", "z"] * 100).sort())
    columns = {**COLUMNS, "home": "household", "ward": "stratum"}
    trial = Trial.of(Table(frame=frame, described="made"), Plan.of({"columns": columns}, Path()))
    begun = trial.beginnings(["partition/mdav", "partition/l-diverse"])
    assert begun["partition/mdav"]["spec"]["k"] == K
    assert "household" in begun["partition/l-diverse"]["reason"]


def test_a_forecast_is_counted_on_some_records() -> None:
    seen = forecast(TABLE, plan(), {"partition": "mdav", "k": 5})
    assert seen["records"] == seen["left"] == 200
    assert seen["alone"][0] > 150
    assert seen["alone"][1] == 0
    assert 0 < seen["kept"] < 1
    assert forecast(TABLE, plan(), {"mask": "sample", "size": 50})["left"] == 50
    assert forecast(TABLE, plan(), {"partition": "whole", "replace": "cart", "columns": list(COLUMNS)})["alone"] is None


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("missing", "Local suppression"),
        ("rename", "Global recoding"),
        ("group values", "Global recoding"),
        ("delete", "Removal of identifiers"),
        ("round", "Rounding"),
        ("average", "MDAV"),
        ("fake", "The whole table as one group"),
        ("outliers", "Top coding"),
    ],
)
def test_methods_are_found_by_what_people_call_them(words: str, title: str, offered) -> None:
    texts = {m["title"]: f"{m['name']} {m['title']} {m['summary']} {m['words']}".lower() for m in offered["methods"]}
    assert all(word in texts[title] for word in words.split())


def test_the_best_of_a_goal_come_first(offered) -> None:
    goals = {goal["goal"]: goal["methods"] for goal in offered["goals"]}
    assert goals["Hide people in groups"][0] == "mdav"
    assert set(goals["Take out rare combinations"][:3]) == {"recode", "suppress", "suppress-records"}
    assert goals["Add noise to numbers"][0] == "noise"


SEARCHING = ["mask/suppress", "partition/fuzzy-c-means", "partition/latent-class", "partition/local-synthesis"]


def test_a_short_search_and_a_table_encoded_once_change_no_beginning(begun, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow way: each method on the table as it was read, with the whole of its usual search."""
    monkeypatch.setattr(module, "SEARCH", {})
    monkeypatch.setattr(Trial, "_try", lambda trial, spec: carry_out(trial.table, only(trial.plan, [spec]), 1, None))
    requirements = [{"privacy": "k-anonymity", "k": 4}, {"privacy": "l-diversity", "l": 3}]
    asked = SEARCHING[: by_night(2, 4)] + list(begun)[:: by_night(9, 1)]
    slowly = Trial.of(TABLE, plan(requirements=requirements)).beginnings(asked)
    assert slowly == {name: begun[name] for name in slowly}
    assert len(slowly) >= len(set(asked))


def test_a_few_methods_begin_as_all_do(begun) -> None:
    trial = Trial.of(TABLE, plan(requirements=[{"privacy": "k-anonymity", "k": 4}, {"privacy": "l-diversity", "l": 3}]))
    for asked in (["mask/noise", "mask/laplace"], ["partition/mdav", "mask/noise", "mask/none of ours"]):
        assert trial.beginnings(asked) == {name: begun[name] for name in asked if name in begun}


@pytest.mark.parametrize("spec", [{"mask": "suppress", "k": 3, "search": "greedy"}, {"partition": "mdav", "k": 3}])
def test_a_forecast_has_the_figures_of_a_release(spec) -> None:
    """What the release gives away by itself is left out of a forecast, and changes neither figure."""
    seen = forecast(TABLE, plan(), spec)
    some = TABLE.frame.sample(module.FORECAST, seed=module.SEED)
    done = carry_out(Table(frame=some), only(plan(), [spec]), module.SEED, None)
    assert seen["kept"] == InformationKept().finding_on(done.pair, np.random.default_rng(1)).value
    alone = [int((of.classes(of.quasi_identifiers).of_record == 1).sum()) for of in (done.before, done.released)]
    assert (seen["alone"], seen["short"]) == (alone, False)


def test_a_short_search_is_told_and_comes_near_a_long_one() -> None:
    spec = {"partition": "refined", "start": {"method": "mdav", "k": 3}}
    quick, slow, none = (forecast(TABLE, plan(), {**spec, **more}) for more in ({}, {"moves": 400_000}, {"moves": 0}))
    assert (quick["short"], slow["short"]) == (True, False)
    assert abs(quick["kept"] - slow["kept"]) < 0.05
    assert quick["kept"] > none["kept"]
