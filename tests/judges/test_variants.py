"""Values that differ in typing only are counted and named; they do not silently make a class diverse."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shoal
from shoal.judges.variants import typed_alike, variants
from shoal.table.microdata import Microdata

ILLNESSES = [
    "flu",
    "Flu",
    "flu ",
    "ﬂu",
    "é",
    "e\u0301",
    "gout",
    "gout\u00a0 x",
    "gout x",
    "straße",
    "STRASSE",
    "1",
    "10",
]
MODELS: list[dict[str, Any]] = [
    {"privacy": "l-diversity", "l": 2},
    {"privacy": "p-sensitivity", "p": 2},
    {"privacy": "t-closeness", "t": 0.999},
    {"privacy": "beta-likeness", "beta": 50},
]


def illness(cells: list[Any]) -> int:
    return variants(Microdata.of(pl.DataFrame({"ill": cells}), {"ill": "confidential"}).records["ill"])


def test_variants_by_hand() -> None:
    assert illness(ILLNESSES) == 4 + 2 + 2 + 2
    assert illness(["flu", "gout", "flu"]) == 0
    assert illness([1.0, 2.0, 2.5]) == 0
    assert typed_alike(" A\tb ") == "a b"


@pytest.mark.parametrize("asked", MODELS, ids=lambda asked: asked["privacy"])
def test_protect_audit_and_evidence_name_the_caution(asked: dict[str, Any], tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [30] * 4 + [40] * 4, "ill": ["flu", "Flu", "gout", "flu"] * 2})
    plan = {
        "columns": {"age": "quasi-identifier", "ill": "confidential"},
        "requirements": [asked],
        "output": {"format": "csv"},
    }
    release = shoal.protect(frame, plan, seed=1)
    out = release.write(tmp_path / "out")
    audited = shoal.audit(out / "release" / "data.csv", plan)
    for verdict in (release.evidence.verdicts[0], audited.verdicts[0]):
        assert "Caution: 2 values of 'ill' differ from one another in blanks, case or Unicode form" in verdict.sentence
        assert verdict.details["values that differ in typing only"] == {"ill": 2}
    for file in ("evidence.json", "report.html"):
        assert "Caution: 2 values" in (out / "release" / file).read_text(encoding="utf-8")


def test_no_caution_where_all_values_differ() -> None:
    frame = pl.DataFrame({"age": [30] * 4, "ill": ["flu", "gout", "cough", "flu"]})
    plan = {"columns": {"age": "quasi-identifier", "ill": "confidential"}, "requirements": MODELS[:1]}
    verdict = shoal.protect(frame, plan, seed=1).evidence.verdicts[0]
    assert "Caution" not in verdict.sentence
    assert "values that differ in typing only" not in verdict.details
