"""The tool that makes mutants makes those that it says, and lets none be called equal that it no longer makes."""

import re
from pathlib import Path

import pytest

import mutants

SOURCE = '''
"""Nothing in words is changed, "min" and 1 included."""
def few(sizes, k: int = 2):
    if not sizes:
        raise ValueError(f"at least {k + 1}")
    return min(sizes) < k and largest(sizes, k)
'''


def test_faults_of_a_function() -> None:
    assert [str(mutant) for mutant in mutants.mutants(SOURCE)] == [
        "few: 2 -> 3",
        "few: 2 -> 1",
        "few: if not sizes: -> if True:",
        "few: if not sizes: -> if False:",
        "few: not sizes -> sizes",
        "few: min(sizes) < k and largest(sizes, k) -> min(sizes) < k or largest(sizes, k)",
        "few: min(sizes) < k -> min(sizes) <= k",
        "few: min(sizes) < k -> min(sizes) >= k",
        "few: min -> max",
        "few: largest(sizes, k) -> largest(sizes)",
    ]


def test_each_mutant_has_one_fault() -> None:
    whole = mutants.ast.unparse(mutants.ast.parse(SOURCE)).splitlines()
    for mutant in mutants.mutants(SOURCE):
        lines = mutant.source.splitlines()
        assert sum(a != b for a, b in zip(whole, lines, strict=True)) == 1


def test_the_nearest_tests_mirror_a_file_or_name_what_it_defines(project: Path) -> None:
    near = [path.name for path in mutants.nearest(project / "src" / "shoal" / "privacy" / "l_diversity.py")]
    assert near[0] == "test_l_diversity.py"
    assert "test_class_by_class.py" in near
    assert "test_gate.py" not in near
    assert "test_narrowed.py" in [path.name for path in mutants.nearest(project / "src/shoal/proof/given_away.py")]


@pytest.mark.parametrize("file", ["proof/in_parts.py", "run/parts/steps.py", "judges/class_table.py"])
def test_files_whose_tests_bear_other_names_have_near_ones(project: Path, file: str) -> None:
    assert mutants.nearest(project / "src" / "shoal" / file)


def test_every_file_whose_mutants_are_tried_each_night_has_near_tests(project: Path) -> None:
    nightly = (project / ".github" / "workflows" / "nightly.yml").read_text().partition("tests/mutants.py")[2]
    files = [file for pattern in re.findall(r"src/shoal/\S+", nightly) for file in project.glob(pattern)]
    assert len(files) >= 26
    for file in files:
        assert file.name == "__init__.py" or mutants.nearest(file)


def test_those_called_equal_are_still_made(project: Path) -> None:
    entries = [line.split(" # ") for line in mutants.EQUAL.read_text().splitlines() if " | " in line][1:]
    paths = {entry.partition(" | ")[0] for entry, _ in entries}
    made = {path: {str(mutant) for mutant in mutants.mutants((project / path).read_text())} for path in paths}
    for entry, reason in entries:
        path, _, text = entry.partition(" | ")
        assert reason
        assert text in made[path]


def test_a_living_mutant_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a test that looks at one side of a limit only, what moves the other side lives."""
    assert living_in("def small(size, k):\n    return size < k\n", "small(1, 3)", monkeypatch, tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "src/shoal/small.py:2 small: size < k -> size <= k",
        "1 of 2 mutants live",
    ]


def living_in(source: str, asserted: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> int:
    """The exit status of the tool on a package of one file with a test beside one of another function."""
    package, tests = folder / "src" / "shoal", folder / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (package / "__init__.py").write_text("")
    (package / "small.py").write_text(source)
    (tests / "test_small.py").write_text(f"from shoal.small import small\ndef test():\n    assert {asserted}\n")
    (tests / "conftest.py").write_text("from hypothesis import settings\nsettings.register_profile('unshrunk')\n")
    monkeypatch.setattr(mutants, "ROOT", folder)
    return mutants.main([str(package / "small.py")])


def test_where_no_test_enters_a_function_all_are_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The fault is in what is called while the file is imported."""
    source = "def least():\n    return 2\nLEAST = least()\ndef small(size):\n    return size < LEAST\n"
    assert living_in(source, "small(1) and not small(2)", monkeypatch, tmp_path) == 0
    assert capsys.readouterr().out == "0 of 4 mutants live\n"


def test_tests_that_enter_the_function_around_enter_what_is_in_it() -> None:
    seconds = {"outer": {"a": 1.0}, "outer.inner": {"b": 2.0}}
    assert mutants.entering("outer.inner", seconds) == {"b": 2.0}
    assert mutants.entering("outer.other", seconds) == {"a": 1.0}
    assert mutants.entering("module", seconds) == {}


def test_without_a_test_nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "src" / "shoal"
    package.mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (package / "small.py").write_text("def small(size, k):\n    return size < k\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"no test is near src/shoal/small\.py"):
        mutants.main([str(package / "small.py")])
