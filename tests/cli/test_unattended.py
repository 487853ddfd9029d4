"""Runs that nobody watches: JSON wherever it is asked for, a log with times, settings from the environment."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
import polars as pl
import pytest

import shoal
from command_line import Run
from shoal import cli

PLAN = """
columns: {a: quasi-identifier, b: quasi-identifier, c: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
"""
STRICTER = PLAN.replace("k-anonymity, k: 3", "k-anonymity, k: 5")


@pytest.fixture(autouse=True)
def _files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    c = [777.25 + 5 * i % 12 for i in range(12)]  # of which no law gives a back
    pl.DataFrame({"a": range(12), "b": [i % 4 for i in range(12)], "c": c}).write_csv("in.csv")
    Path("plan.yaml").write_text(PLAN)
    Path("stricter.yaml").write_text(STRICTER)


PROTECT = ("protect", "in.csv", "--plan", "plan.yaml", "--out", "out")
REFUSED = ("protect", "in.csv", "--plan", "stricter.yaml", "--out", "out")


@pytest.mark.parametrize("arguments", [("--json", *PROTECT), (*PROTECT, "--json"), ("protect", "--json", *PROTECT[1:])])
def test_json_before_and_after_the_command(run: Run, arguments: tuple[str, ...]) -> None:
    status, out, _ = run(*arguments)
    report = json.loads(out)
    assert (status, report["exit status"], report["proved"]) == (0, 0, True)


def test_a_refusal_in_json_tells_the_verdicts_and_what_would_help(run: Run) -> None:
    status, out, err = run(*REFUSED, "--json")
    report = json.loads(out)
    assert (status, report["exit status"], report["error"]["kind"]) == (3, 3, "Refused")
    assert [(v["requirement"], v["holds"], v["achieved"]) for v in report["requirements"]] == [
        ("5-anonymity", False, 3)
    ]
    assert report["what would help"][0] == "The step mdav + centroid has k = 3; give it at least 5."
    with pytest.raises(shoal.Refused) as refused:
        shoal.protect(pl.read_csv("in.csv"), "stricter.yaml", seed=1)
    said = [f"{one.remedy} {one.effect}".rstrip() for one in refused.value.advice]
    assert report["what would help"] == said
    assert err == f"shoal: {report['error']['message']}\n"
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("--json", "protect", "absent.csv", *PROTECT[2:]), 2),
        ((*PROTECT, "--seed", "x", "--json"), 2),
        ((*PROTECT, "--sed", "1", "--json"), 2),
        (("protekt", "--json"), 2),
        ((*PROTECT[:-1], "-", "--json"), 2),
    ],
)
def test_wrong_use_in_json(run: Run, arguments: tuple[str, ...], status: int) -> None:
    ended, out, err = run(*arguments)
    report = json.loads(out)
    assert (ended, report["exit status"]) == (status, status)
    assert report["error"]["message"] in err
    assert report["requirements"] == report["what would help"] == []


def test_an_unexpected_error_in_json_shows_no_cell(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the value 777.25 of a cell")

    monkeypatch.setattr(shoal, "protect", broken, raising=False)
    status, out, err = run(*PROTECT, "--json", "--log", "log")
    assert (status, json.loads(out)["exit status"]) == (1, 1)
    assert "777.25" not in out + err + Path("log").read_text()


EVENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) [^\n]+")


def test_the_log_has_times_and_no_cell(run: Run) -> None:
    assert run(*PROTECT, "--log", "log")[0] == 0
    assert run(*REFUSED[:-1], "out-2", "--log", "log")[0] == 3
    lines = Path("log").read_text().splitlines()
    assert all(EVENT.fullmatch(line) for line in lines)
    events = [line.partition("Z ")[2] for line in lines]  # without times, whose digits may be any
    assert f"INFO protect: shoal {shoal.__version__} begins" in events
    assert "INFO mdav + centroid" in events
    assert "INFO proved 3-anonymity" in events
    assert "INFO wrote out" in events
    assert any(event.startswith("ERROR Nothing was released. 5-anonymity") for event in events)
    assert [event.split(" after ")[0] for event in events if " after " in event] == [
        "INFO ended with status 0",
        "INFO ended with status 3",
    ]
    assert not any("777" in event for event in events)
    assert stat.S_IMODE(Path("log").stat().st_mode) == 0o600


def test_a_log_on_standard_error(run: Run) -> None:
    status, out, err = run(*PROTECT, "--log", "-", "--quiet")
    assert (status, out) == (0, "")
    assert all(EVENT.fullmatch(line) for line in err.splitlines())


def test_a_log_that_cannot_be_written(run: Run) -> None:
    status, _, err = run(*PROTECT, "--log", "absent/log")
    assert (status, err) == (
        2,
        "shoal: The log 'absent/log' cannot be written (No such file or directory). Choose another place.\n",
    )
    assert not Path("out").exists()


def options(group: click.Group, above: str = "SHOAL") -> Iterator[tuple[str, click.Option]]:
    """Every option of every command, with the name that it has in the environment."""
    for name, command in group.commands.items():
        for option in command.params:
            if isinstance(option, click.Option):
                common = not option.expose_value
                path = "SHOAL" if common else f"{above}_{name.upper()}"
                yield f"{path}_{max(option.opts, key=len)[2:].upper().replace('-', '_')}", option
        if isinstance(command, click.Group):
            yield from options(command, f"{above}_{name.upper()}")


def test_every_option_comes_from_the_environment_too() -> None:
    listed = list(options(cli.cli))
    assert all(option.envvar == name for name, option in listed)
    own = [name for name, option in listed if option.expose_value]
    assert len(own) == len(set(own)) > 40
    assert {"SHOAL_PROTECT_SEED", "SHOAL_HIERARCHY_SHOW_MOST"} <= set(own)


def test_settings_from_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"JSON": "1", "LOG": "log", "PROTECT_PLAN": "plan.yaml", "PROTECT_OUT": "out"}.items():
        monkeypatch.setenv(f"SHOAL_{name}", value)
    monkeypatch.setenv("SHOAL_PROTECT_SEED", "12345678901234567890")
    status, out, _ = run("protect", "in.csv")
    assert (status, json.loads(out)["directory"]) == (0, "out")
    assert json.loads(Path("out/private/record.json").read_text())["seed"] == 12345678901234567890
    assert "wrote out" in Path("log").read_text()
    monkeypatch.setenv("SHOAL_PROTECT_DRY_RUN", "true")
    assert json.loads(run("protect", "in.csv", "--overwrite")[1])["dry run"] is True


def test_a_dry_run_proves_and_writes_nothing(run: Run) -> None:
    before = sorted(Path().iterdir())
    status, out, _ = run(*PROTECT, "--dry-run")
    assert (status, "proved    3-anonymity" in out, "nothing was written" in out) == (0, True, True)
    assert run(*REFUSED, "--dry-run")[0] == 3
    Path("nothing.yaml").write_text(PLAN.split("requirements")[0])
    before.append(Path("nothing.yaml"))
    unproved = ("protect", "in.csv", "--plan", "nothing.yaml", "--out", "out", "--dry-run")
    assert run(*unproved)[0] == 3
    assert run(*unproved, "--unproved")[0] == 0
    assert sorted(Path().iterdir()) == sorted(before)


@pytest.mark.parametrize(
    "command", [PROTECT[:-1], ("demo", "--out"), ("explore", "in.csv", "--plan", "plan.yaml", "--out")]
)
def test_output_to_a_pipe_is_refused(run: Run, command: tuple[str, ...]) -> None:
    status, _, err = run(*command, "-")
    assert status == 2
    assert "it cannot be a pipe: name a place." in err


def test_an_audit_for_a_build_server(run: Run) -> None:
    """By hand: rows 1 and 2 are alone with their values, rows 3 to 12 share theirs."""
    pl.DataFrame({"a": [1, 2] + [3] * 10, "b": [0] * 12, "c": range(12)}).write_csv("vendor.csv")
    written = ("--report", "page.html", "--junit", "verdicts.xml", "--failing", "rows.csv")
    status, out, _ = run("audit", "vendor.csv", "--plan", "plan.yaml", *written, "--json")
    assert (status, json.loads(out)["exit status"]) == (3, 3)
    suite = ElementTree.parse("verdicts.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testsuite/testcase[@name='3-anonymity']/failure")
    assert failure is not None
    assert failure.get("message", "").startswith("2 classes with 2 records in all are smaller than 3")
    assert Path("rows.csv").read_text() == "requirement,row\n3-anonymity,1\n3-anonymity,2\n"
    assert "1 of 1 requirement refuted." in Path("page.html").read_text()
    assert [stat.S_IMODE(Path(p).stat().st_mode) for p in ("page.html", "verdicts.xml", "rows.csv")] == [
        0o600,
        0o644,
        0o600,
    ]


def test_verdicts_on_the_original_are_for_their_owner_only(run: Run) -> None:
    """A bound on a loss is a figure of the original; so is the file that tells of it."""
    Path("bound.yaml").write_text(
        PLAN.replace("k-anonymity, k: 3}", "k-anonymity, k: 3}, {utility: il1s, at most: 1000000}")
    )
    assert run("protect", "in.csv", "--plan", "bound.yaml", "--out", "out")[0] == 0
    where = ("--original", "in.csv", "--private", "out/private", "--junit", "verdicts.xml")
    assert run("audit", "out/release/data.csv", "--plan", "bound.yaml", *where)[0] == 0
    assert stat.S_IMODE(Path("verdicts.xml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("requirement", "rule"),
    [
        ("{privacy: l-diversity, l: 2}", ""),
        ("{privacy: k-anonymity, k: 2, missing: nothing}", ""),
        ("{privacy: k-anonymity, k: 1}", "constraints: ['c >= 2']"),
    ],
)
def test_rows_that_fail_other_requirements(run: Run, requirement: str, rule: str) -> None:
    """By hand: rows 1 and 2 are alone, so that their classes have one value; and their c is below 2."""
    pl.DataFrame({"a": [1, 2] + [3] * 10, "b": [0] * 12, "c": range(12)}).write_csv("vendor.csv")
    Path("plan.yaml").write_text(f"{PLAN.split('requirements')[0]}requirements: [{requirement}]\n{rule}\n")
    assert run("audit", "vendor.csv", "--plan", "plan.yaml", "--failing", "rows.csv")[0] == 3
    assert pl.read_csv("rows.csv")["row"].to_list() == [1, 2]


def test_an_audit_of_nothing_required_fails_on_a_build_server(run: Run) -> None:
    Path("nothing.yaml").write_text(PLAN.split("requirements")[0])
    assert run("audit", "in.csv", "--plan", "nothing.yaml", "--junit", "verdicts.xml")[0] == 3
    assert ElementTree.parse("verdicts.xml").getroot().get("failures") == "1"
