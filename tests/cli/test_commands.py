"""The command line: one clear line for every mistake, documented exit statuses, nothing half written."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from ruamel.yaml import YAML

import shoal
from command_line import Run
from shoal import cli
from shoal.cli.terminal import Terminal
from shoal.vocabulary.errors import synonyms_of
from shoal.vocabulary.registry import registered, spec_of

PLAN = """
columns: {a: quasi-identifier, b: quasi-identifier, c: confidential}
steps: [{partition: mdav, k: 3}]
requirements: [{privacy: k-anonymity, k: 3}]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    frame = pl.DataFrame(
        {"a": range(12), "b": [i % 4 for i in range(12)], "c": [1.5 * (5 * i % 12) for i in range(12)]}
    )
    frame.write_csv(tmp_path / "in.csv")
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def protect(run: Run, files: Path, *more: Any, data: str = "in.csv") -> tuple[int, str, str]:
    return run("protect", files / data, "--plan", files / "plan.yaml", "--out", files / "out", *more)


def test_protect_then_audit_then_a_forged_cell(run: Run, files: Path) -> None:
    status, out, _ = protect(run, files)
    assert status == 0
    assert "proved    3-anonymity" in out
    released = files / "out" / "release" / "data.csv"
    status, out, _ = run(
        "audit",
        released,
        "--plan",
        files / "plan.yaml",
        "--original",
        files / "in.csv",
        "--private",
        files / "out" / "private",
    )
    assert (status, "proved    3-anonymity" in out) == (0, True)
    frame = pl.read_csv(released)
    frame.with_columns(a=pl.when(pl.int_range(pl.len()) == 0).then(99.0).otherwise("a")).write_csv(released)
    status, out, _ = run("audit", released, "--plan", files / "plan.yaml")
    assert (status, "REFUTED   3-anonymity" in out) == (3, True)


def test_json_for_programs(run: Run, files: Path) -> None:
    status, out, _ = run("--json", "protect", files / "in.csv", "--plan", files / "plan.yaml", "--out", files / "out")
    report = json.loads(out)
    assert status == 0
    assert report["requirements"][0]["holds"] is True


def test_quiet(run: Run, files: Path) -> None:
    assert run("-q", "protect", files / "in.csv", "--plan", files / "plan.yaml", "--out", files / "out") == (0, "", "")


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda files: (files / name).write_text((files / name).read_text().replace(old, new)) and None


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (edit("plan.yaml", "c: confidential", "c: confidential, d: other"), "The table has no column 'd'"),
        (edit("plan.yaml", "mdav, k: 3", "mdav, k: 13"), "k must be an integer in [1, 12] (the table has 12 records)"),
        (edit("plan.yaml", "mdav", "mdaw"), "Unknown partition 'mdaw'; did you mean 'mdav'"),
        (edit("plan.yaml", "a: quasi-identifier", "a: {role: quasi-identifier, level: continuous}"), None),
        (edit("in.csv", "\n3,", "\nx,"), "have"),
        (edit("in.csv", "\n3,", "\nInf,"), "Column 'a' has 1 infinite value"),
        (edit("in.csv", "\n3,", "\n,"), "Column 'a' has 1 missing value"),
        (edit("in.csv", "a,b,c", "a,a,c"), "'a' occurs more than once"),
        (lambda files: (files / "in.csv").write_bytes(b""), "is empty"),
        (lambda files: (files / "in.csv").write_bytes(b"a,b,c\n\x81\x00,1,2\n"), "cannot be read as text"),
        (lambda files: (files / "in.csv").unlink(), "There is no file"),
        (lambda files: (files / "plan.yaml").unlink(), "cannot be read"),
        (lambda files: (files / "out").write_text("in the way"), "cannot be written"),
    ],
)
def test_bad_input_is_one_clear_message_and_no_output(
    run: Run, files: Path, damage: Callable[[Path], None], message: str | None
) -> None:
    if message == "have":  # text among the numbers of a column that the plan calls continuous
        edit("plan.yaml", "a: quasi-identifier", "a: {role: quasi-identifier, level: continuous}")(files)
        message = "Column 'a' holds text but its level is continuous"
    damage(files)
    status, out, err = protect(run, files)
    if message is None:
        assert status == 0
        return
    assert status == 2
    assert message in err
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1
    assert not (files / "out").is_dir()


def test_a_requirement_not_met_ends_with_3_and_writes_nothing(run: Run, files: Path) -> None:
    edit("plan.yaml", "k-anonymity, k: 3", "k-anonymity, k: 4")(files)
    status, _, err = protect(run, files)
    assert status == 3
    assert "4-anonymity does not hold (required 4, achieved 3)" in err
    assert not (files / "out").exists()


def test_a_refusal_is_written_as_a_private_page(run: Run, files: Path) -> None:
    (files / "plan.yaml").write_text(PLAN.replace("k-anonymity, k: 3", "k-anonymity, k: 30"))
    status, _, _ = protect(run, files, "--refusal", files / "why.html")
    assert status == 3
    assert "30-anonymity" in (files / "why.html").read_text(encoding="utf-8")
    assert (files / "why.html").stat().st_mode & 0o777 == 0o600
    assert not (files / "out").exists()


def test_an_unexpected_error_shows_no_cell(run: Run, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the value 424242 of a cell")

    monkeypatch.setattr(shoal, "protect", broken, raising=False)
    status, _, err = protect(run, files)
    assert status == 1
    assert "424242" not in err
    assert "unexpected RuntimeError" in err


def test_init_writes_a_plan_that_works(run: Run, files: Path) -> None:
    status, out, _ = run("init", files / "in.csv")
    assert status == 0
    assert "# " in out
    (files / "plan.yaml").write_text(out)
    assert set(shoal.Plan.read(files / "plan.yaml").schema.columns) == {"a", "b", "c"}


def test_demo(run: Run, tmp_path: Path) -> None:
    status, out, _ = run("demo", "--out", tmp_path / "demo", "--records", 120)
    assert status == 0
    assert (tmp_path / "demo" / "release" / "report.html").is_file()
    assert "report.html" in out
    assert run("demo", "--out", tmp_path / "demo", "--records", 120)[0] == 0  # a demo may be repeated


def test_linked_tables_from_nothing(run: Run, tmp_path: Path) -> None:
    hospital = tmp_path / "hospital"
    status, out, _ = run("demo", "--tables", "--out", hospital)
    assert status == 0
    command = out.splitlines()[-1].split()
    assert command[:2] == ["shoal", "protect"]
    assert run(*command[1:], "--dry-run")[0] == 0
    assert "parent: stays" in run("init", hospital)[1]
    status, _, error = run("demo", "--tables", "--out", hospital)
    assert (status, "is not a release" in error) == (2, True)


@pytest.mark.parametrize("entry", registered(), ids=lambda entry: f"{entry.kind}-{entry.name}")
def test_a_method_is_shown_with_examples_that_work(run: Run, entry: Any) -> None:
    status, out, _ = run("methods", entry.name)
    assert status == 0
    assert entry.source in out
    described = json.loads(run("--json", "methods", entry.name)[1])[f"{entry.kind}: {entry.name}"]
    assert set(described["parameters"]) == set(entry.parameters)
    assert described["yaml"] in out
    made = eval(described["python"], {"shoal": shoal})
    section = {"privacy": "requirements", "risk": "measures", "utility": "measures"}.get(entry.kind, "steps")
    shown = YAML(typ="safe").load(described["yaml"])
    plan = shoal.Plan.of({"columns": {"age": "quasi-identifier", "income": "confidential"}, section: [shown]})
    place = plan.as_mapping()[section][0]
    spec = place["replace"] if entry.kind == "replace" else place
    assert {key: spec[key] for key in entry.example} == {key: spec_of(made)[key] for key in entry.example}


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        ("localSuppression", ["suppress"]),
        ("microaggregation", ["mdav", "microaggregate-columns"]),
        ("addNoise", ["noise"]),
        ("GADP", ["ipso"]),
        ("EGADP", ["ipso"]),
        ("C-GADP", ["shuffle"]),
        ("data shuffling", ["shuffle"]),
        ("DR/IL", ["distance-linkage", "interval-disclosure", "pil", "probabilistic-linkage"]),
        ("probabilistic information loss", ["pil"]),
        ("conditional entropy", ["label-loss"]),
        ("communalities", ["principal-components"]),
        ("Rounding", ["round"]),
        ("resampling", ["resample"]),
        ("compound PRAM", ["pram"]),
        ("weighted linkage", ["distance-linkage"]),
        ("supervised linkage", ["distance-linkage"]),
        ("permutation paradigm", ["permutation-distance"]),
        ("reverse mapping", ["permutation-distance"]),
        ("burel", ["burel"]),
        ("mvTopCoding", ["multivariate-top-code"]),
        ("trimmed mean", ["centroid"]),
        ("k^m-anonymity", ["k-anonymity", "known-records"]),
    ],
)
def test_words_of_the_literature_and_of_other_tools_find_methods(run: Run, words: str, listed: list[str]) -> None:
    status, out, _ = run("--json", "methods", *words.split())
    assert status == 0
    assert sorted(key.split(": ")[1] for key in json.loads(out)) == listed


def test_words_that_no_method_has(run: Run) -> None:
    status, _, err = run("methods", "mdaw")
    assert status == 2
    assert "Unknown method or kind 'mdaw'; did you mean 'mdav'?" in err


def test_the_score_is_found_by_its_name() -> None:
    assert set(synonyms_of("DR/IL")) == {entry.name for entry in registered() if getattr(entry.cls, "score_weight", 0)}


@pytest.mark.parametrize(("said", "meant"), [("key", "quasi-identifier"), ("sensitive", "confidential")])
def test_roles_of_other_tools_are_understood(run: Run, files: Path, said: str, meant: str) -> None:
    (files / "plan.yaml").write_text(f"columns: {{a: {said}}}")
    status, _, err = protect(run, files)
    assert status == 2
    assert f"did you mean '{meant}'?" in err


def test_methods_lists_the_whole_registry(run: Run) -> None:
    status, out, _ = run("--json", "methods")
    assert status == 0
    assert len(json.loads(out)) == len(registered())
    assert "mdav" in run("methods", "partition")[1]


def test_schema_is_json(run: Run) -> None:
    assert json.loads(run("schema")[1])["title"] == "shoal plan"


@pytest.mark.parametrize("command", sorted(cli.cli.commands))
def test_every_command_helps(run: Run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert "shoal " in out


def test_wrong_use(run: Run) -> None:
    assert run("protekt")[0] == 2
    assert run("--version")[1].startswith("shoal, version")


def test_explore_and_compare(run: Run, files: Path) -> None:
    with (files / "plan.yaml").open("a") as plan:
        plan.write("explore: {method: [mdav], k: [3, 4]}\n")
    edit("plan.yaml", "steps: [{partition: mdav, k: 3}]", "steps: []")(files)
    explore = ("explore", files / "in.csv", "--plan", files / "plan.yaml", "--out", files / "explored")
    status, out, _ = run(*explore, "--dry-run", "--json")
    assert (status, json.loads(out)["candidates"], json.loads(out)["kept"]) == (0, ["mdav k=3", "mdav k=4"], 0)
    assert "2 of 2 candidates would be tried; nothing was written." in run(*explore, "--dry-run")[1]
    assert not (files / "explored").exists()
    status, out, _ = run(*explore)
    assert status == 0
    assert "0 of 2 candidates would be tried" in run(*explore, "--dry-run")[1]
    assert re.search(r"1 +│ mdav k=", out)
    assert "the table unprotected" in out
    for k in (3, 4):
        plan_file = files / "explored" / "plans" / f"mdav-k-{k}.yaml"
        assert run("protect", files / "in.csv", "--plan", plan_file, "--out", files / f"out{k}")[0] == 0
    status, out, _ = run("--json", "compare", files / "out3", files / "out4", "--out", files / "page.html")
    assert status == 0
    assert len(json.loads(out)["rows"][0]["cells"]) == 2
    assert "side by side" in (files / "page.html").read_text()
    assert stat.S_IMODE((files / "page.html").stat().st_mode) == 0o600, "its figures are private"
    for k in (3, 4):
        shutil.copytree(files / f"out{k}" / "release", files / f"sent{k}" / "release")
    assert run("compare", files / "sent3", files / "sent4", "--out", files / "public.html")[0] == 0
    assert stat.S_IMODE((files / "public.html").stat().st_mode) == 0o644
    assert run("compare", files)[0] == 2
    assert run("compare", files / "out3", files / "out4")[2] == ""
    record = files / "out4" / "private" / "record.json"
    recorded = json.loads(record.read_text())
    record.write_text(json.dumps({**recorded, "input": {**recorded["input"], "sha256": "0", "sha256 of cells": "0"}}))
    assert "tables with different cells" in run("compare", files / "out3", files / "out4")[2]
    record.write_text(json.dumps({**recorded, "input": {**recorded["input"], "records": 7}}))
    status, _, err = run("compare", files / "out3", files / "out4")
    assert status == 2
    assert "are releases of different tables: one has" in err
    assert "private: not to leave the building" in (files / "page.html").read_text()


@pytest.mark.parametrize(
    "content", ["{}", "[" * 100_000, '{"version": 3}', '{"version": 2, "requirements": [1], "measures": []}', "\0"]
)
def test_evidence_that_is_none_is_not_compared(run: Run, files: Path, content: str) -> None:
    assert protect(run, files)[0] == 0
    (files / "out" / "private" / "evidence.json").write_text(content)
    status, _, err = run("compare", files / "out")
    assert (status, len(err.strip().splitlines())) == (2, 1)
    assert "cannot be" in err


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "[" * 100_000,
        '{"input": null, "plan": null}',
        '{"input": {"records": 1e999}, "plan": {"columns": 5}}',
        '{"input": {"records": [1]}, "plan": {"columns": {}}}',
        '{"input": {"records": 12, "sha256": {"a": 1}}, "plan": {"columns": ["a"]}}',
    ],
)
def test_a_record_that_is_none_is_not_compared(run: Run, files: Path, content: str) -> None:
    assert protect(run, files)[0] == 0
    (files / "out" / "private" / "record.json").write_text(content)
    status, _, err = run("compare", files / "out")
    assert (status, len(err.strip().splitlines())) == (2, 1)
    assert "record.json' cannot be read as the record of a release. Check the directory." in err


def test_without_private_folders_the_public_evidence_is_compared(run: Run, files: Path) -> None:
    assert protect(run, files)[0] == 0
    (files / "out" / "private" / "evidence.json").unlink()
    status, out, _ = run("--json", "compare", files / "out")
    assert (status, json.loads(out)["private"]) == (0, False)


def test_an_exploration_does_not_write_into_a_release(run: Run, files: Path) -> None:
    assert protect(run, files)[0] == 0
    status, _, err = run("explore", files / "in.csv", "--plan", files / "plan.yaml", "--out", files / "out")
    assert (status, "is a release" in err) == (2, True)
    assert sorted(p.name for p in (files / "out").iterdir()) == ["private", "release"]


def test_a_report_shows_only_the_exploration_that_its_plan_is_of(run: Run, files: Path) -> None:
    (files / "ranges.yaml").write_text(
        PLAN.replace("steps: [{partition: mdav, k: 3}]", "explore: {method: [mdav], k: [3, 4]}")
    )
    assert run("explore", files / "in.csv", "--plan", files / "ranges.yaml", "--out", files / "tried")[0] == 0
    tried = ("--exploration", files / "tried")
    assert protect(run, files, *tried)[0] == 0
    assert "mdav k=4" in (files / "out" / "private" / "report.html").read_text()
    assert "mdav k=4" not in (files / "out" / "release" / "report.html").read_text()
    (files / "plan.yaml").write_text(PLAN.replace("k: 3", "k: 6"))
    status, _, err = protect(run, files, "--overwrite", *tried)
    assert (status, "has the steps of this plan" in err) == (2, True)
    status, _, err = protect(run, files, "--overwrite", "--exploration", files)
    assert (status, "cannot be read as the record of an exploration" in err) == (2, True)


def test_what_is_no_release_is_not_overwritten_even_on_request(run: Run, files: Path) -> None:
    (files / "out").mkdir()
    (files / "out" / "letter").write_text("kept")
    status, out, err = protect(run, files, "--overwrite")
    assert (status, out, "holds something that is not a release" in err) == (2, "", True)
    assert (files / "out" / "letter").read_text() == "kept"


LIMITS = {"csv": 9000, "parquet": 5000, "xlsx": 9000, "sav": 9000, "dta": 9000, "xpt": 90000, "rds": 9000}
"""Bytes that a file may have, by format: less than the table needs."""

LIMITED = """
import resource, sys
from shoal.cli import main
for word in sys.argv[1:]:
    form, limit = word.split("=")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
    sys.argv = ["shoal", "protect", "in.csv", "--plan", f"{form}.yaml", "--out", "out"]
    try:
        main()
    except SystemExit as end:
        print(end.code, file=sys.stderr)
"""


def test_a_disk_that_takes_no_more(files: Path) -> None:
    """Files of the process may not grow beyond a limit, as on a full disk; one process tries all formats."""
    n = 6_000
    pl.DataFrame(
        {"a": [i % 5 for i in range(n)], "b": [i % 4 for i in range(n)], "c": [1.5 * i for i in range(n)]}
    ).write_csv(files / "in.csv")
    for form in LIMITS:
        (files / f"{form}.yaml").write_text(f"{PLAN}output: {{format: {form}}}\n")
    there = sorted(files.iterdir())
    whole = {"PYTHONDONTWRITEBYTECODE": "1"}  # half a file of bytecode would stay, for others to load
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **whole}
    command = [sys.executable, "-c", LIMITED, *(f"{form}={limit}" for form, limit in LIMITS.items())]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=files, check=False)
    lines = done.stderr.splitlines()
    assert lines[1::2] == ["2"] * len(LIMITS), done.stderr
    for form, sentence in zip(LIMITS, lines[::2], strict=True):
        assert re.match(
            rf"shoal: Output '.*/out/(release/data\.{form}|private/\w+\.\w+)' (cannot be|was not) written", sentence
        )
    assert sorted(files.iterdir()) == there


def test_output_that_cannot_be_named_or_printed(run: Run, files: Path) -> None:
    status, _, err = run("protect", files / "in.csv", "--plan", files / "plan.yaml", "--out", files / ("x" * 300))
    assert (status, len(err.splitlines())) == (2, 1)
    assert "cannot be written" in err
    if Path("/dev/full").exists():
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "shoal", "schema"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                env=environment,
                check=False,
            )
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1
        assert "No space left on device" in done.stderr


def test_a_note_where_one_bad_cell_makes_a_column_text(run: Run, files: Path) -> None:
    edit("in.csv", "\n3,", "\n3x,")(files)
    status, out, err = protect(run, files)
    assert status == 0
    assert err.startswith(
        "shoal: note: Column 'a' is read as text, because 1 of 12 cells is no number (the first in record 4)."
    )
    assert "3x" not in out + err
    assert "Column 'a'" in run("init", files / "in.csv")[2]
    edit("plan.yaml", "a: quasi-identifier", "a: {role: quasi-identifier, level: nominal}")(files)
    assert "read as text" not in protect(run, files, "--overwrite")[2]  # whoever says the level knows


def test_reading_options(run: Run, files: Path) -> None:
    (files / "in.csv").write_text((files / "in.csv").read_text().replace(",", ";").replace(".", ","))
    status, _, err = protect(run, files)
    assert (status, "holds numbers with a comma" in err) == (0, True)
    status, _, err = protect(run, files, "--overwrite", "--decimal", ",")
    assert (status, "comma" in err) == (0, False)
    assert pl.read_csv(files / "out" / "release" / "data.csv")["c"].dtype == pl.Float64


def test_columns_that_do_not_match_the_plan_are_told_both_ways(run: Run, files: Path) -> None:
    edit("in.csv", "a,b,c", "a, b,c")(files)
    status, _, err = protect(run, files)
    assert status == 2
    assert "Columns without a role: ' b'." in err
    assert "The plan has 'b', which the table lacks." in err


def test_names_stay_whole_in_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shoal.cli.terminal.WIDE", 40)
    Terminal().table(["room", "method"], [["privacy and more words", "probabilistic-k-anonymity [bold]"]])
    lines = [line.split("│")[2] for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert "".join(line.strip() for line in lines).replace(" ", "") == "probabilistic-k-anonymity[bold]"
