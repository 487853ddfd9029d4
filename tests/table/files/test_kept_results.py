"""Results kept by key: there again in the next run, for their owner only, whole or not at all."""

from pathlib import Path

import pytest

from shoal.table.files.kept_results import KeptResults
from shoal.table.files.names import slug


def test_what_was_kept_is_there_in_the_next_run(tmp_path: Path) -> None:
    KeptResults(tmp_path / "a" / "b")["key"] = {"risk": 0.1 + 0.2, "reason": "ü"}
    again = KeptResults(tmp_path / "a" / "b")
    assert "key" in again
    assert "other" not in again
    assert again["key"] == {"risk": 0.1 + 0.2, "reason": "ü"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "a").rglob("*.json"))


def test_a_result_that_is_no_json_leaves_the_one_before(tmp_path: Path) -> None:
    kept = KeptResults(tmp_path)
    kept["key"] = 1
    with pytest.raises(TypeError):
        kept["key"] = object()
    assert kept["key"] == 1
    assert len(list(tmp_path.iterdir())) == 1


def test_names_as_file_names() -> None:
    assert slug("mdav k=5") == "mdav-k-5"
    assert slug(" A/b: 0.5 ") == "a-b-0.5"
