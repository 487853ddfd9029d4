"""The suite in other surroundings installs what pyproject.toml allows, each package once."""

import tomllib
from pathlib import Path

import pytest

import matrix


def test_the_oldest_version_is_one_that_all_allow() -> None:
    oldest = matrix.oldest_allowed()
    assert oldest["duckdb"] == "2.0.1"  # in memory 1.1 would do, but tables in parts need 2.0.1
    assert oldest["polars"] == "1.42"
    assert matrix.in_order("1.10") > matrix.in_order("1.9.3")


def test_no_dependency_is_left_out(project: Path) -> None:
    described = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    wanted = list(described["dependencies"])
    for name in matrix.INSTALLED:
        wanted += described["optional-dependencies"][name]
    named = {word.split(">=")[0].split("[")[0] for word in wanted}
    assert named - set(matrix.oldest_allowed()) == {"shoal"}


def test_what_follows_two_dashes_goes_to_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(matrix, "PARTS", {"oldest": lambda *options: asked.append(options) or ""})
    assert matrix.main(["oldest", "--", "tests/table/files", "-x"]) == 0
    assert asked == [("tests/table/files", "-x")]


def test_a_locale_that_is_not_here_is_no_surrounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The C library takes an unknown one for C, so that the suite would have passed in surroundings that were not."""
    assert matrix.has_locale("C")
    assert not matrix.has_locale("zz_ZZ.UTF-8")
    monkeypatch.setitem(matrix.SURROUNDINGS, "turkish", {"LC_ALL": "zz_ZZ.UTF-8"})
    assert matrix.surrounded("turkish").startswith(matrix.NOT_HERE)
