"""Missing cells in keys and confidential columns are no reason to refuse: every method works on the known ones."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from contract.test_methods import GROUPS, TREE, columns_of, ids, made, table
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.vocabulary.errors import DataError
from shoal.vocabulary.registry import Entry, registered

REFUSES = {
    "calibrate": ("Column 'income' must hold a weight of 0 or more", "a weight that is missing is none"),
    "muralidhar-sarathy": ("'age', 'size': cells are missing where others", "a record needs a share of all its cells"),
    "private-microaggregation": ("Column 'age' has", "means of groups hide no gaps"),
    "safepub": ("Column 'illness' has", "levels are stated from outside, and none is that of a missing cell"),
}
"""Methods that refuse such a table by nature: the beginning of their sentence, and the reason."""

FILLS_IN = {
    "cart": "draws that a cell is missing like any category",
    "forest": "as cart",
    "sequential-regression": "as cart",
    "class-conditional": "as cart",
    "latin-hypercube": "deals the drawn records of a group out at random",
    "multivariate-t": "as latin-hypercube",
    "normal": "as latin-hypercube",
    "permutation": "moves a missing cell as it moves a known one",
    "data-swap": "moves whole cells, missing ones too",
    "private-marginals": "makes new records, in which a missing cell is a category",
    "permute": "moves a missing cell as it moves a known one",
    "targeted-swap": "moves whole cells, missing ones too",
    "pseudonymise": "gives missing numbers a pseudonym of their own",
    "suppress": "blanks more cells",
    "suppress-records": "drops records",
    "sample": "drops records",
    "truncate-records": "drops records",
    "profiles": "drops records, and blanks cells that others of a group lack",
    "generalise": "takes a missing cell for a value of its own, which becomes the root with others",
    "remove-identifiers": "drops columns",
}
"""Methods after which other cells than before may be missing, and why."""

MADE_WITH: dict[str, dict[str, Any]] = {
    "burel": {"beta": 40.0, "enhanced": False},  # or records lacking the same columns are no group
    "gaussian-mixture": {"groups": 2, "kmeans_starts": 0},
    "latent-class": {"groups": 2, "starts": 1},
    "local-synthesis": {"groups": 2, "kmeans_starts": 0, "starts": 1},
    "refined": {"moves": 0},
    **{name: {"moves": 0} for name in ("l-diverse", "p-sensitive", "tcloseness-refined")},
}
"""Parameters beside those of the example; most of them spare time."""


def with_gaps(n: int = 320) -> Records:
    """A table of twelve kinds of records or fewer, each of nine or more."""
    rng = np.random.default_rng(7)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "size": np.round(rng.lognormal(1, 0.5, n), 2),
            "income": np.round(rng.lognormal(3, 1, n), 2),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["a", "b", "c"], n),
        }
    )
    gaps = {name: pl.Series(rng.random(n) < 0.3) for name in frame.columns}
    frame = frame.with_columns(
        pl.when(gap).then(None).otherwise(pl.col(name)).alias(name) for name, gap in gaps.items()
    )
    keys = {name: {"role": "quasi-identifier", "missing": "keep"} for name in ("age", "size", "sex")}
    income = {"role": "confidential", "missing": "keep"}
    return Microdata.of(frame, {**keys, "income": income, "illness": {**income, "hierarchy": TREE}}).records


RECORDS = with_gaps()
HALVES = Partition.of(np.arange(len(RECORDS)) // 160)


def run(entry: Entry) -> Any:
    method, columns = replace(made(entry), **MADE_WITH.get(entry.name, {})), columns_of(entry)
    if entry.kind == "partition":
        return method.partition(RECORDS, columns=columns, seed=5)
    rng = np.random.default_rng(5)
    if entry.kind == "mask":
        return method.apply(RECORDS, columns, rng).records
    if entry.name in GROUPS:
        part = shoal.FuzzyCMeans(k=20).partition(RECORDS, columns=columns, seed=1)
        return method.apply(RECORDS, columns, part, rng).records
    return method.apply(RECORDS, columns, HALVES, rng).records


@pytest.mark.parametrize("entry", registered("partition") + registered("replace") + registered("mask"), ids=ids)
def test_missing_cells_are_no_reason_to_refuse(entry: Entry) -> None:
    if entry.name in REFUSES:
        with pytest.raises(DataError, match=REFUSES[entry.name][0]):
            run(entry)
        return
    result = run(entry)
    if entry.kind == "partition":
        assert result.k >= made(entry).smallest
        return
    for name in columns_of(entry):
        if entry.name in FILLS_IN or name not in result:
            continue
        np.testing.assert_array_equal(result[name].missing, RECORDS[name].missing)
    for variable in result.variables:
        if variable.continuous:
            assert np.isfinite(variable.values[~variable.missing]).all()


def test_a_share_of_a_column_alone_is_taken_of_its_known_cells() -> None:
    method = shoal.MuralidharSarathy(alpha=0.5)
    after = method.apply(RECORDS, ["income"], HALVES, np.random.default_rng(1)).records["income"]
    before = RECORDS["income"]
    np.testing.assert_array_equal(after.missing, before.missing)
    assert np.nanmean(after.values) == pytest.approx(np.nanmean(before.values))
    assert (after.values != before.values)[~before.missing].all()


def test_private_noise_is_drawn_for_known_cells_alone_and_says_what_it_does_not_protect() -> None:
    bounds = {"income": (0.0, 400.0)}
    known = np.flatnonzero(~RECORDS["income"].missing)
    for method in (shoal.Laplace(epsilon=2.0, bounds=bounds), shoal.Geometric(epsilon=2.0, bounds=bounds)):
        change = method.apply(RECORDS, ["income"], np.random.default_rng(1))
        alone = method.apply(RECORDS.take(known), ["income"], np.random.default_rng(1))
        np.testing.assert_array_equal(change.records["income"].values[known], alone.records["income"].values)
        assert change.facts["not protected by it"].value == "which cells of 'income' are missing"
        assert "not protected by it" not in alone.facts


def test_a_kept_column_counts_at_its_mean_where_it_is_missing() -> None:
    after = shoal.IPSO(given=("income",)).apply(RECORDS, ["size"], HALVES, np.random.default_rng(1)).records["size"]
    own, income = RECORDS["size"], RECORDS["income"].values
    income = np.where(np.isnan(income), np.nanmean(income), income)
    for rows in HALVES.members():
        for by in (np.ones(len(rows)), income[rows]):
            assert np.nansum(after.values[rows] * by) == pytest.approx(np.nansum(own.values[rows] * by))
    assert (after.values != own.values)[~own.missing].all()


def test_noise_inside_groups_of_one_column_is_drawn_as_if_records_without_it_were_not_there() -> None:
    known = np.flatnonzero(~RECORDS["size"].missing)
    for kind in ("kim", "sullivan", "orthogonal", "uncorrelated"):
        method = shoal.LocalNoise(kind=kind, variance=0.5)
        after = method.apply(RECORDS, ["size"], HALVES, np.random.default_rng(1)).records["size"].values
        alone = Partition.of(HALVES.labels[known])
        expected = method.apply(RECORDS.take(known), ["size"], alone, np.random.default_rng(1)).records["size"].values
        np.testing.assert_array_equal(after[known], expected)


def test_the_common_ancestor_is_that_of_known_cells() -> None:
    """Of one group a and b are known, whose parent is acute; of the other c alone."""
    frame = pl.DataFrame({"illness": ["a", "b", None, "c", "c", None]})
    column = {"role": "quasi-identifier", "hierarchy": TREE, "missing": "keep"}
    records = Microdata.of(frame, {"illness": column}).records
    part = Partition.of(np.array([0, 0, 0, 1, 1, 1]))
    after = (
        shoal.Centroid(ancestors=True).apply(records, ["illness"], part, np.random.default_rng(1)).records["illness"]
    )
    labels = [None if code < 0 else after.categories[code] for code in after.values]
    assert labels == ["acute", "acute", None, "c", "c", None]


def test_small_groups_hold_records_that_lack_the_same_columns() -> None:
    columns = ["age", "size", "income"]
    change = shoal.LocalMicroaggregation(k=3).apply(RECORDS, columns, Partition.of(np.zeros(320, int)), None)
    assert change.records.matching(columns).min() >= 3


@pytest.mark.parametrize("scale", ["rank", "none"])
def test_small_groups_and_their_loss_on_every_scale(scale: str) -> None:
    """Missing cells have no rank, and are neither near nor far from 0."""
    sizes = {"size": RECORDS["size"].values, "one": np.where(RECORDS["income"].missing, np.nan, 1.0)}
    frame = pl.DataFrame(sizes).fill_nan(None)
    column = {"role": "quasi-identifier", "missing": "keep", "scale": scale}
    records = Microdata.of(frame, dict.fromkeys(sizes, column)).records
    np.testing.assert_array_equal(np.isnan(records.matrix()), np.isnan(records.raw()))
    change = shoal.LocalMicroaggregation(k=3).apply(records, ["size", "one"], HALVES, None)
    assert change.records.matching(["size", "one"]).min() >= 3
    known = ~records["size"].missing
    places, labels = records.matrix()[known, 0], change.records.alike(["size"])[known]
    counts = np.bincount(labels)
    means = np.bincount(labels, weights=places) / np.where(counts > 0, counts, 1)
    loss = 100 * ((places - means[labels]) ** 2).sum() / ((places - places.mean()) ** 2).sum()
    assert change.facts["information loss in percent, of the small groups"].value == pytest.approx(loss)


STRATA = [
    (shoal.FuzzyCMeans(k=5), shoal.FuzzyCentre(), ["a", "b", "s"]),
    (shoal.GaussianMixture(k=5, groups=2, kmeans_starts=0), shoal.MultivariateT(), ["a", "b"]),
    (shoal.LatentClass(k=5, groups=2, starts=1), shoal.ClassConditional(), ["s", "t"]),
]


@pytest.mark.parametrize(("method", "replacement", "columns"), STRATA, ids=["fuzzy", "mixture", "classes"])
def test_models_of_strata_whose_records_lack_different_columns(method: Any, replacement: Any, columns: Any) -> None:
    """In the first of two strata records lack columns; those that lack `a` and `s` are too few for two groups."""
    rng, place = np.random.default_rng(3), np.arange(160)
    second = place >= 80
    names = np.where(second[:, None], ["p", "q"], ["m", "n"])
    cells = {"a": rng.normal(100.0 * second), "b": rng.normal(100.0 * second)}
    cells |= {name: names[place, rng.integers(2, size=160)] for name in ("s", "t")}
    few, others = pl.Series(place < 7), pl.Series((place >= 7) & (place < 30))
    gaps = {"a": few, "s": few, "b": others, "t": others}
    frame = pl.DataFrame(cells).with_columns(
        pl.when(gap).then(None).otherwise(pl.col(name)).alias(name) for name, gap in gaps.items()
    )
    kept = {name: {"role": "quasi-identifier", "missing": "keep"} for name in cells}
    records = Microdata.of(frame.with_columns(stratum=second), {**kept, "stratum": "stratum"}).records
    part = method.partition(records, columns=columns, seed=1)
    after = replacement.apply(records, columns, part, np.random.default_rng(1)).records
    for name in columns:
        column = after[name]
        np.testing.assert_array_equal(column.missing, records[name].missing)
        there = ~column.missing
        if column.continuous:
            assert (np.abs(column.values - 100.0 * second)[there] < 10).all()
        else:
            labels = np.array(column.categories)[column.values]
            assert (np.isin(labels, ["p", "q"]) == second)[there].all()


def test_no_reason_stands_here_for_a_method_that_is_not_there() -> None:
    assert {*REFUSES, *FILLS_IN} <= {entry.name for entry in registered()}
    assert table().records["age"].complete  # the contract tests have the other case
