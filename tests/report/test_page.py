"""The public page leaks nothing, loads nothing, and reads well; the private one says what the public must not."""

import re
from collections.abc import Iterator
from dataclasses import MISSING
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jinja2 import Environment

import shoal
from shoal.report.audit_page import audit_page
from shoal.report.forms import figure
from shoal.vocabulary.registry import registered

COLUMNS = {
    "age": {"role": "quasi-identifier", "decimals": 2},
    "income": "quasi-identifier",
    "illness": "confidential",
    "spend": "confidential",
    "name": "identifier",
}


def people(n: int, seed: int = 5) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": np.round(rng.uniform(18, 90, n), 2),
            "income": np.round(rng.lognormal(10, 1, n), 2),
            "illness": rng.choice(["a", "b", "c"], n),
            "spend": np.round(rng.lognormal(5, 1, n), 3),
            "name": [f"Wxyz{i:03d}" for i in range(n)],
        }
    )


def with_outlier(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(income=pl.when(pl.int_range(pl.len()) == 7).then(98765432.1).otherwise("income"))


def all_measures() -> list[dict[str, str]]:
    return [
        {e.kind: e.name}
        for kind in ("risk", "utility")
        for e in registered(kind)
        if not any(default is MISSING for default in e.parameters.values())
    ]


def released(table: pl.DataFrame) -> Any:
    plan = {
        "columns": COLUMNS,
        "steps": [{"partition": "mdav", "k": 4}, {"partition": "mdav", "k": 4, "columns": ["spend"]}],
        "requirements": [{"privacy": "k-anonymity", "k": 4}],
        "measures": all_measures(),
    }
    return shoal.protect(table, plan, seed=987654321987)


def leaks(table: pl.DataFrame, data: pl.DataFrame, text: str) -> Iterator[str]:
    public = {str(v) for name in data.columns for v in data[name].to_list()}
    for name in table.columns:
        for value in {str(v) for v in table[name].to_list()} - public:
            if re.search(rf"(?<![\d.]){re.escape(value)}(?![\d.])", text):
                yield f"{name}: {value}"


@pytest.mark.parametrize("table", [people(12), with_outlier(people(60))], ids=["12 records", "an outlier"])
def test_nothing_of_the_original_is_on_the_public_side(tmp_path: Path, table: pl.DataFrame) -> None:
    release = released(table)
    out = release.write(tmp_path / "out", unproved=True)
    for name in ("report.html", "evidence.json", "codebook.json"):
        text = (out / "release" / name).read_text()
        assert list(leaks(table, release.data, text)) == [], name
        assert "987654321987" not in text
        for rounded in ("98765432", "9.877e+07", "98,770,000", "98,765,432", "98.8"):
            assert rounded not in text


def test_the_page_is_one_small_closed_file(tmp_path: Path) -> None:
    out = released(people(60)).write(tmp_path / "out")
    page = (out / "release" / "report.html").read_text()
    assert len(page) < 2_000_000
    assert "default-src 'none'" in page
    assert "<script" not in page
    outside = re.sub(r'xmlns(:\w+)?="http://www.w3.org/[^"]*"', "", page)
    assert not re.findall(r'(?:src|href)="(?!#)', outside)
    assert "http" not in re.sub(r"http-equiv", "", outside)


def test_the_verdict_comes_first_and_what_was_not_measured_is_said(tmp_path: Path) -> None:
    page = (released(people(60)).write(tmp_path / "out") / "release" / "report.html").read_text()
    proved = page.index("4-anonymity, on the table as it is written.")
    assert page.index("For you to judge") < proved < page.index("To decide") < page.index("Disclosure risk")
    assert "What was not measured, and why" in page


@pytest.mark.parametrize("replace", ["normal", {"method": "class-conditional", "continuous": "normal"}])
def test_what_a_synthesis_kept_is_on_the_page(tmp_path: Path, replace: Any) -> None:
    steps = [{"partition": "mdav", "k": 12, "columns": ["income", "spend"], "replace": replace}]
    release = shoal.protect(people(60), {"columns": COLUMNS, "steps": steps}, seed=1)
    page = (release.write(tmp_path / "out", unproved=True) / "private" / "report.html").read_text()
    for label in (
        "largest relative error inside a group: covariances",
        "largest relative error overall: means",
        "values as drawn: outside the observed range",
        "values as released: outside the observed range",
    ):
        assert label in page


def test_without_a_requirement_the_page_says_so(tmp_path: Path) -> None:
    release = shoal.protect(people(30), {"columns": COLUMNS}, seed=1)
    assert (
        "Nothing was promised"
        in (release.write(tmp_path / "out", unproved=True) / "release" / "report.html").read_text()
    )


def test_the_private_page_has_seed_and_rows(tmp_path: Path) -> None:
    page = (released(people(60)).write(tmp_path / "out") / "private" / "report.html").read_text()
    assert "987654321987" in page
    assert "Records at highest risk" in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "yes"),
        (None, "not computed"),
        (1234567, "1,234,567"),
        (0.123456, "0.1235"),
        (123456.7, "123,457"),
        (-6.4e-17, "0"),
        (float("inf"), "any value"),
        ([1, 2.5], "1, 2.5"),
        ("text", "text"),
    ],
)
def test_figures_as_a_reader_wants_them(value: Any, shown: str) -> None:
    assert figure(value) == shown


def test_templates_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling them takes longer than filling them, and most of the time of writing a small release."""
    evidence = audit_page(released(people(40)).evidence, "people")

    def compiled_again(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(Environment, "compile", compiled_again)
    assert audit_page(released(people(40)).evidence, "people") == evidence
