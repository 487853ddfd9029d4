"""Distances of categories by a table of points equal those of their coordinates."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from by_night import crossed
from naive import linkage as naive
from shoal.judges import space as module
from shoal.judges.space import Points
from shoal.judges.table_pair import TablePair
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.errors import WidthError

REGIONS = {"paths": [[town, town[0], "*"] for town in ("aa", "ab", "ba", "bb", "ca")]}
ROLES = {
    "town": {"role": "quasi-identifier", "level": "nominal", "missing": "keep", "hierarchy": REGIONS},
    "job": {"role": "quasi-identifier", "level": "nominal", "missing": "keep", "weight": 2.5},
    "school": {"role": "quasi-identifier", "level": "ordinal", "order": ["1", "2", "3"], "missing": "keep"},
    "age": {"role": "quasi-identifier", "missing": "keep"},
}


def table(n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        "town": rng.choice(["aa", "ab", "ba", "bb", "ca"], n),
        "job": rng.choice([f"job {i}" for i in range(6)], n),
        "school": rng.choice(["1", "2", "3"], n),
        "age": rng.integers(20, 40, n).astype(float),
    }


def with_holes(columns: dict[str, np.ndarray], share: float, rng: np.random.Generator) -> dict[str, list]:
    return {k: [None if rng.random() < share else v for v in values.tolist()] for k, values in columns.items()}


def records(columns: dict) -> Records:
    return original(columns).encoded


def original(columns: dict) -> Microdata:
    return Microdata.of(pl.DataFrame(columns, strict=False), ROLES)


@st.composite
def pairs(draw: st.DrawFn) -> TablePair:
    """A table with missing cells and a release: suppressed, recoded, perturbed, generalised, some records left out."""
    n = draw(st.integers(2, 90))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    before = table(n, rng)
    after = dict(before)
    for change in draw(st.sets(st.sampled_from(["recoded", "perturbed", "generalised"]))):
        if change == "recoded":
            after["job"] = np.where(np.isin(after["job"], ["job 0", "job 1"]), "job 0 or 1", after["job"])
        elif change == "perturbed":
            after["job"] = np.where(rng.random(n) < 0.4, rng.permutation(after["job"]), after["job"])
            after["age"] = after["age"] + rng.normal(size=n)
        else:
            after["town"] = np.array([t[0] if rng.random() < 0.5 else t for t in after["town"]])
    cells = with_holes(before, 0.1, rng)
    assume(all(set(column) != {None} for column in cells.values()))  # what kind such a column is of nobody knows
    first = original(cells)
    changed = pl.DataFrame(with_holes(after, draw(st.sampled_from([0.0, 0.2])), rng), strict=False)
    released = Microdata.finished(changed, first.schema).encoded
    rows = rng.permutation(n)[: draw(st.integers(1, n))]
    numbered = [replace(part, rows=part.rows + 7) for part in (first.encoded, released.take(rows))]
    return TablePair.of(*numbered)


@given(pairs())
def test_a_table_of_squares_holds_the_distances_of_coordinates(pair: TablePair) -> None:
    for column in pair.space(("town", "job")).columns:
        assert isinstance(column, Points)
        x, y = column.coordinates()
        apart = ((y[:, None] - x[None]) ** 2).sum(axis=2)
        squares = column.squares()[column.after][:, column.before]
        np.testing.assert_allclose(squares, apart, atol=1e-14)
        assert ((squares == 0) == (apart == 0)).all()


@pytest.mark.parametrize(
    ("names", "backwards"),
    crossed([("town", "job"), ("school", "job", "age"), ("age", "town", "job", "school")], [True, False]),
)
def test_links_equal_looking_at_every_pair_of_records(names: tuple[str, ...], backwards: bool) -> None:
    @given(pairs())
    def check(pair: TablePair) -> None:
        space, place = pair.space(names), pair.pairing
        x, y = space.coordinates()
        rows = np.arange(len(y))
        if backwards:
            chances, expected = space.link(place, rows, backwards=True), naive.link(y, x[place], rows)
        else:
            chances, expected = space.link(rows, place), naive.link(x, y, place)
        np.testing.assert_allclose(chances, expected, rtol=1e-12)

    check()


def test_work_is_spent_on_the_first_records() -> None:
    rng = np.random.default_rng(3)
    columns = table(2000, rng)
    pair = TablePair.of(records(columns), records({**columns, "age": rng.permutation(columns["age"])}))
    space, rows = pair.space(("job", "age", "town")), np.arange(2000)
    every = space.link(rows, rows)
    some = space.link(rows, rows, work=200_000)
    assert 1 < len(some) < len(every) == 2000
    assert some.tolist() == every[: len(some)].tolist()


def test_categories_are_never_spread_out(monkeypatch: pytest.MonkeyPatch) -> None:
    # 400 categories of 5000 records: 2 million coordinates, but a table of 160 000 squares.
    monkeypatch.setattr("shoal.table.variable.MOST_COORDINATES", 1_000_000)
    monkeypatch.setattr(module, "MOST_COORDINATES", 1_000_000)
    rng = np.random.default_rng(4)
    jobs = pl.DataFrame({"job": [f"job {i}" for i in rng.integers(0, 400, 5000)]})
    wide = Microdata.of(jobs, {"job": ROLES["job"]}).encoded
    space = TablePair.of(wide, wide).space(("job",))
    assert space.link(np.arange(5000), np.arange(5000)).sum() == pytest.approx(400)
    with pytest.raises(WidthError, match="one coordinate a category"):
        space.coordinates()
    monkeypatch.setattr(module, "MOST_COORDINATES", 100_000)
    with pytest.raises(WidthError, match="Column 'job' has 400 labels in one table and 400 in the other, too many"):
        space.link(np.arange(5000), np.arange(5000))
