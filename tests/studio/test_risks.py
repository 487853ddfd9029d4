"""Risk record by record and person by person, sets of columns, and analyses followed through runs, counted by hand."""

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.desk.whole import protect_whole
from shoal.plan import Plan
from shoal.studio.analyses import followed
from shoal.studio.profile import PAGE
from shoal.studio.risks import MOST_CELLS, MOST_RISKY, risks, sets_of
from shoal.studio.sides import Sides, _by_size
from shoal.studio.variables import ComparedColumn, encoded
from shoal.table.files.table import Table
from shoal.table.records import Classes
from shoal.vocabulary.errors import InputError

RNG = np.random.default_rng(6)
FRAME = pl.DataFrame(
    {
        "house": RNG.integers(0, 60, 150),
        "sex": RNG.choice(["f", "m"], 150),
        "age": RNG.integers(20, 60, 150),
        "town": RNG.choice(["A", "B", "C"], 150, p=[0.6, 0.3, 0.1]),
        "income": RNG.normal(3000, 400, 150).round(),
    }
)
COLUMNS: dict[str, Any] = {
    "house": "household",
    "sex": "quasi-identifier",
    "age": {"role": "quasi-identifier", "level": "continuous"},
    "town": "quasi-identifier",
    "income": {"role": "confidential", "level": "continuous"},
}
PLAN = Plan.of(
    {
        "columns": COLUMNS,
        "steps": [{"mask": "recode", "columns": ["age"], "width": 20}],
        "accept": ["income", "sex", "town"],
    },
    None,
)
KEYS = ["sex", "age", "town"]


@pytest.fixture(scope="module")
def release() -> Any:
    return protect_whole(Table(frame=FRAME), PLAN, seed=1)


@pytest.fixture(scope="module")
def sides(release: Any) -> Any:
    return Sides().of(Table(frame=FRAME), PLAN, PLAN.folder, release)


def test_records_and_persons_at_each_risk(sides: Any, release: Any) -> None:
    answer = risks(sides, {"sex": {"f": "female"}})
    assert answer["keys"] == KEYS
    for side, frame, rows in zip(answer["sides"], (FRAME, release.to_frame()), (range(150), release.rows)):
        cells = list(frame.select(KEYS).iter_rows())
        size = Counter(cells)
        assert dict(map(tuple, side["sizes"])) == Counter(size[c] for c in cells)
        houses = FRAME["house"][list(rows)].to_list()
        among = {c: len({h for h, other in zip(houses, cells) if other == c}) for c in size}
        least = {h: min(among[c] for other, c in zip(houses, cells) if other == h) for h in houses}
        assert dict(map(tuple, side["persons"])) == Counter(least.values())


def test_the_cell_that_makes_a_record_risky_is_the_one_without_which_most_are_alike(sides: Any) -> None:
    answer = risks(sides, {"sex": {"f": "female", "m": "male"}})["sides"][0]
    rows = list(FRAME.select(KEYS).iter_rows())
    assert [r["size"] for r in answer["riskiest"]] == sorted(r["size"] for r in answer["riskiest"])
    for risky in answer["riskiest"]:
        own = rows[risky["row"] - 1]
        assert risky["size"] == rows.count(own)
        without = {}
        for j, name in enumerate(KEYS):
            left = [row[:j] + row[j + 1 :] for row in rows]
            without[name] = left.count(own[:j] + own[j + 1 :])
        assert risky["without"] == max(without.values()) == without[risky["column"]]
        assert risky["value"] == str(own[KEYS.index(risky["column"])])
        if risky["column"] == "sex":
            assert risky["label"] in ("female", "male")


def test_sets_of_columns_by_hand(sides: Any) -> None:
    answer = sets_of(sides, ["town", "sex"])
    assert {tuple(one["columns"]) for one in answer["sets"]} == {
        names for size in (1, 2, 3) for names in combinations(KEYS, size)
    }
    assert answer["chosen"]["columns"] == ["sex", "town"]
    for one in [*answer["sets"], answer["chosen"]]:
        rows = list(FRAME.select(one["columns"]).iter_rows())
        pairs = [a != b for a, b in combinations(rows, 2)]
        figures = one["figures"][0]
        assert figures["distinction"] == pytest.approx(len(set(rows)) / len(rows))
        assert figures["separation"] == pytest.approx(sum(pairs) / len(pairs))
        assert figures["unique"] == pytest.approx(sum(n == 1 for n in Counter(rows).values()) / len(rows))
    order = [one["figures"][0]["distinction"] for one in answer["sets"]]
    assert order == sorted(order, reverse=True)


def test_many_sets_are_left_out_before_single_columns(sides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_CELLS > 6 * 150
    monkeypatch.setattr("shoal.studio.risks.MOST_CELLS", 100)
    answer = sets_of(sides, [])
    assert sorted(len(one["columns"]) for one in answer["sets"]) == [1, 1, 1, 3]
    assert answer["chosen"] is None
    assert [len(side["riskiest"]) for side in risks(sides, {})["sides"]] == [6, 6]


def seen(release: Any, *names: str) -> dict[str, ComparedColumn]:
    before = {name: encoded(FRAME[name], PLAN.schema, PLAN.folder) for name in names}
    return {n: ComparedColumn(before=b, after=release.table.encoded[n], place=release.rows) for n, b in before.items()}


def test_means_by_group_before_and_after(release: Any) -> None:
    before, after = followed({"kind": "mean", "of": "age", "by": ["town"]}, seen(release, "age", "town"), {})
    for town, cell in before.items():
        ages = FRAME.filter(pl.col("town") == town)["age"].to_numpy()
        assert cell is not None
        assert cell[0] == pytest.approx(ages.mean())
        assert cell[1] == pytest.approx(1.96 * ages.std() / len(ages) ** 0.5)
    middle = {t: after[t][0] for t in after}  # type: ignore[index]  # of bands of twenty years, each at its own mean
    own = FRAME[release.rows.tolist()].with_columns(band=release.to_frame()["age"])
    bands = dict(own.group_by("band").agg(pl.col("age").unique().mean()).iter_rows())
    expected = {t: np.mean([bands[b] for b in own.filter(pl.col("town") == t)["band"]]) for t in before}
    assert middle == pytest.approx(expected, abs=1.0)
    whole, _ = followed({"kind": "mean", "of": "income", "by": []}, seen(release, "income"), {})
    assert whole["all records"][0] == pytest.approx(FRAME["income"].mean())  # type: ignore[index]


def test_a_model_is_the_least_squares_fit(release: Any) -> None:
    asked: Any = {"kind": "model", "of": "income", "by": ["age", "town"]}
    before, after = followed(asked, seen(release, "income", "age", "town"), {})
    towns = [t for t, _ in Counter(FRAME["town"]).most_common()]
    x = np.column_stack([FRAME["age"], *[(FRAME["town"] == t).cast(float) for t in towns[1:]], np.ones(150)])
    solution = np.linalg.lstsq(x, FRAME["income"].to_numpy(), rcond=None)[0]
    assert list(before) == ["age", *[f"town: {t}, not {towns[0]}" for t in towns[1:]]]
    assert [cell[0] for cell in before.values() if cell] == pytest.approx(solution[:-1].tolist())
    assert after["age"] is not None


def test_a_table_has_the_shares_of_the_records(release: Any) -> None:
    before, after = followed(
        {"kind": "table", "of": "sex", "by": ["town"]}, seen(release, "sex", "town"), {"sex": {"f": "female"}}
    )
    counts = Counter(f"{'f female' if a == 'f' else a} · {b}" for a, b in FRAME.select("sex", "town").iter_rows())
    assert {name: cell[0] for name, cell in before.items() if cell} == pytest.approx(
        {name: n / 150 for name, n in counts.items()}
    )
    assert after == before  # neither column was changed


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"kind": "mean", "of": "sex", "by": []}, "has no numbers"),
        ({"kind": "mean", "of": "age", "by": ["income"]}, "are no groups"),
        ({"kind": "model", "of": "age", "by": ["age"]}, "cannot explain itself"),
        ({"kind": "table", "of": "sex", "by": []}, "Name the columns"),
    ],
)
def test_what_does_not_fit_an_analysis_is_said(release: Any, asked: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        followed(asked, seen(release, asked["of"], *asked["by"]), {})


def test_records_made_anew_have_no_risk_of_their_own() -> None:
    columns = {name: described for name, described in COLUMNS.items() if name != "house"}
    step = {"partition": "whole", "replace": "cart", "columns": KEYS}
    plan = Plan.of({"columns": columns, "steps": [step], "accept": ["income"]}, None)
    made = protect_whole(Table(frame=FRAME.drop("house")), plan, seed=1)
    with pytest.raises(InputError, match="made its records anew"):
        Sides().of(Table(frame=FRAME), plan, plan.folder, made)


@pytest.mark.parametrize("seed", range(4))
def test_the_riskiest_among_ties_and_missing_cells_by_hand(seed: int) -> None:
    """The slow way: every record compared with every other, a missing cell equal to a missing cell alone."""
    rng = np.random.default_rng(seed)
    n = (1, 25, 60, 60)[seed]
    cells = {"sex": ["f", "m", None], "age": [30.0, 31.5, None], "town": ["A", "", "B", None], "code": [1, 2, 0, None]}
    frame = pl.DataFrame({name: [values[i] for i in rng.integers(0, len(values), n)] for name, values in cells.items()})
    frame = pl.concat([frame, frame.sample(n // 2, seed=seed)])
    columns = {name: {"role": "quasi-identifier", "missing": "keep"} for name in cells}
    plan = Plan.of({"columns": columns}, None)
    [side] = risks(Sides().of(Table(frame=frame), plan, plan.folder, None), {})["sides"]
    assert side["riskiest"] == slowly(frame, MOST_RISKY)
    assert dict(map(tuple, side["sizes"])) == Counter(list(frame.iter_rows()).count(row) for row in frame.iter_rows())


def slowly(frame: pl.DataFrame, most: int) -> list[dict[str, Any]]:
    rows = list(frame.iter_rows())
    order = sorted(range(len(rows)), key=lambda i: (rows.count(rows[i]), i))[:most]
    out = []
    for i in order if rows.count(rows[0]) < len(rows) else ():
        left = [[row[:j] + row[j + 1 :] for row in rows] for j in range(len(rows[0]))]
        without = [column.count(rows[i][:j] + rows[i][j + 1 :]) for j, column in enumerate(left)]
        j = without.index(max(without))
        value = None if rows[i][j] is None else str(rows[i][j])
        cell = {"column": frame.columns[j], "value": value, "label": "", "without": without[j]}
        out.append({"row": i + 1, "size": rows.count(rows[i]), **cell})
    return out


def test_records_are_shown_by_the_size_of_their_class() -> None:
    """Against a sort of all records."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        n = int(rng.integers(1, 300))
        _, ids, sizes = np.unique(rng.integers(0, rng.integers(1, 200), n), return_inverse=True, return_counts=True)
        offset, every = int(rng.integers(0, n + 60)), np.lexsort((ids, sizes[ids]))
        assert _by_size(Classes(ids=ids, sizes=sizes), offset).tolist() == every[offset : offset + PAGE].tolist()


def test_what_was_counted_is_kept_only_for_the_same_table_and_roles() -> None:
    table, sides = Table(frame=FRAME), Sides()
    [before] = sides.of(table, PLAN, PLAN.folder, None)
    assert sides.of(table, PLAN, PLAN.folder, None)[0] is before
    fewer = Plan.of(
        {"columns": {**dict.fromkeys(FRAME.columns, "confidential"), "sex": "quasi-identifier"}, "steps": []}
    )
    assert sides.of(table, fewer, fewer.folder, None)[0].records.names() == ("sex",)
    other = Table(frame=FRAME.head(40))
    assert len(sides.of(other, fewer, fewer.folder, None)[0].records) == 40
