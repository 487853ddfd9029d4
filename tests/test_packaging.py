"""What is packed elsewhere agrees with pyproject.toml: versions, dependencies, files that the container takes."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML


@pytest.fixture
def described(project: Path) -> dict[str, Any]:
    return tomllib.loads((project / "pyproject.toml").read_text())


def loaded(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text())


def test_one_version(project: Path, described: dict[str, Any]) -> None:
    """Without a tag in sight; with one, the last tag is the version."""
    assert described["project"]["dynamic"] == ["version"]
    assert described["tool"]["scikit-build"]["metadata"]["version"]["provider"].endswith(".setuptools_scm")
    version = described["tool"]["setuptools_scm"]["fallback_version"]
    assert loaded(project / "packaging" / "conda" / "recipe.yaml")["context"]["version"] == version
    assert re.findall(r"^Version: (.*)", (project / "r" / "DESCRIPTION").read_text(), re.M) == [version]
    assert str(loaded(project / "CITATION.cff")["version"]) == version


def test_conda_needs_what_the_wheel_needs(project: Path, described: dict[str, Any]) -> None:
    needed = loaded(project / "packaging" / "conda" / "recipe.yaml")["requirements"]
    wanted = {f"python {described['project']['requires-python']}", *described["project"]["dependencies"]}
    assert {one.replace(" ", "") for one in needed["run"]} == {one.replace(" ", "") for one in wanted}
    assert {one.replace(" ", "") for one in described["build-system"]["requires"]} <= {
        one.replace(" ", "") for one in needed["host"]
    }


def test_the_container_gets_the_files_that_it_copies(project: Path) -> None:
    """What `COPY` names is there and is not kept out; what could tell of data or secrets is."""
    kept = {line[1:] for line in (project / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (project / "Dockerfile").read_text(), re.M)
    names = {name.removesuffix("*") for line in copied for name in line.split()}
    assert names and names - {"constraints*.txt"} <= kept
    assert all((project / name).exists() for name in names if "*" not in name)


def test_the_container_runs_as_no_root_and_ends_in_the_command(project: Path) -> None:
    last = (project / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert re.search(r"^USER shoal$", last, re.M)
    assert last.index("\nUSER ") < last.index("\nENTRYPOINT ")
    extras = re.findall(r"'\.\[(.*)\]'", (project / "Dockerfile").read_text())[0].split(",")
    known = tomllib.loads((project / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) <= set(known)


def test_a_release_is_refused_whose_tag_is_not_the_version(project: Path, described: dict[str, Any]) -> None:
    flow = loaded(project / ".github" / "workflows" / "wheels.yml")
    assert all("version" in job["needs"] for name, job in flow["jobs"].items() if name != "version")
    check = flow["jobs"]["version"]["steps"][-1]["run"]
    pattern = re.search(r'grep -qx "(.*)" pyproject.toml', check)
    assert pattern is not None
    line = (
        pattern[1]
        .replace("\\\\", "")
        .replace('\\"', '"')
        .replace("${GITHUB_REF_NAME#v}", described["tool"]["setuptools_scm"]["fallback_version"])
    )
    assert line in (project / "pyproject.toml").read_text().splitlines()
