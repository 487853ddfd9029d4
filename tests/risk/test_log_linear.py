"""Log-linear risk: by hand, by sdcMicro's figures, and on populations of which the truth is known."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from published.reference import reference
from shoal.risk.log_linear import _by_pairs, _fitted
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import ParameterError

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def table(columns, weight=None, level="nominal"):
    roles = {name: {"role": "quasi-identifier", "level": level, "missing": "keep"} for name in columns}
    frame = pl.DataFrame(columns)
    if weight is not None:
        frame, roles = frame.with_columns(w=pl.lit(float(weight))), {**roles, "w": "weight"}
    return Microdata.of(frame, roles).records


SMALL = {"sex": ["f", "f", "m", "m"], "area": ["a", "a", "a", "b"]}


def test_by_hand():
    # Unique: (m, a) and (m, b). Under independence 4 (1/2)(3/4) = 3/2 and 4 (1/2)(1/4) = 1/2 sampled records; with
    # weight 10 the means are 15 and 5 people, of whom 13.5 and 4.5 are expected beside the record.
    records = table(SMALL, weight=10)
    finding = shoal.LogLinearRisk().measure(records, records)
    others = np.array([13.5, 4.5])
    assert finding.details["unique in the table"] == 2
    assert finding.details["expected unique in the population"] == pytest.approx(np.exp(-others).sum())
    right = (1 - np.exp(-others)) / others
    assert finding.details["expected right matches"] == pytest.approx(right.sum())
    assert finding.value == pytest.approx(right.sum() / 4)
    assert finding.record_risk.tolist() == pytest.approx([0, 0, *right])
    alike = table(SMALL)
    assert shoal.LogLinearRisk(population=40).measure(alike, alike).value == pytest.approx(finding.value)
    whole = table(SMALL, weight=1)
    assert shoal.LogLinearRisk().measure(whole, whole).value == 2 / 4  # everybody is in the table


def test_pairs_keep_the_margins_of_pairs():
    rng = np.random.default_rng(1)
    counts = rng.poisson(3, (3, 4, 2, 3)).astype(float)
    fitted = _fitted(counts)
    for rest in ((2, 3), (0, 1), (1, 3)):
        assert fitted.sum(axis=rest) == pytest.approx(counts.sum(axis=rest), abs=1e-6)
    assert _fitted(counts.sum(axis=(2, 3))) == pytest.approx(counts.sum(axis=(2, 3)))  # two columns: as they are
    codes = np.array([[0, 1], [1, 1], [1, 0], [0, -1]])
    # Fitted on three complete records, scaled to four; the last one may be either of the first column's cells.
    assert _by_pairs(codes, np.array([True, False, False, True])).tolist() == pytest.approx([4 / 3, 4 / 3])


def test_readings_of_a_missing_cell():
    records = table({"sex": ["f", "f", None], "area": ["a", "a", "b"]}, weight=4)
    by_reading = {
        missing: shoal.LogLinearRisk(missing=missing).measure(records, records).details
        for missing in ("equal", "wildcard", "nothing")
    }
    assert {m: d["unique in the table"] for m, d in by_reading.items()} == {"equal": 1, "wildcard": 1, "nothing": 1}
    # equal: 3 (1/3)(1/3) of a sample; else the sex says nothing: 3 (1/3).
    for missing, sampled in (("equal", 1 / 3), ("wildcard", 1), ("nothing", 1)):
        others = 4 * sampled * 3 / 4
        assert by_reading[missing]["expected unique in the population"] == pytest.approx(np.exp(-others))


def test_as_sdcmicro():
    """modRisk(testdata, method = "IPF", formulaM = ~ all keys, weights = "sampling_weight"), divided by the number of
    classes. Its other methods take the codes of testdata, which are numbers there, for quantities."""
    frame = pl.read_csv(reference("testdata.csv")).select(*KEYS, "sampling_weight")
    roles = {**{k: {"role": "quasi-identifier", "level": "nominal"} for k in KEYS}, "sampling_weight": "weight"}
    records = Microdata.of(frame, roles).records
    printed = json.loads(reference("sdcmicro/other_measures.json").read_text())["modRisk_testdata_IPF"]["result"]
    details = shoal.LogLinearRisk(mean="sample").measure(records, records).details
    assert details["expected unique in the population"] / details["classes"] == pytest.approx(printed["gr1"], rel=1e-12)
    assert details["expected right matches"] / details["classes"] == pytest.approx(printed["gr2"], rel=1e-12)
    people = shoal.LogLinearRisk().measure(records, records).details
    assert people["expected right matches"] < details["expected right matches"] / 5


@pytest.mark.parametrize("fraction", [0.02, 0.1])
def test_a_population_of_which_the_truth_is_known(fraction):
    """Independent columns: tau1 and tau2 are means over samples of the true numbers."""
    rng = np.random.default_rng(8)
    people = np.column_stack([rng.geometric(0.25, 60_000) for _ in range(4)])
    _, cell, sizes = np.unique(people, axis=0, return_inverse=True, return_counts=True)
    cell = cell.reshape(-1)
    truth, estimate = [], []
    for _ in range(6):
        rows = rng.choice(60_000, int(60_000 * fraction), replace=False)
        sampled = np.bincount(cell[rows], minlength=len(sizes))
        alone = sampled == 1
        truth.append((int((sizes[alone] == 1).sum()), float((1 / sizes[alone]).sum())))
        records = table({f"c{j}": people[rows, j].astype(str) for j in range(4)}, weight=1 / fraction)
        details = shoal.LogLinearRisk().measure(records, records).details
        estimate.append((details["expected unique in the population"], details["expected right matches"]))
    assert np.mean(estimate, axis=0) == pytest.approx(np.mean(truth, axis=0), rel=0.15)


def test_pairs_see_what_independence_does_not():
    """Two columns that go together: under independence the cells that occur seem emptier than they are."""
    rng = np.random.default_rng(9)
    people = rng.geometric(0.05, 30_000)
    together = np.column_stack([people, people + rng.integers(0, 3, 30_000), rng.integers(0, 4, 30_000)])
    _, cell, sizes = np.unique(together, axis=0, return_inverse=True, return_counts=True)
    rows = rng.choice(30_000, 1_500, replace=False)
    alone = np.bincount(cell.reshape(-1)[rows], minlength=len(sizes)) == 1
    true = float((1 / sizes[alone]).sum())
    records = table({f"c{j}": together[rows, j].astype(str) for j in range(3)}, weight=20)
    by = {e: shoal.LogLinearRisk(effects=e).measure(records, records).details for e in ("columns", "pairs")}
    errors = {e: abs(np.log(d["expected right matches"] / true)) for e, d in by.items()}
    assert errors["pairs"] < errors["columns"]


def test_what_cannot_be_estimated_says_why(monkeypatch):
    records = table(SMALL)
    assert "Neither the size of the population" in shoal.LogLinearRisk().measure(records, records).reason
    assert "at least as many people" in shoal.LogLinearRisk(population=2).measure(records, records).reason
    monkeypatch.setattr("shoal.risk.log_linear.MOST_CELLS", 3)
    assert "have 4 combinations" in shoal.LogLinearRisk(effects="pairs", population=9).measure(records, records).reason
    blank = table({"sex": ["f", None], "area": [None, "a"]}, weight=2)
    blanked = shoal.LogLinearRisk(effects="pairs", missing="wildcard").measure(blank, blank)
    assert blanked.value is None
    with pytest.raises(ParameterError, match="log-linear-risk: effects must be"):
        shoal.LogLinearRisk(effects="triples")


def test_the_interval_covers_the_right_matches_in_a_population_of_independent_columns():
    covered = 0
    for draw in range(200):
        rng = np.random.default_rng(draw)
        people = np.column_stack([rng.geometric(0.3, 3_000) for _ in range(3)])
        _, cell, sizes = np.unique(people, axis=0, return_inverse=True, return_counts=True)
        rows = rng.choice(3_000, 300, replace=False)
        alone = np.bincount(cell.reshape(-1)[rows], minlength=len(sizes)) == 1
        records = Records.of(
            Variable(name=f"c{j}", role="quasi-identifier", level="nominal", values=codes, categories=tuple(range(60)))
            for j, codes in enumerate(people[rows].T.astype(np.int32))
        )
        finding = shoal.LogLinearRisk(population=3_000).measure(records, records)
        assert finding.interval.low <= finding.value <= finding.interval.high
        covered += finding.interval.low <= (1 / sizes[alone]).sum() / 300 <= finding.interval.high
    assert covered >= 190


def test_where_nobody_is_unique_nothing_is_uncertain():
    records = table({"a": ["x", "x", "y", "y"]}, weight=10)
    finding = shoal.LogLinearRisk().measure(records, records)
    assert (finding.value, finding.interval.low, finding.interval.high) == (0, 0, 0)
