"""sdcMicro 5.8.1 on its own surveys, beyond its suite: figures of calls that stand beside them (R 4.2.2).

K is c("SEX", "AGE", "MARSTAT", "ETNI") of free1, weight WEIGHT; Key1 to Key4 of francdat, weight w; and the seven keys
of testdata2. What it gives on testdata stands in tests/published.
"""

import numpy as np
import polars as pl
import pytest

import shoal
from conformance.sdcmicro_calls import least_alike
from conformance.sdcmicro_tables import DWELLING, keys, survey
from shoal.privacy.confidential import Occurrences
from shoal.privacy.l_diversity import diversity
from shoal.risk.log_linear import _counts, _fitted
from shoal.risk.population import lookalikes
from shoal.table.confidential_bins import confidential_bins
from shoal.table.microdata import as_records
from shoal.table.records import Records

FRANCDAT = {
    "Key1": [1, 1, 1, 3, 4, 4, 6, 1],
    "Key2": [2, 2, 2, 3, 3, 3, 2, 2],
    "Key3": [5, 1, 1, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, 4, 1, 5, 1],
}
PEOPLE = [18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0]

K = ("SEX", "AGE", "MARSTAT", "ETNI")


def free1(*names: str) -> Records:
    frame = survey("free1")
    return keys({name: frame[name].to_list() for name in names}, frame["WEIGHT"].to_list())


def test_francdat() -> None:
    """freqCalc(francdat, K, w), indivRisk(f, method = "exact"), suda2(francdat, K, DisFraction = 0.1)."""
    records = keys(FRANCDAT, PEOPLE)
    alike = lookalikes(records)
    assert alike.sizes.tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert alike.population.tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    risks = shoal.IndividualRisk().measure(records, records).record_risk
    theirs = [0.01714426160, 0.02204232618, 0.02204232618, 0.17707583400, 0.01165448015, 0.29706307738, 0.40235947811]
    assert risks is not None
    assert risks == pytest.approx([*theirs, 0.01714426160], abs=6e-12)
    suda = shoal.SUDA2(sampling_fraction=0.1).measure(records, records)
    assert suda.by_record["score"].tolist() == [0, 0, 0, 8, 6, 4, 8, 0]
    dis = [0, 0, 0, 0.13689132, 0.10096284, 0.06457764, 0.13689132, 0]
    assert suda.record_risk == pytest.approx(dis, abs=6e-9)


@pytest.mark.parametrize(
    ("names", "ones", "twos", "sizes", "people", "expected"),
    [(("REGION", *K), 3169, 626, 5212, 1_247_816.9, 82.3417975236), (K, 324, 166, 86_516, 22_193_122.1, 10.9856679449)],
)
def test_free1(names, ones, twos, sizes, people, expected) -> None:
    """freqCalc(free1, names, w): n1, n2 and sums of fk and Fk; sum(indivRisk(f, method = "exact")$rk)."""
    records = free1(*names)
    alike = lookalikes(records)
    assert ((alike.sizes == 1).sum(), (alike.sizes == 2).sum(), alike.sizes.sum()) == (ones, twos, sizes)
    assert alike.population.sum() == pytest.approx(people, rel=1e-12)
    finding = shoal.IndividualRisk().measure(records, records)
    assert finding.details["expected re-identifications"] == pytest.approx(expected, rel=1e-11)


def test_suda2_of_free1() -> None:
    """suda2(free1, K, DisFraction = 0.01)."""
    records = free1(*K)
    finding = shoal.SUDA2(sampling_fraction=0.01).measure(records, records)
    score = finding.by_record["score"]
    assert (score.sum(), score.max(), (score > 0).sum()) == (500, 4, 324)
    assert finding.record_risk is not None
    assert finding.record_risk.sum() == pytest.approx(7.5921752, abs=1e-5)  # theirs in single precision
    shares = finding.details["contribution of columns in percent"]
    assert shares == pytest.approx({"SEX": 31.0, "AGE": 97.4, "MARSTAT": 39.8, "ETNI": 79.6})


def test_l_diversity_of_free1() -> None:
    """ldiversity(free1, c("SEX", "MARSTAT", "ETNI"), ldiv_index = "EDUC1"): means over the records."""
    names = ("SEX", "MARSTAT", "ETNI")
    records = as_records(survey("free1").select(*names, "EDUC1").cast(pl.String), confidential=["EDUC1"])
    classes = records.classes(names)
    occurrences = Occurrences.of(confidential_bins(records, "equal")[0], classes)
    means = {
        kind: diversity(occurrences, len(classes.sizes), kind, 2.0)[classes.ids].mean()
        for kind in ("distinct", "entropy", "recursive")
    }
    assert means == pytest.approx({"distinct": 7.155, "entropy": 5.49489140138, "recursive": 4.7365}, rel=1e-11)


@pytest.mark.parametrize(
    ("table", "k", "theirs", "ours"),
    [
        ("francdat", 2, 4, 3),
        ("francdat", 3, 9, 7),
        ("testdata2", 2, 97, 51),
        ("testdata2", 3, 117, 79),
        ("testdata2", 5, 157, 116),
        ("free1", 3, 498, 82),
    ],
)
def test_fewer_cells_are_blanked(table, k, theirs, ours) -> None:
    """localSuppression(table, keys, k): sum of totalSupps; ours are counted again pair by pair."""
    columns = FRANCDAT
    if table != "francdat":
        columns = {name: survey(table)[name].to_list() for name in (K if table == "free1" else DWELLING)}
    change = shoal.Suppress(k=k).apply(keys(columns), tuple(columns), np.random.default_rng(0))
    assert least_alike(change.records, tuple(columns)) >= k
    assert change.details["cells suppressed"] == ours < theirs  # the figures of docs/reference/conformance_sdcmicro.md


def test_log_linear_models_of_free1() -> None:
    """modRisk(free1, method, formulaM = ~ SEX + MARSTAT + ETNI + REGION, weights = "WEIGHT"), columns as factors.

    "CE" with their offset, .1 + records over weights (0 in empty cells): our fit is theirs where weights differ.
    """
    names = ("SEX", "MARSTAT", "ETNI", "REGION")
    records = free1(*names)
    details = shoal.LogLinearRisk(mean="sample").measure(records, records).details
    assert details["expected unique in the population"] / details["classes"] == pytest.approx(0.273645487391, rel=1e-9)
    assert details["expected right matches"] / details["classes"] == pytest.approx(0.330379715583, rel=1e-9)
    codes = np.column_stack([records.classes([name]).ids for name in names])
    shape = tuple((codes.max(axis=0) + 1).tolist())
    weights = records.weights
    assert weights is not None
    counts, people = _counts(codes, np.ones(len(codes)), shape), _counts(codes, weights, shape)
    offset = 0.1 + np.divide(counts, people, out=np.zeros(shape), where=people > 0)
    alone = counts == 1
    others = (1 - 1 / people[alone]) * _fitted(counts, 1, offset)[alone]
    assert np.exp(-others).sum() / (counts > 0).sum() == pytest.approx(0.27204317374, rel=1e-9)
    assert ((1 - np.exp(-others)) / others).sum() / (counts > 0).sum() == pytest.approx(0.329399813614, rel=1e-9)
