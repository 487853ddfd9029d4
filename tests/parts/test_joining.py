"""Steps row by row: what parts tell adds up to what the whole tells, whatever a part happens not to have."""

import numpy as np
import polars as pl
import pytest

import shoal
from parts.conftest import released, whole_plan
from shoal import protect
from shoal.run.parts.joining import joined_facts
from shoal.vocabulary.errors import Refused
from shoal.vocabulary.facts import ByColumn, Count, Figure, Nested, OfOriginal, OfPlan

SEED = 1 << 70


def test_counts_of_records_add_up_though_they_are_equal():
    parts = [{"by column": ByColumn({"a": Nested({"in the tail": Count(n=5, influence=1)})})}] * 2
    assert joined_facts(parts)["by column"].private() == {"a": {"in the tail": 10}}
    assert joined_facts([{"kept": Count(n=1, of=4)}, {"kept": Count(n=2, of=5)}]) == {"kept": Count(n=3, of=9)}
    assert joined_facts([{}, {"kept": Count(n=2)}]) == {"kept": Count(n=2)}


def test_what_does_not_add_up_is_told_where_all_parts_agree():
    same = {"period": OfPlan("year"), "cut points": OfOriginal([1.0]), "categories": Count(n=3, unit="categories")}
    assert joined_facts([same, same]) == same
    assert joined_facts([{"codes": Count(n=3, unit="codes")}, {"codes": Count(n=4, unit="codes")}]) == {}
    cells = [{"expected": Figure(value=1.5, unit="cells", influence=1)}, {"expected": Figure(value=2, unit="cells")}]
    assert joined_facts(cells) == {"expected": Figure(value=3.5, unit="cells", influence=1)}


SORTED = pl.DataFrame(
    {
        "age": np.repeat([60, 10, 80, 30], 500),
        "area": np.repeat(["north", "east", "south", "west"], 500),  # a chunk has one or two of them
        "pay": np.linspace(0, 1000, 2000).round(2),
    }
)
COLUMNS = {"age": "quasi-identifier", "area": "quasi-identifier", "pay": "confidential"}
KEEP = [[0.9, 0.1, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.5, 0.5]]


def plan_of(*steps: dict) -> dict:
    return {
        "columns": COLUMNS,
        "steps": list(steps),
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
        "output": {"format": "parquet"},
    }


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "step",
    [
        {"mask": "top-code", "value": 700, "columns": ["pay"]},
        {"mask": "recode", "groups": {"the rest": ["west", "nowhere"]}, "columns": ["area"]},
        {"mask": "recode", "prefix": 1, "columns": ["area"]},
        {"mask": "recode", "cuts": [20, 50, 80], "columns": ["age"]},
    ],
    ids=["top-code", "groups", "prefix", "cuts"],
)
def test_a_step_gives_and_tells_what_it_does_in_memory(folder_of, tmp_path, step):
    plan = plan_of(step)
    made = protect(folder_of(SORTED), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    whole = shoal.protect(SORTED, whole_plan(plan), seed=SEED)
    ours, theirs = released(tmp_path / "out"), whole.table.frame.to_native()
    assert ours.sort(ours.columns).equals(theirs.sort(theirs.columns))
    assert made.record["steps"] == whole.record["steps"]


@pytest.mark.usefixtures("small_blocks")
def test_a_matrix_is_for_the_categories_of_the_whole_table(folder_of, tmp_path):
    plan = plan_of({"mask": "pram", "matrix": {"area": KEEP}, "invariant": False, "columns": ["area"]})
    made = protect(folder_of(SORTED), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    after = dict(released(tmp_path / "out").group_by("area").len().rows())
    assert after["south"] > 600 > 400 > after["west"] > 200  # in the matrix the order is east, north, south, west
    assert after["north"] > 500
    account = made.record["steps"][0]["by column"]["area"]
    assert account["changed"] == after["south"] - 500 + after["north"] - 500
    assert account["expected to change"] == pytest.approx(0.1 * 500 + 0.5 * 500)


def test_labels_of_intervals_keep_their_order_though_parts_have_one_each(folder_of, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.table.parts.source.CHUNK", 700)
    ages = pl.DataFrame({"age": np.repeat([60, 10, 80, 30], 700), "pay": np.arange(2800) % 7})
    plan = plan_of(
        {"mask": "recode", "cuts": [25, 50, 75], "columns": ["age"]},
        {"partition": "mdav", "k": 300, "replace": "centroid", "columns": ["age", "pay"]},
    )
    plan["columns"] = {"age": "quasi-identifier", "pay": "quasi-identifier"}
    made = protect(folder_of(ages), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    loss = shoal.protect(ages, whole_plan(plan), seed=SEED).record["steps"][1]["information loss in percent"]
    assert made.record["steps"][1]["information loss in percent"] == pytest.approx(loss, rel=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_recoded_ordinal_columns_are_judged_in_their_order(folder_of, tmp_path):
    tree = {"paths": [["low", "under"], ["fair", "under"], ["good", "above"], ["top", "peak"]]}
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"mark": rng.choice(["low", "fair", "good", "top"], 1500), "area": rng.choice(["a", "b"], 1500)}
    )
    mark = {"role": "confidential", "level": "ordinal", "order": ["low", "fair", "good", "top"], "hierarchy": tree}
    plan = plan_of({"mask": "recode", "level": 1, "columns": ["mark"]})
    plan["columns"] = {"mark": mark, "area": "quasi-identifier"}
    plan["requirements"] = [{"privacy": "t-closeness", "t": 0.9, "distance": "rank"}]
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED).evidence.verdicts[0]
    assert made.evidence.verdicts[0].private_form() == whole.private_form()


@pytest.mark.usefixtures("small_blocks")
def test_groups_that_no_record_has_are_refused_as_in_memory(folder_of, tmp_path):
    plan = plan_of({"mask": "recode", "groups": {"x": ["nowhere"]}, "columns": ["area"]})
    with pytest.raises((Refused, shoal.ParameterError), match="has none of them"):
        protect(folder_of(SORTED), plan, tmp_path / "out", workers=1, unproved=True)
