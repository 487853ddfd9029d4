"""Public tables of people, as far as they lie beside the project: made alike, and recounted from the files alone.

`shared/data/persons` may hold eusilcP.csv (of simPop), patients.csv, conditions.csv and medications.csv (of Synthea),
and the .asc files of Berka; none is part of the project.
"""

import sys
from pathlib import Path

import pytest

import shoal
from attacks.test_linked_tables import Joiner
from published.reference import reference

FILES = {"eusilcP": "eusilcP.csv", "Synthea": "medications.csv", "Berka": "loan.asc"}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_nobody_is_among_fewer_than_k(
    name: str, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = reference(f"persons/{FILES[name]}").parent
    monkeypatch.setattr(sys, "path", [*sys.path, str(project / "bench")])
    from profiles import CASES

    case = CASES[name](folder)
    plan = {**case.plan(5), "requirements": [{"privacy": "k-anonymity", "k": 5}]}
    release = shoal.protect(case.tables, plan, tmp_path / "out", seed=1)
    joiner = Joiner(tmp_path / "out" / "release", plan)
    assert release.record["persons left out"] == 0
    assert joiner.dangling() == 0
    assert min(joiner.all_records(), joiner.one_record(), joiner.some_records(2)) >= 5
