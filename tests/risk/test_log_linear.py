"""Log-linear risk: by hand, by sdcMicro's figures, and on populations of which the truth is known."""

import json

import numpy as np
import polars as pl
import pytest

import shoal
from published.reference import reference
from shoal.risk.log_linear import _by_table, _fitted
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
    fitted = _fitted(counts, 2, np.ones(counts.shape))
    for rest in ((2, 3), (0, 1), (1, 3)):
        assert fitted.sum(axis=rest) == pytest.approx(counts.sum(axis=rest), abs=1e-6)
    two = counts.sum(axis=(2, 3))
    assert _fitted(two, 2, np.ones(two.shape)) == pytest.approx(two)  # two columns: as they are
    codes = np.array([[0, 1], [1, 1], [1, 0], [0, -1]])
    # Fitted on three complete records, scaled to four; the last one may be either of the first column's cells.
    asked = np.array([True, False, False, True])
    assert _by_table(codes, np.ones(4), None, asked, 2).tolist() == pytest.approx([4 / 3, 4 / 3])


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


def poisson_regression(counts, sets, offset):
    """Means of the cells by Newton's method on indicators of the values of each set of axes: a slow twin."""
    places = np.indices(counts.shape).reshape(counts.ndim, -1).T
    indicators = np.hstack([
        (np.unique(places[:, kept], axis=0, return_inverse=True)[1].reshape(-1)[:, None]
         == np.arange(np.prod([counts.shape[a] for a in kept])))
        for kept in sets
    ]).astype(float)  # fmt: skip
    y, z = counts.reshape(-1), np.log(offset.reshape(-1))
    effects = np.linalg.pinv(indicators) @ (np.log(y + 0.5) - z)
    for _ in range(50):
        mean = np.exp(indicators @ effects + z)
        effects += np.linalg.pinv(indicators.T @ (mean[:, None] * indicators)) @ (indicators.T @ (y - mean))
    return np.exp(indicators @ effects + z).reshape(counts.shape)


@pytest.mark.parametrize(("order", "sets"), [(1, [[0], [1], [2]]), (2, [[0, 1], [0, 2], [1, 2]])])
def test_fit_with_an_offset_is_that_of_a_poisson_regression(order, sets):
    rng = np.random.default_rng(3)
    counts, offset = rng.poisson(4, (3, 4, 2)) + 1.0, rng.uniform(0.05, 0.5, (3, 4, 2))
    assert _fitted(counts, order, offset) == pytest.approx(poisson_regression(counts, sets, offset), rel=1e-6)


@pytest.mark.parametrize("effects", ["columns", "pairs"])
def test_weightings_agree_where_weights_are_equal(effects):
    rng = np.random.default_rng(4)
    records = table({f"c{j}": rng.geometric(0.3, 150).astype(str) for j in range(3)}, weight=20)
    measures = [shoal.LogLinearRisk(effects=effects, weighting=w) for w in ("none", "pseudo-likelihood", "offset")]
    plain, *others = [measure.measure(records, records).record_risk for measure in measures]
    assert (plain > 0).any()
    for other in others:
        assert other == pytest.approx(plain, rel=1e-6)


def test_weightings_by_hand():
    # (m, a) and (m, b) are unique. Of 16 people 14 live in a, 10 are men: pseudo-likelihood gives 8.75 and 1.25.
    frame = pl.DataFrame({**SMALL, "w": [3.0, 3.0, 8.0, 2.0]})
    roles = {"sex": "quasi-identifier", "area": "quasi-identifier", "w": "weight"}
    records = Microdata.of(frame, roles).records
    others = np.array([16 * 10 / 16 * 14 / 16 * 7 / 8, 16 * 10 / 16 * 2 / 16 * 1 / 2])
    finding = shoal.LogLinearRisk(weighting="pseudo-likelihood").measure(records, records)
    assert finding.record_risk[2:].tolist() == pytest.approx(((1 - np.exp(-others)) / others).tolist())
    sampling = np.array([[1 / 3, 4 / 16], [1 / 8, 1 / 2]])  # nobody of (f, b) was sampled: the whole table's fraction
    people = poisson_regression(np.array([[2.0, 0], [1, 1]]), [[0], [1]], sampling) / sampling
    others = people[1] * [7 / 8, 1 / 2]
    finding = shoal.LogLinearRisk(weighting="offset").measure(records, records)
    assert finding.record_risk[2:].tolist() == pytest.approx(((1 - np.exp(-others)) / others).tolist())


def test_pseudo_likelihood_stands_sampling_that_depends_on_columns_together():
    """Independent columns, and people sampled by how two of them go together, as no model of the sample sees."""
    rng = np.random.default_rng(12)
    people = np.column_stack([rng.geometric(0.2, 60_000) for _ in range(3)])
    _, cell, sizes = np.unique(people, axis=0, return_inverse=True, return_counts=True)
    cell, p = cell.reshape(-1), np.where((people[:, 0] + people[:, 1]) % 2, 0.01, 0.2)
    roles = {**{f"c{j}": {"role": "quasi-identifier", "level": "nominal"} for j in range(3)}, "w": "weight"}
    truth, estimates = [], {w: [] for w in ("none", "pseudo-likelihood", "offset")}
    for _ in range(4):
        rows = np.flatnonzero(rng.random(60_000) < p)
        truth.append(float((1 / sizes[np.bincount(cell[rows], minlength=len(sizes)) == 1]).sum()))
        frame = pl.DataFrame({**{f"c{j}": people[rows, j].astype(str) for j in range(3)}, "w": 1 / p[rows]})
        records = Microdata.of(frame, roles).records
        for weighting, values in estimates.items():
            details = shoal.LogLinearRisk(weighting=weighting).measure(records, records).details
            values.append(details["expected right matches"])
    wrong = {w: abs(np.log(np.mean(values) / np.mean(truth))) for w, values in estimates.items()}
    # An offset is somewhat off, since the sampling fraction of a cell of which nobody was sampled is not known.
    assert wrong["pseudo-likelihood"] < 0.03 < wrong["offset"] < 0.1 < wrong["none"]


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
