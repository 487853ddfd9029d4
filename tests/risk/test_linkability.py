"""Links between two files through the release."""

from pathlib import Path

import pytest

import shoal
from risk.test_singling_out import FRESH, ORIGINAL, ROLES, people
from shoal.vocabulary.errors import DataError


def test_which_columns_the_two_files_have():
    default = shoal.Linkability(attacks=10).measure(ORIGINAL, FRESH)
    assert default.details["columns of the first file"] == ["age", "size", "town"]
    assert default.details["columns of the second file"] == ["income", "illness"]
    one_role = ORIGINAL.select(["age", "size", "town"])
    dealt = shoal.Linkability(attacks=10).measure(one_role, one_role)
    assert dealt.details["columns of the first file"] == ["age", "town"]
    assert dealt.details["columns of the second file"] == ["size"]
    with pytest.raises(DataError, match="first and second share 'age'"):
        shoal.Linkability(first=["age"], second=["age"]).measure(ORIGINAL, FRESH)


def test_a_holdout_is_read_from_the_plan(tmp_path: Path):
    people(200, 2).write_csv(tmp_path / "others.csv")
    plan = {"columns": ROLES, "measures": [{"risk": "linkability", "attacks": 50, "holdout": "others.csv"}]}
    evidence = shoal.assess(people(300, 1), plan, folder=tmp_path, seed=1)
    linked = next(f for f in evidence.findings if f.measure == "linkability")
    assert linked.value > 0.8
    assert "right on strangers" in linked.details
