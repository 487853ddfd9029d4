"""sdcMicro's own expectations, one a line of sdcmicro.csv, run against us.

The folder tests/testthat of sdcMicro 5.8.1 (github.com/sdcTools/sdcMicro, commit cf32510, 22 April 2026) has 30 files
with 639 expectations. Figures are typed from there with file and line; programs and sentences are ours.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from conformance.expectations import Case, agrees, cases_of, check_lines, check_page, name_of, printed, run
from conformance.sdcmicro_calls import CALLS, individual_risk, model_table
from conformance.sdcmicro_tables import r_uniform
from shoal.risk.log_linear import _counts, _fitted

CASES = cases_of("sdcmicro")

EXPECTATIONS = {
    "addNoise": 33, "ai_tools": 10, "ai_utility": 11, "calcRisks": 18, "dataGen": 9, "freqCalc": 40,
    "generateStrata": 4, "globalRecode": 55, "il_correl": 3, "il_variables": 2, "indivRisk": 32, "infoLoss": 17,
    "ldiversity": 11, "localSupp": 2, "localSuppression": 12, "microaggregation": 7, "modRisks": 129, "pram": 11,
    "rankSwap": 3, "recordLinkage": 109, "recordSwap_inputs": 35, "recordSwap_outputs": 22, "recordSwap_sdcObj": 5,
    "riskyCells": 7, "shuffle": 9, "suda2": 14, "topBotCoding": 8, "valTable": 3, "varToFac": 6, "varToNum": 12,
}  # fmt: skip
"""Expectations of each file: lines with a call of `expect_...`, those in comments too (R runs 567)."""


@pytest.mark.parametrize("case", [case for case in CASES if case["call"]], ids=name_of)
def test_expectation(case: Case) -> None:
    run(case, CALLS)


def test_every_expectation_has_its_line() -> None:
    files = Counter(case["file"] for case in CASES)
    assert files == {f"test_{name}.R": count for name, count in EXPECTATIONS.items()}
    assert sum(files.values()) == 639
    check_lines(CASES, CALLS)


def test_the_page_counts_verdicts_and_reasons(project: Path) -> None:
    check_page(CASES, project / "docs" / "reference" / "conformance_sdcmicro.md")


def test_r_numbers_are_those_of_r() -> None:
    # set.seed(3); runif(3, 1, 100), in test_suda2.R, line 110: the third column of the table begins at number 21
    assert r_uniform(3)(30, 1, 100)[20:22].tolist() == pytest.approx([23.5919862471055, 2.51765935891308], abs=1e-12)


def test_their_offset_gives_their_figures() -> None:
    """method = "CE": with the logarithm of .1 + the sampling fraction as offset our fit is theirs (lines 32 to 34)."""
    _, (codes, shape) = model_table("whole")
    counts = _counts(codes, np.ones(10), shape)
    fitted = _fitted(counts, 1, 0.1 + np.where(counts > 0, 0.01, 0.0))
    theirs = [.10, .10, .20, .10, .10, .10, .21, .10, .52, .52, .95, .47, .52, .47, 1.03, .52, .39, .43, .85, .39, .38,
              .38, .76, .42]  # fmt: skip
    assert fitted.ravel() == pytest.approx(theirs, abs=0.0051)
    others = 0.99 * fitted[counts == 1]
    assert np.exp(-others).sum() / (counts > 0).sum() == pytest.approx(0.542, abs=5e-4)
    assert ((1 - np.exp(-others)) / others).sum() / (counts > 0).sum() == pytest.approx(0.699, abs=5e-4)


def test_quality_of_two_is_twice_the_risk() -> None:
    """indivRisk(qual = 2) at survey = TRUE, test_indivRisk.R, lines 45 and 149: ours times two."""
    twice = [0.02710594, 0.17158258, 0.02710594, 0.35415167, 0.03755767, 0.03755767, 0.07863251, 0.02710594]
    assert [2 * risk for risk in individual_risk("whole", "weighted")] == pytest.approx(twice, abs=5e-9)
    twice = [0.02710594, 0.17158258, 0.02100978, 0.06493222, 0.01951378, 0.01951378, 0.07863251, 0.01192510]
    assert [2 * risk for risk in individual_risk("more-gaps", "weighted")] == pytest.approx(twice, abs=5e-9)


def test_digits_are_compared_as_printed() -> None:
    assert agrees(0.333333333, printed("0.33333")) and not agrees(0.33335, printed("0.33333"))
    assert agrees([1, None, True], printed("[1, null, true]")) and not agrees([1.2], printed("[1]"))
    assert agrees("error", printed('"error"')) and not agrees(True, printed("1")) and not agrees(1.0, printed("true"))
