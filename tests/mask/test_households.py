"""Columns that are the same throughout households are recoded, suppressed and microaggregated by household."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from by_night import by_night
from shoal.judges.closure import closure
from shoal.judges.table_pair import TablePair
from shoal.table.dependencies import Dependencies, Dependency, shares_of_household
from shoal.table.laws import NO_LAWS, Laws
from shoal.table.microdata import Microdata
from shoal.table.records import Records

KEY = {"role": "quasi-identifier", "missing": "keep"}


def homes(town: list[Any], home: list[Any], **more: list[Any]) -> Microdata:
    frame = pl.DataFrame({"home": home, "town": town, **more})
    return Microdata.of(
        frame, {"home": {"role": "household", "missing": "keep"}, "town": KEY, **dict.fromkeys(more, KEY)}
    )


def recoded(table: Microdata, **how: Any) -> list[Any]:
    change = shoal.Recode(**how).apply(table.records, ["town"], np.random.default_rng(0))
    return table.rebuild(change.records).native["town"].to_list()


def test_rare_is_what_few_households_have() -> None:
    """Five records, but one family: the town is as rare as that of a single."""
    towns = ["A"] * 5 + ["B"] * 3 + ["C"] * 2 + ["D"] * 4
    families = homes(towns, [1] * 5 + [2, 3, 4, 5, 6, 7, 8, 9, 10])
    assert recoded(families, rare=3) == ["other"] * 5 + ["B"] * 3 + ["other"] * 2 + ["D"] * 4
    singles = homes(towns, list(range(14)))
    assert recoded(singles, rare=3)[:5] == ["A"] * 5


def test_a_column_that_differs_in_a_household_is_counted_by_record() -> None:
    table = homes(["A"] * 5 + ["B"] * 4, [1, 1, 1, 1, 2, 3, 4, 4, 2])
    assert shares_of_household(table.records, "town") is None
    assert recoded(table, rare=4) == ["A"] * 5 + ["B"] * 4


def test_equal_counts_and_means_count_a_household_once() -> None:
    table = homes([10.0] * 6 + [20.0, 30.0, 40.0], [1] * 6 + [2, 3, 4])
    assert recoded(table, bins=2, spacing="equal-count") == ["< 25"] * 7 + [">= 25"] * 2
    assert recoded(table, cuts=[25], to="mean") == [15.0] * 7 + [35.0] * 2


def test_shares_by_hand() -> None:
    table = homes(["A", "A", None, "B", "B", "C"], [1, 1, 1, 2, None, None]).encoded
    shares = shares_of_household(table, "town")
    assert shares is not None
    assert shares.tolist() == [0.5, 0.5, 1.0, 1.0, 1.0, 1.0]
    assert shares_of_household(table, "home") is None
    assert shares_of_household(table.without(["home"]), "town") is None


def survey(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(n), rng.integers(1, 4, n))
    return pl.DataFrame(
        {
            "home": home,
            "rent": rng.integers(300, 900, n)[home].astype(float),
            "size": np.bincount(home)[home],
            "town": np.array(list("ABCD"))[rng.integers(0, 4, n)][home],
            "age": rng.integers(0, 90, len(home)),
        }
    )


STEPS: dict[str, list[dict[str, Any]]] = {
    "mdav": [{"partition": "mdav", "k": 3, "columns": ["rent", "size"]}],
    "microaggregate-columns": [
        {
            "mask": "microaggregate-columns",
            "grouping": {"method": "mdav", "k": 3},
            "groups": [["rent"], ["size"]],
            "columns": ["rent", "size"],
        }
    ],
    "recode": [{"mask": "recode", "bins": 3, "spacing": "equal-count", "columns": ["rent"]}],
    "rare": [{"mask": "recode", "rare": 20, "columns": ["town"]}],
    "suppress": [{"mask": "suppress", "k": 4, "columns": ["town", "size"], "missing": "equal"}],
}


def constant(records: Records) -> set[str]:
    return {name for name in records.names() if Dependency(("home",), name) in Dependencies(records).of(name)}


@pytest.mark.parametrize("step", STEPS)
def test_what_households_share_they_share_in_the_release(step: str) -> None:
    frame = survey()
    roles = {"home": "household", **dict.fromkeys(("rent", "size", "town"), KEY), "age": "confidential"}
    if step == "suppress":
        roles["size"] = {**KEY, "level": "nominal"}
    before = Microdata.of(frame, roles)
    assert constant(before.records) == {"rent", "size", "town"}
    columns = STEPS[step][0]["columns"]
    asked = {"privacy": "k-anonymity", "k": 3, "columns": columns[:1]}
    plan = {"columns": roles, "steps": STEPS[step], "requirements": [asked], "accept": list(roles)}
    release = shoal.protect(frame, plan, seed=1)
    released = release.table.encoded
    assert constant(released) >= set(columns)
    for name in columns:
        assert released[name].identity().tolist() != before.records[name].take(release.rows).identity().tolist()
        blank = released[name].missing
        for number in np.unique(released.households):
            members = released.households == number
            assert blank[members].all() or not blank[members].any()


def towns(seed: int) -> Records:
    """Persons in a few postcodes, which name the region; two of them live in another one."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 8, 90)
    region = np.where(np.arange(90) < 2, 2, place % 3)
    frame = pl.DataFrame(
        {"zip": place, "region": region, "sex": rng.integers(0, 2, 90), "size": rng.integers(1, 5, 90)}
    )
    key = {"role": "quasi-identifier", "missing": "keep", "level": "nominal"}
    roles = {name: key if name != "zip" else {"role": "other", "level": "nominal"} for name in frame.columns}
    return Microdata.of(frame, roles).records


def verdict_of_suppressed(records: Records) -> bool:
    """Whether four alike are left for whoever knows the laws of the original."""
    keys = ["region", "sex", "size"]
    after = shoal.Suppress(k=4, missing="equal").apply(records, keys, np.random.default_rng(1)).records
    known = closure(after, laws=Laws.for_release(records, after))
    return shoal.KAnonymity(k=4).verdict_on(TablePair.of(None, after, known=known)).holds


def test_suppression_looks_ahead_to_laws_that_few_cells_are_left_to_show(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [towns(seed) for seed in range(by_night(3, 12))]
    assert all(map(verdict_of_suppressed, tables))
    monkeypatch.setattr("shoal.mask.suppress.Laws", SimpleNamespace(of=lambda records, keys: NO_LAWS))
    assert not all(map(verdict_of_suppressed, tables))
