"""What needs records at once gets them: columns of a step, or the table of a plan; refused is what does not fit."""

import json
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import NIGHT, only_by_night
from parts.conftest import ROLES, released, whole_plan
from shoal import protect
from shoal.release import LargeRelease, NotProved, WholeRelease
from shoal.release.evidence_file import private_evidence
from shoal.run.parts import in_blocks
from shoal.vocabulary.errors import DataError, FileError, Refused

SEED = 2**70 + 9

pytestmark = pytest.mark.usefixtures("small_blocks")

TREE = {"nested": {"lung": ["asthma", "flu"], "other": ["diabetes", "none"]}}
CATEGORIES = {"illness": {"role": "quasi-identifier", "hierarchy": TREE}}
DIVERSE = [{"method": "l-diversity", "l": 2}]
BLANK = {"mask": "suppress", "k": 2, "columns": ["sex"]}

GATHERED: dict[str, list[dict[str, Any]]] = {
    "a mask": [{"mask": "permute", "columns": ["x", "income"]}],
    "ranks": [{"mask": "noise", "kind": "sullivan", "variance": 0.1, "columns": ["x", "y"]}],
    "moments": [{"mask": "noise", "exact": True, "variance": 0.1, "columns": ["x", "y"]}],
    "frequencies": [{"mask": "pram", "columns": ["sex"]}],
    "bins": [{"mask": "recode", "bins": 4, "columns": ["x"]}],
    "tails": [{"mask": "top-code", "quantile": 0.9, "replace": "mean", "columns": ["income"]}],
    "a partition": [{"partition": "whole", "replace": "centroid", "columns": ["x", "y"]}],
    "a model": [{"partition": "whole", "replace": "cart", "columns": ["x", "income"]}],
    "an identifier": [{"partition": "mdav", "k": 4, "unit": "id"}],
    "every record": [{"mask": "generalise", "recoding": "local", "k": 3, "columns": ["illness"]}],
    "requirements": [{**BLANK, "requirements": DIVERSE}],
    "dropped": [{"mask": "suppress-records", "k": 2, "limit": 1, "requirements": DIVERSE, "columns": ["sex"]}],
    "one after the other": [
        {"mask": "permute", "columns": ["income"]},
        {"mask": "rank-swap", "p": 0.1, "columns": ["income"]},
        {"mask": "permute", "columns": ["note"]},
    ],
}


TOGETHER = {
    "several masks": ("a mask", "ranks", "frequencies", "tails"),
    "groups and masks": ("moments", "a partition", "bins"),
}
"""By day steps that do not touch one another's columns, or bear it, stand in one plan."""

PLANS = {
    **{name: [*chain.from_iterable(GATHERED[each] for each in several)] for name, several in TOGETHER.items()},
    **{name: steps for name, steps in GATHERED.items() if name not in {*chain.from_iterable(TOGETHER.values())}},
}


def plan_of(steps: list[dict[str, Any]], **sections: Any) -> dict[str, Any]:
    return {"columns": ROLES | CATEGORIES, "steps": steps, "accept": ["note"], **sections}


@pytest.mark.parametrize("name", GATHERED if NIGHT else PLANS)
def test_a_step_gives_and_tells_what_it_does_in_memory(table, folder_of, name):
    plan = plan_of((GATHERED | PLANS)[name])
    made = protect(folder_of(table(1000)), plan, seed=SEED, workers=1)
    whole = protect(table(1000), whole_plan(plan), seed=SEED)
    assert isinstance(made, LargeRelease)
    ours, theirs = made.to_frame(), whole.to_frame()
    assert ours.sort(ours.columns).equals(theirs.sort(theirs.columns))
    assert made.record["steps"] == whole.record["steps"]
    assert made.account.steps == whole.account.steps


SYNTHETIC = {"partition": "whole", "replace": "cart", "columns": ["x", "y", "sex", "income", "illness", "note"]}


@pytest.mark.parametrize("step", [GATHERED["a mask"][0], SYNTHETIC], ids=["a mask", "made anew"])
def test_the_private_report_is_that_of_the_whole_table(table, step):
    """But for measures of the original, of which parts take the exact ones only, and for the riskiest records."""
    plan = plan_of([step], output={"format": "parquet", "shuffle": False})
    made, whole = (
        private_evidence(protect(table(900), asked, seed=SEED, workers=1)) for asked in (plan, whole_plan(plan))
    )
    for content in (made, whole):
        for name in ("versions", "plan", "private"):
            del content[name]
        for measure in content["measures"]:
            measure["original"] = None
    assert made == whole
    assert bool(made["made anew"]) is (step is SYNTHETIC)


@pytest.mark.parametrize("policy", ["merge", "refuse"])
def test_small_strata_are_united_and_categories_of_missing_cells_compared(table, tmp_path, policy):
    n = 1600
    area = np.array(["a", "b", "c"])[np.where(np.arange(n) < 3, 2, np.arange(n) % 2)]
    frame = table(n).with_columns(area=area, sex=pl.when(pl.col("x") > 1).then(None).otherwise("sex"))
    plan = plan_of([{"partition": "mdav", "k": 4, "small_strata": policy, "columns": ["x", "sex"]}])
    plan["columns"] = plan["columns"] | {
        "area": "stratum" if policy == "merge" else "other",
        "sex": {"role": "quasi-identifier", "missing": "category"},
    }
    made = protect(frame, plan, seed=SEED, workers=1)
    whole = protect(frame, whole_plan(plan), seed=SEED)
    ours, theirs = made.to_frame(), whole.to_frame()
    assert ours.sort(ours.columns).equals(theirs.sort(theirs.columns))
    assert ours["sex"].null_count() > 0
    assert made.record["steps"] == whole.record["steps"]


def test_missing_numbers_are_no_category_here_either(table):
    frame = table(900).with_columns(x=pl.when(pl.col("x") > 0).then("x"))
    plan = plan_of([{"mask": "permute", "columns": ["y"]}])
    plan["columns"] = plan["columns"] | {"x": {"role": "other", "missing": "category"}}
    for asked in (plan, whole_plan(plan)):
        with pytest.raises(DataError, match="'x' is continuous; missing: category is for nominal columns"):
            protect(frame, asked, workers=1)


def test_groups_of_blocks_stay_with_their_records(table, tmp_path):
    frame = table(2000).with_columns(row=pl.Series(range(2000)))
    plan = plan_of([{"partition": "mdav", "k": 5, "columns": ["x", "y"]}, {"mask": "permute", "columns": ["income"]}])
    plan |= {"columns": plan["columns"] | {"row": "other"}, "output": {"format": "parquet"}}
    protect(frame, plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out, groups = released(tmp_path / "out"), pl.read_parquet(tmp_path / "out/private/groups/*.parquet")
    assert groups["row"].to_list() == out["row"].to_list()
    assert out.with_columns(group=groups["group"]).group_by("group").agg(pl.col("x").n_unique())["x"].max() == 1
    assert groups["group"].value_counts()["count"].min() >= 5
    assert out["income"].to_list() != frame["income"].gather(out["row"]).to_list()


def test_a_step_that_does_not_fit_is_refused_before_it_is_begun_and_says_what_would(table, tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.desk.given.FITS_ANYWHERE", 0)
    monkeypatch.setattr("shoal.desk.given.BYTES_A_CELL", 1 << 20)
    steps = [{"mask": "noise", "variance": 0.1, "columns": ["x"]}, {"mask": "pram", "columns": ["sex"]}]
    with pytest.raises(FileError) as refused:
        protect(table(2000), plan_of(steps), tmp_path / "out", memory="1GB", unproved=True, workers=1)
    assert str(refused.value) == (
        "steps 2 (pram) may need 2,000 MB to hold the 1 column that it looks at, of which 1,024 MB may be used. Allow "
        "more with --memory. It needs how frequent the categories are; give a matrix, with invariant: false."
    )
    assert list(tmp_path.iterdir()) == []
    assert protect(table(2000), plan_of(steps), memory="2GB", workers=1).records == 2000
    rule = plan_of([], constraints=["income >= 0"])
    with pytest.raises(FileError, match=r"'the table' may need 14,000 MB held whole.* Edit rules \(constraints\)"):
        protect(table(2000), rule, memory="2GB", workers=1)


GROUPS = {"partition": "mdav", "k": 4, "columns": ["x", "y", "sex"]}
RULES = ["income >= 0", "x - y <= 1"]


def test_rules_are_kept_by_groups_of_blocks(table, tmp_path):
    frame = table(2000).with_columns(x=pl.min_horizontal("x", pl.col("y") + 1))
    plan = plan_of([GROUPS], constraints=RULES, requirements=[{"privacy": "k-anonymity", "k": 4}])
    plan["columns"] = ROLES
    made = protect(frame, plan, tmp_path / "out", seed=SEED, workers=1, source={"file": "invented"})
    assert isinstance(made, WholeRelease)
    assert made.record["input"]["file"] == "invented"
    groups, rules = made.account.steps
    assert (groups.step, rules.step) == ("mdav + centroid", "constraints and rounding")
    assert made.record["steps"][0]["blocks"] > 2
    assert made.record["blocks"]["1 mdav + centroid"]["cuts"]
    out = pl.read_csv(tmp_path / "out/release/data.csv")
    assert (out["x"] - out["y"]).max() <= 1
    assert out.group_by("x", "y", "sex").len()["len"].min() >= 4
    whole = protect(frame, whole_plan(plan), seed=SEED).record["steps"][0]
    loss = "information loss in percent"
    assert whole[loss] < made.record["steps"][0][loss] < 1.3 * whole[loss]
    assert shoal.audit(tmp_path / "out/release/data.csv", plan, private=tmp_path / "out/private").holds
    assert not (tmp_path / ".out.unfinished").exists()


def test_one_block_is_the_table(table, monkeypatch):
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 10_000)
    plan = plan_of([GROUPS], output={"format": "sav"}, measures=[{"risk": "distance-linkage"}])
    made = protect(table(900), plan, seed=SEED, workers=1)
    whole = protect(table(900), whole_plan(plan), seed=SEED)
    assert made.to_frame().equals(whole.to_frame())
    assert made.evidence.as_mapping() == whole.evidence.as_mapping()
    assert (made.partition.labels == whole.partition.labels).all()
    assert {name: part.labels.tolist() for name, part in made.hidden.items()} == {
        name: part.labels.tolist() for name, part in whole.hidden.items()
    }


def test_a_bound_that_fails_is_refused_and_leaves_nothing(table, tmp_path):
    plan = plan_of([GROUPS], requirements=[{"risk": "distance-linkage", "at most": 1e-6}])
    with pytest.raises(NotProved, match="found again by distance at most"):
        protect(table(900), plan, tmp_path / "out", seed=SEED, workers=1)
    assert list(tmp_path.iterdir()) == []


def test_copies_have_blocks_of_their_own(table, tmp_path):
    """Each by its own seed, with which it is made again alone."""
    plan = plan_of([SYNTHETIC], output={"copies": 2, "format": "parquet"})
    made = protect(table(900), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    assert not made.copies[0].to_frame().equals(made.copies[1].to_frame())
    (seed,) = made.record["seeds of further copies"]
    alone = protect(table(900), {**plan, "output": {"format": "parquet"}, "constraints": []}, seed=seed, workers=1)
    ours, theirs = made.copies[1].to_frame(), alone.to_frame()
    assert ours.sort(ours.columns).equals(theirs.sort(theirs.columns))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=only_by_night)])
def test_what_was_finished_in_blocks_is_not_done_again(table, folder_of, tmp_path, monkeypatch, workers):
    source = folder_of(table(2000))
    plan = plan_of([GROUPS, {**GROUPS, "columns": ["x", "note"]}], constraints=["income >= 0"])
    protect(source, plan, tmp_path / "whole", seed=SEED, workers=workers, unproved=True)
    done = []

    def stopped(*given: Any) -> Any:
        done.append(given[1])
        if len(done) == 2:
            raise KeyboardInterrupt
        return step(*given)

    step = in_blocks.after_step
    monkeypatch.setattr(in_blocks, "after_step", stopped)
    with pytest.raises(KeyboardInterrupt):
        protect(source, plan, tmp_path / "out", workers=workers, seed=SEED, unproved=True)
    assert (tmp_path / ".out.unfinished").exists() and not (tmp_path / "out").exists()
    protect(source, plan, tmp_path / "out", workers=workers, unproved=True)  # with the seed that the run had
    assert done == [0, 1, 1]
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def contents(out: Path) -> dict[str, bytes]:
    files = [path for path in (out / "release").rglob("*") if path.is_file()]
    return {path.name: path.read_bytes() for path in files}


def test_what_an_earlier_step_may_have_spread_is_no_bounded_fact(table, tmp_path):
    """As in memory: a record may move groups, and these any number of cells of a later step."""
    steps = [{"partition": "mdav", "k": 5, "columns": ["x"]}, {"mask": "top-code", "value": 1.0, "columns": ["x"]}]
    counts = {}
    for exact in (True, False):
        out = tmp_path / str(exact)
        protect(table(2000), {**plan_of(steps), "exact": exact}, out, seed=SEED, workers=1, unproved=True)
        public = json.loads((out / "release/evidence.json").read_text())["steps"]
        counts[exact] = [step["facts"].get("by column") for step in public]
    assert counts[True] == counts[False]


def test_a_step_that_leaves_nothing_is_refused_by_every_way(table):
    dropped = {"mask": "suppress-records", "k": 3000, "limit": 1, "columns": ["sex"]}
    said = []
    for steps in ([dropped], [{**dropped, "requirements": DIVERSE}]):
        for plan in (plan_of(steps), plan_of(steps, constraints=["income >= 0"]), whole_plan(plan_of(steps))):
            with pytest.raises(Refused, match="left no record") as refused:
                protect(table(900), plan, workers=1)
            said.append(str(refused.value))
    assert len({*said}) == 1
