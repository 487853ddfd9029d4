"""The tool that makes mutants makes those that it says, and lets none be called equal that it no longer makes."""

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


def test_those_called_equal_are_still_made(project: Path) -> None:
    entries = [line.split(" # ") for line in mutants.EQUAL.read_text().splitlines() if " | " in line][1:]
    for entry, reason in entries:
        path, _, text = entry.partition(" | ")
        assert reason
        assert text in {str(mutant) for mutant in mutants.mutants((project / path).read_text())}


def test_a_living_mutant_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With a test that looks at one side of a limit only, what moves the other side lives."""
    package, tests = tmp_path / "src" / "shoal", tmp_path / "tests"
    package.mkdir(parents=True)
    tests.mkdir()
    (package / "__init__.py").write_text("")
    (package / "small.py").write_text("def small(size, k):\n    return size < k\n")
    (tests / "test_small.py").write_text("from shoal.small import small\ndef test():\n    assert small(1, 3)\n")
    (tests / "conftest.py").write_text("from hypothesis import settings\nsettings.register_profile('unshrunk')\n")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    assert mutants.main([str(package / "small.py")]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "src/shoal/small.py:2 small: size < k -> size <= k",
        "1 of 2 mutants live",
    ]
