"""Cells suppressed part by part: what each record loses is what it loses in memory, whatever the options."""

import errno
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night, by_turns, crossed
from parts.conftest import released, whole_plan
from shoal import protect
from shoal.kernels.draws import keyed_generator
from shoal.run.parts.blanking import _write_blanked, after_blanking
from shoal.run.parts.journal import Journal
from shoal.run.parts.steps import After, Run
from shoal.table.parts.engine import HERE
from shoal.table.parts.stage import ROW, Stage, write_part
from shoal.table.step_result import StepResult
from shoal.vocabulary.errors import FileError, Refused

SEED = 1 << 70

KEYS = ("colour", "age", "grade", "pay")


def survey(n: int) -> pl.DataFrame:
    """Categories, words, ranks and numbers with a few rare ones, and one cell in fifty missing."""
    rng = np.random.default_rng(9)
    frame = pl.DataFrame(
        {
            "colour": rng.choice(["red", "orange", "blue", "green"], n, p=[0.6, 0.3, 0.09, 0.01]),
            "age": rng.binomial(9, 0.4, n).astype(str),
            "grade": rng.choice(["low", "middle", "high"], n, p=[0.5, 0.45, 0.05]),
            "pay": rng.integers(0, 3, n) / 2,
            "region": rng.choice(["north", "south"], n),
            "number": np.arange(n),
        }
    )
    gaps = pl.Series(rng.random(n) < 0.02)
    return frame.with_columns(pl.when(gaps).then(None).otherwise("age").alias("age"))


def plan_with(**step: Any) -> dict[str, Any]:
    reading = step.get("missing", "wildcard")
    keys = step.get("columns", KEYS)
    subsets = step.get("subsets") or [{"columns": list(keys), "k": step["k"]}]
    return {
        "columns": {
            "colour": "quasi-identifier",
            "age": {"role": "quasi-identifier", "missing": "keep"},
            "grade": {"role": "quasi-identifier", "level": "ordinal", "order": ["low", "middle", "high"]},
            "pay": "quasi-identifier",
            "region": "other",
            "number": "other",
        },
        "accept": ["colour", "age", "grade", "pay", "region", "number"],
        "steps": [{"mask": "suppress", "columns": list(KEYS), "effort": 0.1, **step}],
        "requirements": [{"privacy": "k-anonymity", "missing": reading, **subset} for subset in subsets],
        "output": {"format": "parquet"},
    }


SUBSETS = [
    {"columns": ["colour", "age", "grade"], "k": 4},
    {"columns": ["age", "grade", "pay"], "k": 5},
    {"columns": ["colour", "pay"], "k": 9},
]

OPTIONS = {
    "wildcard": {"k": 4},
    "greedy": {"k": 6, "search": "greedy"},
    "importance": {"k": 4, "importance": {"age": 3.5, "pay": 0.5}},
    "keep": {"k": 4, "keep": ["pay"]},
    "limits": {"k": 4, "limits": {"age": 0.1, "grade": 0.5}},
    "sacrifice": {"k": 5, "sacrifice": True},
    "subsets": {"subsets": SUBSETS},
    "nothing": {"k": 4, "missing": "nothing"},
    "nothing with limits": {"k": 4, "missing": "nothing", "limits": {"age": 0.15}},
    "equal": {"k": 4, "missing": "equal"},
    "equal with subsets": {"subsets": SUBSETS, "missing": "equal"},
    "optimal": {"k": 9, "search": "optimal", "columns": ["colour", "age"]},
}


def by_parts(frame: pl.DataFrame, plan: dict[str, Any], folder: Path, size: int = 400) -> tuple[pl.DataFrame, After]:
    """A table after the plan's step, carried out on parts of some size."""
    ready = shoal.Plan.of(plan).ready
    folder.mkdir()
    numbered = frame.with_row_index(ROW).cast({ROW: pl.Int64})
    paths = [folder / f"part-{start:05d}.parquet" for start in range(0, len(frame), size)]
    for path, start in zip(paths, range(0, len(frame), size)):
        write_part(numbered[start : start + size], path)
    run = Run(
        plan=ready,
        entropy=SEED,
        journal=Journal.open(folder / "run", {}),
        engine=HERE,
        memory=1 << 30,
        tell=lambda text, done: None,
    )
    after = after_blanking(run, 0, ready.steps[0], Stage.of(paths), ready.schema)
    return pl.concat(after.stage.chunks()).drop(ROW), after


def in_memory(frame: pl.DataFrame, plan: dict[str, Any]) -> tuple[pl.DataFrame, StepResult]:
    """A table after the plan's step, carried out in memory."""
    ready = shoal.Plan.of(plan).ready
    table = shoal.Microdata.of(frame, ready.schema)
    (step,) = ready.steps
    result = step.carry_out(table.records, step.columns, keyed_generator(SEED, 0))
    return table.rebuild(result.records).frame.to_native(), result


@pytest.mark.parametrize(("name", "strata"), by_turns(crossed(OPTIONS, [False, True]), 1, 2))
def test_every_record_loses_what_it_loses_in_memory(tmp_path, name, strata):
    frame, plan = survey(500), plan_with(**OPTIONS[name])
    if strata:
        plan["columns"]["region"] = "stratum"
    ours, after = by_parts(frame, plan, tmp_path / "run", 200)
    theirs, result = in_memory(frame, plan)
    assert ours.equals(theirs)
    assert after.account.facts == result.facts
    assert int(result.facts["cells suppressed"].n) > 0


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["subsets", "equal"][: by_night(1, 2)])
def test_the_release_is_that_of_the_whole_table(folder_of, tmp_path, name):
    frame, plan = survey(1500), plan_with(**OPTIONS[name])
    plan["columns"]["region"] = "stratum"
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    whole = shoal.protect(frame, whole_plan(plan), seed=SEED)
    assert released(tmp_path / "out").sort("number").equals(whole.table.frame.to_native().sort("number"))
    assert made.record["steps"] == whole.record["steps"]
    assert [v.sentence for v in made.evidence.verdicts] == [v.sentence for v in whole.evidence.verdicts]


@pytest.mark.parametrize("size", [7, 1000])
def test_how_the_table_is_cut_changes_nothing(tmp_path, size):
    """Of a combination some records lose a cell and others none: which, is drawn among all of them."""
    frame = pl.DataFrame({"colour": ["red", "blue"] * 40, "age": ["1"] * 79 + ["2"], "number": range(80)})
    plan = plan_with(k=3, columns=["colour", "age"], missing="equal")
    plan |= {"columns": {name: plan["columns"][name] for name in frame.columns}, "accept": frame.columns}
    ours, _ = by_parts(frame, plan, tmp_path / "one", size)
    theirs, _ = in_memory(frame, plan)
    assert ours.equals(theirs)
    assert 1 < sum(ours["age"].is_null()) < 40  # the rare one, and those drawn to go with it


def homes(n: int) -> pl.DataFrame:
    """Households of one to four, each in one town; ages, and one rare town."""
    rng = np.random.default_rng(2)
    home = np.sort(rng.integers(0, n // 3, n))
    town = rng.choice(["A", "B", "C", "D"], n, p=[0.5, 0.3, 0.18, 0.02])[home]
    return pl.DataFrame({"home": home, "town": town, "age": rng.integers(0, 6, n), "number": np.arange(n)})


HOMES = {"home": "household", "town": "quasi-identifier", "age": "quasi-identifier", "number": "other"}


def test_a_town_is_blanked_for_the_whole_household(tmp_path):
    step = {"mask": "suppress", "k": 4, "columns": ["town", "age"], "keep": ["age"]}
    plan = {"columns": HOMES, "steps": [step]}
    ours, after = by_parts(homes(600), plan, tmp_path / "run")
    theirs, result = in_memory(homes(600), plan)
    lacking = ours.filter(pl.col("town").is_null())["home"].unique()
    assert 0 < len(lacking) < ours["home"].n_unique()
    assert ours.filter(pl.col("home").is_in(lacking.implode()))["town"].null_count() == ours["town"].null_count()
    assert ours.equals(theirs) and after.account.facts == result.facts


def test_a_key_that_gives_another_away_is_blanked_beside_it(folder_of, tmp_path):
    """The postcode tells the region: where that came in without, the postcode goes too."""
    rng = np.random.default_rng(3)
    postcode = rng.integers(0, 30, 900)
    region = pl.Series(np.array(list("ABC"))[postcode // 10])
    known = pl.Series(rng.random(900) > 0.05)
    frame = pl.DataFrame({"region": region, "postcode": postcode, "age": rng.integers(0, 7, 900)}).with_columns(
        pl.when(known).then("region")
    )
    key = {"role": "quasi-identifier", "missing": "keep"}
    plan = {
        "columns": dict.fromkeys(frame.columns, key),
        "steps": [{"mask": "suppress", "k": 5, "effort": 0.1}],
        "requirements": [{"privacy": "k-anonymity", "k": 5, "missing": "wildcard"}],
        "output": {"format": "parquet"},
    }
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1)
    out = released(tmp_path / "out")
    assert out.filter(pl.col("region").is_null())["postcode"].null_count() == out["region"].null_count() > 0
    step = made.record["steps"][0]
    assert step["cells suppressed"] == sum(out.null_count().row(0)) - frame["region"].null_count()
    assert step["records touched"] == len(out) - len(out.drop_nulls())  # those without a region lost their postcode


def tariffs() -> pl.DataFrame:
    """Tariffs by class and zone, ages beside years of birth, two rare sexes."""
    rng = np.random.default_rng(5)
    kind, zone, year = (rng.integers(0, size, 900) for size in (5, 5, 30))
    tariff = rng.permutation(25).reshape(5, 5)[kind, zone] % 4
    sex = rng.choice(list("fmxy"), 900, p=[0.49, 0.49, 0.01, 0.01])
    return pl.DataFrame(
        {"kind": kind, "zone": zone, "tariff": tariff, "year": 1990 + year, "age": 34 - year, "sex": sex}
    )


@pytest.mark.parametrize("keys", [["tariff", "sex"], ["age", "sex"]], ids=["looked up", "computed"])
def test_what_others_give_back_is_left_as_in_memory(keys, tmp_path):
    columns = dict.fromkeys(tariffs().columns, "other")
    columns |= {name: {"role": "quasi-identifier", "level": "nominal"} for name in keys}
    step = {"mask": "suppress", "k": 5, "columns": keys, "importance": {"sex": 5}}
    ours, after = by_parts(tariffs(), {"columns": columns, "steps": [step]}, tmp_path / "run")
    theirs, result = in_memory(tariffs(), {"columns": columns, "steps": [step]})
    assert ours[keys[0]].null_count() == 0 < ours["sex"].null_count()
    assert ours.equals(theirs) and after.account.facts == result.facts


def test_a_cell_of_a_key_to_keep_that_is_given_away_is_a_refusal(folder_of, tmp_path):
    frame = homes(300)
    plan = {
        "columns": HOMES | {"town": {"role": "quasi-identifier", "missing": "keep"}},
        "steps": [{"mask": "suppress", "k": 1, "columns": ["town", "age"], "keep": ["town"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
    }
    lacking = frame.with_columns(pl.when(pl.col("number") != 7).then("town"))
    with pytest.raises(Refused, match="Other records with the same 'home' give missing cells of 'town' away"):
        protect(folder_of(lacking), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)


@pytest.mark.parametrize(
    "step",
    [{"mask": "suppress", "k": 3}, {"mask": "suppress-records", "k": 3, "limit": 1.0}, {"mask": "generalise", "k": 3}],
    ids=lambda step: step["mask"],
)
def test_too_many_combinations_are_refused_while_they_are_counted(folder_of, tmp_path, monkeypatch, step):
    monkeypatch.setattr(
        "shoal.table.parts.moments.BYTES_A_CELL", 5_000_000
    )  # so that 1 GB holds a hundred combinations
    plan = {
        "columns": {"number": "quasi-identifier", "age": "quasi-identifier", "home": "other", "town": "other"},
        "accept": ["number", "age", "home", "town"],
        "steps": [step],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    said = rf"{step['mask']} looks at all distinct combinations .* these 2 columns have more of them than 1\.07 GB"
    with pytest.raises(Refused, match=said):
        protect(folder_of(homes(300)), plan, tmp_path / "out", workers=1, memory="500MB")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_what_a_suppressed_cell_was_shows_in_no_file(tmp_path):
    """Tables that differ in a cell that is blanked give one public folder."""
    plan = {
        "columns": {"region": "quasi-identifier", "income": "confidential", "number": "other"},
        "accept": ["number"],
        "steps": [{"mask": "suppress", "k": 2, "columns": ["region"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 2, "missing": "wildcard"}],
        "output": {"format": "parquet"},
    }
    folders = []
    for rare in ("xx", "yy", "a place of its own"):
        place = tmp_path / rare
        (place / "in").mkdir(parents=True)
        regions = [rare, *["north", "south"] * 30]
        frame = pl.DataFrame({"region": regions, "income": range(61), "number": np.arange(61) ** 2})
        frame[:20].write_parquet(place / "in" / "1.parquet")
        frame[20:].write_parquet(place / "in" / "2.parquet")
        protect(place / "in", plan, place / "out", seed=SEED, workers=1)
        public = place / "out" / "release"
        folders.append({p.relative_to(public): p.read_bytes() for p in public.rglob("*") if p.is_file()})
    assert len(folders[0]) > 3
    assert pl.read_parquet(tmp_path / "xx" / "out" / "release" / "data" / "*.parquet")["region"].null_count() == 1
    assert folders[0] == folders[1] == folders[2]


@pytest.mark.usefixtures("small_blocks")
def test_a_run_whose_disk_was_full_goes_on_without_another_search(folder_of, tmp_path, monkeypatch):
    source, plan = folder_of(survey(900)), plan_with(k=4, missing="nothing", columns=["colour", "grade"])
    protect(source, plan, tmp_path / "whole", seed=SEED, workers=1)
    written: list[Path] = []

    def full(chunk: pl.DataFrame, path: Path, *given: Any, **named: Any) -> None:
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        _write_blanked(chunk, path, *given, **named)

    with monkeypatch.context() as patched:
        patched.setattr("shoal.run.parts.blanking._write_blanked", full)
        with pytest.raises(FileError, match="Make room, and start again"):
            protect(source, plan, tmp_path / "out", seed=SEED, workers=1)
    assert len(written) == 2 and not (tmp_path / "out").exists()
    monkeypatch.setattr(shoal.Suppress, "blanks", None)  # what is lost was written down
    protect(source, plan, tmp_path / "out", seed=SEED, workers=1)
    assert released(tmp_path / "out").equals(released(tmp_path / "whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]
