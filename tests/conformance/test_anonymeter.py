"""anonymeter's own expectations, one a line of anonymeter.csv, run against us.

The folder tests of anonymeter (github.com/statice/anonymeter, commit 0188bdf, 13 May 2025) has seven files with 152
cases, a set of parameters each. Figures are typed from there with file and line, and the number of the set where
several share a line; programs and sentences are ours.
"""

from collections import Counter
from pathlib import Path

import pytest

from conformance.anonymeter_calls import CALLS
from conformance.expectations import Case, cases_of, check_lines, check_page, name_of, run

CASES = cases_of("anonymeter")

PARAMETER_SETS = {
    "confidence": 20,
    "inference_evaluator": 32,
    "linkability_evaluator": 45,
    "mixed_types_kneigbors": 11,
    "singling_out_evaluator": 31,
    "transformations": 7,
    "type_detection": 6,
}


@pytest.mark.parametrize("case", [case for case in CASES if case["call"]], ids=name_of)
def test_expectation(case: Case) -> None:
    run(case, CALLS)


def test_every_case_has_its_line() -> None:
    files = Counter(case["file"] for case in CASES)
    assert files == {f"test_{name}.py": count for name, count in PARAMETER_SETS.items()}
    check_lines(CASES, CALLS)


def test_the_page_counts_verdicts_and_reasons(project: Path) -> None:
    check_page(CASES, project / "docs" / "reference" / "conformance_anonymeter.md")
