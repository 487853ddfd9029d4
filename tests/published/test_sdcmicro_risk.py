"""Class counts, individual and household risk, SUDA2 and dRisk of sdcMicro 5.8.1 (calls in the folder's README)."""

import json

import numpy as np
import polars as pl
import pytest

from by_night import by_night
from published.reference import other_measures, reference
from shoal.kernels.partition import mdav
from shoal.risk.household import HouseholdRisk, household_risk
from shoal.risk.individual import IndividualRisk, individual_risk
from shoal.risk.interval_disclosure import IntervalDisclosure
from shoal.risk.population import lookalikes
from shoal.risk.prosecutor import Prosecutor
from shoal.risk.sample_uniques import SampleUniques
from shoal.risk.suda2 import SUDA2
from shoal.table.microdata import Microdata
from shoal.table.partition import Partition
from shoal.table.records import Records

KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


@pytest.fixture(scope="module")
def printed():
    return pl.read_csv(reference("sdcmicro/risk_testdata.csv"))


@pytest.fixture(scope="module")
def summary():
    text = reference("sdcmicro/risk_summary.json").read_text()
    return json.loads(text)["results"]["testdata"]


@pytest.fixture(scope="module")
def table():
    frame = pl.read_csv(reference("testdata.csv")).select(*KEYS, "sampling_weight", "ori_hid")
    roles = {key: {"role": "quasi-identifier", "level": "nominal"} for key in KEYS}
    return Microdata.of(frame, {**roles, "sampling_weight": "weight", "ori_hid": "household"}).records


def test_class_counts(table, printed, summary):
    alike = lookalikes(table)
    np.testing.assert_array_equal(alike.sizes, printed["fk"])
    np.testing.assert_array_equal(alike.population, printed["Fk"])
    assert len(table.classes(KEYS).sizes) == summary["classes"]
    for k in (2, 3, 5):
        assert (alike.sizes < k).sum() == summary["violations"][f"k{k}"]
    assert SampleUniques().measure(table, table).value == summary["n1"] / summary["n"]


def test_unweighted_risk(table, printed, summary):
    unweighted = table.without(["sampling_weight"])
    finding = IndividualRisk().measure(unweighted, unweighted)
    np.testing.assert_array_equal(finding.record_risk, printed["risk_unweighted"])
    assert finding.value == pytest.approx(summary["unweighted"]["global_risk"], rel=1e-13)
    assert Prosecutor().measure(table, table).details["mean"] == pytest.approx(finding.value)


def test_exact_individual_risk(table, printed, summary):
    ours = IndividualRisk().measure(table, table).record_risk
    theirs = printed["risk_exact"].to_numpy()
    finite = ~np.isnan(theirs)
    assert finite.sum() == summary["risk_exact_finite"]
    np.testing.assert_allclose(ours[finite], theirs[finite], rtol=1e-9)
    # Theirs overflows for the class of 176, where 2F1(f, f; f + 1; 1 - p) exceeds 1e308. Ours has a transformed
    # series there, and lies where Jensen's inequality and the largest possible value put it.
    rest = lookalikes(table)
    f, big = rest.sizes[~finite], rest.population[~finite]
    assert (ours[~finite] >= 1 / big).all()
    assert (ours[~finite] <= 1 / f).all()


def test_approximate_individual_risk(table, printed):
    # Their default replaces the exact formula for f > 2 by p / (f - (1 - p)), which is off by up to 2.2e-5 here;
    # ours is exact for every f, and equal where theirs is.
    f, p = printed["fk"].to_numpy(), printed["fk"].to_numpy() / printed["Fk"].to_numpy()
    ours, theirs = individual_risk(f, p), printed["risk"].to_numpy()
    np.testing.assert_allclose(ours[f <= 2], theirs[f <= 2], rtol=1e-12)
    np.testing.assert_allclose((p / (f - (1 - p)))[f > 2], theirs[f > 2], rtol=1e-12)
    assert np.abs(ours - theirs).max() == pytest.approx(2.19035975e-5, rel=1e-6)


def test_household_risk(table, printed, summary):
    from_theirs = household_risk(printed["risk"].to_numpy(), table.households)
    np.testing.assert_allclose(from_theirs, printed["hier_risk"], rtol=1e-9)
    # From the exact risks of the members the total differs by what the approximation is off.
    finding = HouseholdRisk().measure(table, table)
    assert finding.details["expected re-identifications"] == pytest.approx(summary["hier_risk_ER"], abs=0.1)
    assert finding.details["expected re-identifications"] < summary["hier_risk_ER"]


@pytest.mark.parametrize("fraction", ["0.01", "0.1"])
def test_suda2(table, printed, summary, fraction):
    finding = SUDA2(max_size=7, sampling_fraction=float(fraction)).measure(table, table)
    np.testing.assert_array_equal(finding.by_record["score"], printed["suda_score"])
    np.testing.assert_allclose(finding.record_risk, printed[f"suda_dis_{fraction}"], atol=1e-7)
    expected = summary["suda"]
    assert finding.details["sum of scores"] == expected["sum_score"]
    assert finding.details["highest score"] == expected["max_score"]
    assert finding.record_risk.sum() == pytest.approx(expected[f"sum_dis_{fraction}"], abs=1e-5)
    assert finding.value == expected["records_with_score"] / summary["n"]
    for row in expected["attribute_contributions"]:
        ours = finding.details["contribution of columns in percent"][row["variable"]]
        assert ours == pytest.approx(row["contribution"], rel=1e-12)


def test_suda2_by_supersets(table, printed):
    # suda2(..., original_scores = FALSE, DisFraction = 0.01); theirs, as above, in single precision.
    finding = SUDA2(max_size=7, weight="supersets", sampling_fraction=0.01).measure(table, table)
    np.testing.assert_allclose(finding.by_record["score"], printed["suda_score_ihsn"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(finding.record_risk, printed["suda_dis_ihsn"], atol=1e-7)
    # The one record that is unique on all seven columns together, and on no fewer, scores 0 but is counted.
    assert (printed["suda_score_ihsn"] > 0).sum() == 156
    assert finding.value == 157 / 4580


@pytest.mark.parametrize("case", ["numeric_testdata_k3", "numeric_testdata_k10", "numeric_census_k5"])
def test_interval_disclosure(case):
    printed = other_measures(case)
    name = case.split("_")[1]
    frame = pl.read_csv(reference(f"{name}.csv"))
    x = frame.select(["expend", "income", "savings"] if name == "testdata" else frame.columns).to_numpy().astype(float)
    part = Partition(labels=mdav((x - x.mean(axis=0)) / x.std(axis=0, ddof=1), printed["k"]))
    original, masked = Records.from_array(x), Records.from_array(part.means(x)[part.labels])
    finding = IntervalDisclosure(unit="record", widths=(0.01, 0.05, 0.1)).measure(original, masked)
    for width in ("0.01", "0.05", "0.1"):
        assert finding.details["curve"][width] == pytest.approx(printed[f"dRisk_k{width}"], rel=1e-12)


@pytest.fixture(scope="module")
def suppressed(table):
    """The table without the cells that sdcMicro's localSuppression(k = 3, alpha = 1) blanks."""
    cells = pl.read_csv(reference("sdcmicro/localsuppression_k3_cells_testdata.csv"))
    blanked = []
    for key in KEYS:
        codes = table[key].values.copy()
        codes[cells.filter(pl.col("variable") == key)["row"].to_numpy() - 1] = -1
        blanked.append(table[key].with_values(codes))
    return table.with_variables(*blanked).without(["ori_hid"])  # by which the table would give cells away


def frequencies(table, missing):
    """freqCalc by its definition: NA matches everything on both sides (wildcard); or NA as a category (equal)."""
    x = np.column_stack([table[key].values for key in KEYS])
    weights = table.weights
    f, population = np.empty(len(x)), np.empty(len(x))
    for i, row in enumerate(x):
        same = x == row
        if missing == "wildcard":
            same |= (x < 0) | (row < 0)
        f[i], population[i] = same.all(axis=1).sum(), weights[same.all(axis=1)].sum()
    return f, population


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["wildcard", "equal"][: by_night(1, 2)])
def test_risk_after_local_suppression_under_both_readings(suppressed, missing):
    f, population = frequencies(suppressed, missing)
    alike = lookalikes(suppressed, missing)
    np.testing.assert_array_equal(alike.sizes, f)
    np.testing.assert_allclose(alike.population, population, rtol=1e-14)
    p = f / population
    # indivRisk's approximation, p / (f - (1 - p)) above two records, is within 2.2e-5 of the exact value on this table.
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = p / (1 - p) * np.log(1 / p), p / (1 - p) - (p / (1 - p)) ** 2 * np.log(1 / p)
    theirs = np.select([f == 1, f == 2], [one, two], p / (f - (1 - p)))
    finding = IndividualRisk(missing=missing).measure(suppressed, suppressed)
    np.testing.assert_allclose(finding.record_risk, theirs, atol=2.2e-5)
    np.testing.assert_allclose(finding.record_risk[f <= 2], theirs[f <= 2], rtol=1e-11)
    assert finding.details["by what a missing cell matches"][missing] == finding.value
    highest = Prosecutor(missing=missing).measure(suppressed, suppressed)
    assert highest.value == 1 / f.min()
    assert SampleUniques(missing=missing).measure(suppressed, suppressed).value == (f == 1).mean()
    if missing == "wildcard":
        published = json.loads(reference("sdcmicro/localsuppression.json").read_text())["results"]
        theirs = next(r for r in published if r["dataset"] == "testdata" and r["k"] == 3 and r["alpha"] == 1)
        assert f.min() == theirs["min_fk_sdcMicro"] == 3
