"""Rank swapping part by part: the values of a table in memory that has the same draws, however the ranges lie."""

import errno
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from by_night import crossed, only_by_night
from parts.conftest import released
from parts.killed import Killed
from parts.test_engine import Elsewhere
from shoal import protect
from shoal.kernels.draws import keyed_generator
from shoal.mask.rank_swap import RankSwap
from shoal.plan import Plan
from shoal.run.parts import journal, sorting
from shoal.run.parts.journal import Journal
from shoal.run.parts.sorting import after_sorting
from shoal.run.parts.steps import After, Run
from shoal.table.microdata import Microdata
from shoal.table.parts.engine import HERE, Engine, Processes
from shoal.table.parts.stage import ROW, Stage, write_part
from shoal.vocabulary.errors import FileError, ParameterError

SEED = 1 << 70
GRADES = ["low", "middle", "high", "top"]
COLUMNS = {
    "x": "quasi-identifier",
    "count": {"role": "quasi-identifier", "missing": "keep"},
    "grade": {"role": "quasi-identifier", "level": "ordinal", "order": GRADES, "missing": "keep"},
    "region": "other",
    "row": "other",
}
SWAPPED = ["x", "count", "grade"]


def table(n: int) -> pl.DataFrame:
    """Sorted by x, so that parts and ranges of x are the same records; much of the rest is tied, some missing."""
    rng = np.random.default_rng(3)
    gaps = rng.random((2, n)) < 0.07
    frame = pl.DataFrame(
        {
            "x": np.sort(rng.standard_normal(n)),
            "count": rng.poisson(2, n),
            "grade": rng.choice(GRADES, n, p=[0.6, 0.2, 0.15, 0.05]),
            "region": rng.choice(["north", "south", "islands"], n, p=[0.6, 0.35, 0.05]),
            "row": np.arange(n),
        }
    )
    return frame.with_columns(
        pl.when(pl.Series(~gaps[0])).then("count").alias("count"),
        pl.when(pl.Series(~gaps[1])).then("grade").alias("grade"),
    )


def plan_of(p: float = 0.05, **columns: object) -> dict:
    return {
        "columns": COLUMNS | columns,
        "steps": [{"mask": "rank-swap", "p": p}],
        "requirements": [{"privacy": "k-anonymity", "k": 1}],
        "accept": ["region", "row"],
        "output": {"format": "parquet"},
    }


def in_memory(frame: pl.DataFrame, plan: dict) -> tuple[pl.DataFrame, dict]:
    """What the method makes of the whole table with the draws of the step, and what it says."""
    data = Microdata.of(frame, plan["columns"])
    result = RankSwap(p=plan["steps"][0]["p"]).apply(data.records, SWAPPED, keyed_generator(SEED, 0))
    facts = {name: {k: v.n for k, v in by.facts.items()} for name, by in result.facts["by column"].columns.items()}
    return data.rebuild(result.records).frame.to_native(), facts


Carry = Callable[..., tuple[pl.DataFrame, After]]


@pytest.fixture
def carry(tmp_path: Path) -> Carry:
    """Carries the step out on parts of so many records each, and gives the records in the order of their rows."""

    def carried(
        frame: pl.DataFrame, plan: dict, sizes: Sequence[int], engine: Engine = HERE, run: str = "run"
    ) -> tuple[pl.DataFrame, After]:
        described = Plan.of(plan)
        journal = Journal.open(tmp_path / run, {})
        numbered = frame.with_columns(pl.int_range(len(frame)).alias(ROW))
        paths = [journal.place("intake") / f"part-{n}.parquet" for n in range(len(sizes))]
        for path, end, size in zip(paths, np.cumsum(sizes).tolist(), sizes):
            write_part(numbered[end - size : end], path)
        stage = Stage.of(paths, engine)
        work = Run(
            plan=described, entropy=SEED, journal=journal, memory=1 << 30, engine=engine, tell=lambda text, done: None
        )
        after = after_sorting(work, 0, described.steps[0], stage, described.schema)
        return pl.concat(after.stage.chunks()).sort(ROW).drop(ROW), after

    return carried


def counts_in(after: After) -> dict[str, dict[str, int]]:
    by = after.account.facts["by column"].columns
    return {name: {label: count.n for label, count in nested.facts.items()} for name, nested in by.items()}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("p", "stratum"), crossed([0.02, 0.3, 1.0], [False, True]))
def test_values_are_those_of_the_whole_table_with_the_same_draws(carry, stratum, p):
    frame = table(2_500)
    plan = plan_of(p, region="stratum" if stratum else "other")
    whole, facts = in_memory(frame, plan)
    parts, after = carry(frame, plan, [700, 700, 700, 400])
    assert parts.equals(whole)
    assert counts_in(after) == facts
    assert len(list((after.stage.parts[0].parent.parent).glob("sort*[0-9]"))) == 0  # nothing is left in between
    assert not whole["x"].equals(frame["x"])


@pytest.mark.usefixtures("small_blocks")
def test_values_move_within_their_stratum_by_the_share_that_the_plan_says(carry):
    frame = table(2_500)
    out, _ = carry(frame, plan_of(0.1, region="stratum"), [700, 700, 700, 400])
    for region in ("north", "south", "islands"):
        before, after = (f.filter(pl.col("region") == region) for f in (frame, out))
        for name in SWAPPED:
            assert before[name].is_null().equals(after[name].is_null())
            assert before[name].sort().equals(after[name].sort())
        x, y = before["x"].to_numpy(), after["x"].to_numpy()  # ascending, without ties
        moved = np.abs(np.searchsorted(x, y) - np.arange(len(x)))
        assert 0.4 * len(x) * 0.1 < moved.mean() <= moved.max() <= 0.1 * len(x)


@pytest.mark.parametrize("engine", [Elsewhere(), pytest.param(Processes(workers=2), marks=only_by_night)])
def test_ranges_parts_and_who_does_the_work_change_nothing(carry, monkeypatch, engine):
    frame, plan = table(1_200), plan_of(region="stratum")
    whole, first = carry(frame, plan, [1_200])
    monkeypatch.setattr("shoal.table.parts.dealing.BLOCK_CELLS", 0)
    monkeypatch.setattr("shoal.table.parts.dealing.SMALLEST_BLOCK", 90)
    parts, second = carry(frame, plan, [500, 1, 0, 699], engine, "other")
    assert parts.equals(whole)
    assert counts_in(first) == counts_in(second)


@pytest.mark.usefixtures("small_blocks")
def test_columns_of_one_value_or_of_hardly_any(carry):
    n = 2_000
    frame = table(n).with_columns(
        x=pl.lit(1.5), count=pl.when(pl.col("row") == 1_999).then(7), grade=pl.lit(None, dtype=pl.String)
    )
    out, after = carry(frame, plan_of(), [700, 700, 600])
    assert out.equals(frame)
    counts = counts_in(after)
    assert counts["x"]["unchanged"] == n
    assert counts["count"] == in_memory(frame, plan_of())[1]["count"]
    assert counts["grade"] == in_memory(frame, plan_of())[1]["grade"]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("p", "columns", "says"),
    [(0.0001, {}, "column 'x' has 2,500"), (0.1, {"region": "quasi-identifier"}, "'region' is nominal")],
)
def test_what_has_no_ranks_is_refused_as_in_memory(carry, p, columns, says):
    with pytest.raises(ParameterError, match=says):
        carry(table(2_500), plan_of(p, **columns), [1_500, 1_000])


@pytest.mark.usefixtures("small_blocks")
def test_a_run_that_stopped_goes_on_with_the_columns_that_are_left(carry, monkeypatch):
    frame, plan = table(2_000), plan_of()
    whole, _ = carry(frame, plan, [700, 700, 600], run="whole")
    plain, sorted_columns = sorting.swapped, []

    def stopping(run, stage, keys, *rest):
        if keys.name == "grade" and not sorted_columns.count("grade"):
            sorted_columns.append("grade")
            raise FileError("No space left.")
        sorted_columns.append(keys.name)
        return plain(run, stage, keys, *rest)

    monkeypatch.setattr(sorting, "swapped", stopping)
    with pytest.raises(FileError, match="No space"):
        carry(frame, plan, [700, 700, 600])
    again, _ = carry(frame, plan, [700, 700, 600])
    assert again.equals(whole)
    assert sorted_columns == ["x", "count", "grade", "grade"]


@pytest.mark.usefixtures("small_blocks")
def test_a_release_after_groups_were_formed(folder_of, tmp_path):
    frame = table(900)
    plan = plan_of(0.1, x="quasi-identifier", count="confidential")
    plan["columns"]["count"] = {"role": "confidential", "missing": "drop"}
    plan["columns"]["grade"] = "other"
    plan["steps"] = [
        {"partition": "mdav", "k": 4, "replace": "centroid"},
        {"mask": "rank-swap", "p": 0.1, "columns": ["count"]},
    ]
    plan["requirements"] = [{"privacy": "k-anonymity", "k": 4}]
    made = protect(folder_of(frame), plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    out = released(tmp_path / "out")
    known = frame.drop_nulls("count")
    assert out["count"].sort().equals(known["count"].sort())
    assert out["count"].dtype == frame["count"].dtype
    swapped = out.sort("row")["count"].to_numpy() != known.sort("row")["count"].to_numpy()
    assert made.record["steps"][1]["by column"]["count"]["unchanged"] == int((~swapped).sum()) > 0
    groups = pl.read_parquet(tmp_path / "out" / "private" / "groups" / "*.parquet")
    assert groups["group"].n_unique() == made.record["steps"][0]["groups"]


def top_coded(greatest: float) -> tuple[pl.DataFrame, dict]:
    """A table whose greatest values no release shows, and a plan that swaps ranks and then hides them."""
    frame = table(900).drop("grade", "count")
    hidden = frame["x"] > 2
    values = frame["x"].to_numpy().copy()
    values[hidden.to_numpy()] = np.linspace(3, greatest, hidden.sum())
    plan = {
        "columns": {"x": "quasi-identifier", "region": "quasi-identifier", "row": "other"},
        "accept": ["row"],
        "steps": [
            {"mask": "rank-swap", "p": 0.1, "columns": ["x"]},
            {"mask": "top-code", "value": 2, "columns": ["x"]},
        ],
        "requirements": [{"privacy": "k-anonymity", "k": 2, "columns": ["region"]}],
        "output": {"format": "parquet"},
    }
    return frame.with_columns(x=values), plan


@pytest.mark.usefixtures("small_blocks")
def test_what_was_swapped_and_hidden_shows_in_no_public_file(tmp_path):
    folders = []
    for greatest in (4.0, 1e6):
        place = tmp_path / str(greatest)
        (place / "in").mkdir(parents=True)
        frame, plan = top_coded(greatest)
        frame[:500].write_parquet(place / "in" / "1.parquet")
        frame[500:].write_parquet(place / "in" / "2.parquet")
        protect(place / "in", plan, place / "out", seed=SEED, workers=1, unproved=True)
        public = place / "out" / "release"
        folders.append({p.relative_to(public): p.read_bytes() for p in public.rglob("*") if p.is_file()})
    assert len(folders[0]) > 3
    assert folders[0] == folders[1]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("module", ["ranks", "sorting"])
def test_a_disk_that_is_full_while_values_are_swapped_leaves_what_can_go_on(folder_of, tmp_path, monkeypatch, module):
    frame, plan = top_coded(4.0)
    source = folder_of(frame)
    protect(source, plan, tmp_path / "whole", seed=SEED, workers=1, unproved=True)
    written: list[Path] = []

    def full(part: pl.DataFrame, path: Path) -> None:
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_part(part, path)

    with monkeypatch.context() as patched:
        patched.setattr(f"shoal.run.parts.{module}.write_part", full)
        with pytest.raises(FileError, match=r"No space left on device\). Make room, and start again"):
            protect(source, plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    assert len(written) == 2 and not (tmp_path / "out").exists()
    protect(source, plan, tmp_path / "out", seed=SEED, workers=1, unproved=True)
    assert released(tmp_path / "out").equals(released(tmp_path / "whole"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]


def test_a_run_that_was_killed_when_its_values_were_in_place_swaps_them_again(tmp_path, monkeypatch):
    """Values that are gone before the step is known to be finished would be taken for none, and nothing swapped."""
    table(900).write_parquet(tmp_path / "in.parquet")
    protect(tmp_path / "in.parquet", plan_of(), tmp_path / "whole", seed=SEED, workers=1, unproved=True)
    plain = journal._put_at

    def killed(path: Path):
        if path.name == "step-0.done":
            raise Killed
        return plain(path)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(journal, "_put_at", killed)
        protect(tmp_path / "in.parquet", plan_of(), tmp_path / "out", seed=SEED, workers=1, unproved=True)
    protect(tmp_path / "in.parquet", plan_of(), tmp_path / "out", seed=SEED, workers=1, unproved=True)
    assert released(tmp_path / "out").equals(released(tmp_path / "whole"))
