"""Every answer on the page of tasks is run: commands, entries of plans, and expressions of Python."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shoal
from shoal import cli
from shoal.report.decision import decision
from shoal.table.files.table import Table
from shoal.table.files.tables import write_table
from shoal.table.yaml_text import parse_yaml

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "tasks.md"
ROWS = [
    (task, done, how)
    for task, done, how in re.findall(r"^\| (.+?) \| (.+?) \| (.+) \|$", PAGE.read_text(), re.M)
    if task not in ("task", "---")
]
RUN = r"(?<!`)`(?!`)([^`]+)`"
"""An answer that can be run."""

COLUMNS: dict[str, Any] = {
    "person": "identifier",
    "household": "identifier",
    "age": {"role": "quasi-identifier", "decimals": 0},
    "sex": "quasi-identifier",
    "region": "quasi-identifier",
    "wage": {"role": "other", "missing": "keep"},
    "other": {"role": "other", "missing": "keep"},
    "income": {"role": "confidential", "missing": "keep", "decimals": 2},
    "weight": "weight",
}
PLAN = {
    "columns": COLUMNS,
    "steps": [{"partition": "mdav", "k": 5}],
    "requirements": [{"privacy": "k-anonymity", "k": 5}],
    "accept": ["wage", "other", "weight"],
}
SUF = """
columns:
  person: identifier
  household: household
  age: quasi-identifier
  sex: quasi-identifier
  region: quasi-identifier
  wage: identifier
  other: identifier
  income: {role: confidential, missing: keep}
  weight: identifier
steps:
  - {mask: recode, columns: [age], width: 10}
  - {mask: suppress, k: 3}
requirements: [{privacy: k-anonymity, k: 3, missing: wildcard}]
output: {format: FORMAT}
"""
NIGHTLY = """
columns:
  {age: quasi-identifier, sex: quasi-identifier, area: quasi-identifier, charge: {role: confidential, missing: keep}}
steps: [{mask: recode, columns: [area], prefix: 3}, {mask: recode, columns: [age], width: 30}, {mask: suppress, k: 3}]
requirements: [{privacy: k-anonymity, k: 3, missing: wildcard}]
output: {format: parquet}
"""
BORN = """
columns: {age: quasi-identifier, born: confidential}
steps: [{partition: mdav, k: 5}]
requirements: [{privacy: k-anonymity, k: 5}]
accept: []
"""


def survey() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    home = np.repeat(np.arange(50), rng.choice([1, 2, 3], 50))
    n = len(home)
    wage, more = rng.lognormal(7.5, 0.6, n).round(2), rng.lognormal(5, 0.5, n).round(2)
    frame = pl.DataFrame(
        {
            "person": np.arange(1, n + 1),
            "household": home,
            "age": rng.integers(16, 95, n),
            "sex": rng.choice(["f", "m"], n),
            "region": np.array(["north", "east", "south"])[home % 3],
            "wage": wage,
            "other": more,
            "income": (wage + more).round(2),
            "weight": rng.uniform(40, 160, 50).round(1)[home],
        }
    )
    silent = pl.Series(rng.random(n) < 0.1)
    return frame.with_columns(pl.when(~silent).then(pl.col(name)).alias(name) for name in ("wage", "other", "income"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files that the page speaks of, in a folder in which the answers are run."""
    folder, before = tmp_path_factory.mktemp("tasks"), Path.cwd()
    os.chdir(folder)
    people = survey()
    labels = {"age": "age in years", "weight": "sampling weight", "income": "monthly income"}
    for name in ("survey.sav", "survey.dta", "survey.rds"):
        write_table(Table(frame=people, labels=labels), Path(name))
    people.write_csv("survey.csv")
    people.write_parquet("survey.parquet")
    Path("semicolons.csv").write_text("a;b\n1,5;2\n2,5;3\n")
    visits = shoal.example("hospital", n=240, seed=1).select("patient", "age", "sex", "area", "charge")
    visits = visits.with_columns(patient=pl.int_range(pl.len()) // 2)
    visits.write_csv("visits.csv")
    _months(visits)
    pl.DataFrame({"age": people["age"], "born": 2026 - people["age"]}).write_csv("born.csv")
    shoal.protect(people, PLAN, seed=1).write("release-1")
    ranges = {**PLAN, "explore": {"method": ["mdav"], "k": [3, 6]}}
    plans = {"plan": PLAN, "strict": _strict(), "ranges": ranges}
    for name, plan in plans.items():
        Path(f"{name}.yaml").write_text(json.dumps(plan))
    for name, text in {
        "suf": SUF.replace("FORMAT", "sav"),
        "puf": SUF.replace("FORMAT", "dta")
        .replace("k: 3", "k: 5")
        .replace("region: quasi-identifier", "region: identifier"),
        "nightly": NIGHTLY,
        "born": BORN,
    }.items():
        Path(f"{name}.yaml").write_text(text)
    yield folder
    os.chdir(before)


def _months(visits: pl.DataFrame) -> None:
    import duckdb

    Path("months").mkdir()
    Path("uneven").mkdir()
    for month, start in enumerate(range(0, 240, 80), 1):
        part = visits.drop("patient")[start : start + 80]
        part.write_parquet(f"months/2026-0{month}.parquet")
        (part.drop("charge") if month == 3 else part).write_parquet(f"uneven/2026-0{month}.parquet")
    with duckdb.connect("visits.duckdb") as base:
        base.execute("create table visits as select * from 'survey.parquet'")


def _strict() -> dict[str, Any]:
    return {**PLAN, "requirements": [{"privacy": "k-anonymity", "k": 50}]}


def command(line: str) -> None:
    """A command as a shell runs it, with the exit status that the page states."""
    words, _, expected = line.removeprefix("$ ").partition(" # exit status ")
    words, _, target = words.partition(" > ")
    printed, messages = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(printed), redirect_stderr(messages):
        patched.setattr("sys.argv", shlex.split(words))
        with pytest.raises(SystemExit) as end:
            cli.main()
    assert int(end.value.code or 0) == int(expected or 0), f"{printed.getvalue()}\n{messages.getvalue()}"
    if target:
        Path(target).write_text(printed.getvalue())


def entry(text: str) -> None:
    """An entry of a plan, in the plan of the survey where it belongs."""
    item = parse_yaml(text, "the page")
    frame, plan = survey(), {**PLAN, "requirements": []}
    if "visits" in item:
        frame = pl.read_csv("visits.csv")
        roles = {name: "confidential" if name == "charge" else "quasi-identifier" for name in frame.columns}
        plan = {"columns": roles | item["visits"], "steps": [{"partition": "mdav", "k": 3}]}
        plan["requirements"] = [{"privacy": "k-anonymity", "k": 3}]
        assert shoal.protect(frame, plan, seed=1).evidence.verdicts[0].requirement.startswith("3-anonymity of persons")
        return
    if "mask" in item or "partition" in item:
        plan["steps"] = [item]
    elif "privacy" in item or {"at most", "at least"} & set(item):
        plan["requirements"] = [item]
    elif "risk" in item or "utility" in item:
        plan["measures"] = [item]
        if item.get("risk") == "household-risk":
            plan["columns"] = COLUMNS | {"household": "household"}
            plan["steps"] = []
    elif "columns" in item:
        plan["columns"] = COLUMNS | item["columns"]
        plan["steps"] = [{"partition": "mdav", "k": 5, "unit": "record", "small_strata": "merge"}]
    elif "ledger" in item:
        columns = {name: role for name, role in COLUMNS.items() if name != "person"} | {"person": "person"}
        Path("monthly.yaml").write_text(json.dumps({**PLAN, "columns": columns, **item}))
        return
    else:
        plan |= item
    release = shoal.protect(frame, plan, seed=1)
    assert len(release.data) > 0
    if "output" in item:
        release.write(f"as-{item['output']['format']}", unproved=True)
    if "measures" in plan:
        name = next(iter(plan["measures"][0].values()))
        assert [f for f in release.evidence.findings if f.measure == name and f.value is not None], name


def said(folder: str, label: str) -> str:
    head = decision(json.loads(Path(folder, "private", "evidence.json").read_text()))
    sentences = next(point.sentences for point in head.points if point.label == label)
    assert all(sentences)
    return " ".join(sentences)


def head(folder: str) -> str:
    judged = decision(json.loads(Path(folder, "release", "evidence.json").read_text()))
    assert judged.word and judged.heading
    return judged.heading


def pages(folder: str) -> list[Path]:
    both = [Path(folder, part, "report.html") for part in ("private", "release")]
    assert all(page.stat().st_size > 1000 for page in both)
    return both


def same_bytes(table: str, plan: str) -> None:
    for number in (1, 2):
        shoal.protect(table, plan, f"bytes-{number}", seed=5, overwrite=True)
    one, two = (Path(f"bytes-{number}", "release", "data.csv").read_bytes() for number in (1, 2))
    assert one == two


def interrupted(table: str, plan: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"}
    line = [sys.executable, "-m", "shoal", "--log", "-", "protect", table, "--plan", plan, "--out", "stopped"]
    with subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        next(iter(process.stderr or ()))  # it has begun
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode in (0, 130)
    assert not [path for path in Path().iterdir() if path.name.startswith(".stopped")]
    assert process.returncode == 0 or not Path("stopped").exists()


def refused(call: Callable[..., Any], *given: Any) -> shoal.Refused:
    with pytest.raises(shoal.Refused) as refusal:
        call(*given)
    return refusal.value


def shipped(name: str) -> None:
    text = (PAGE.parents[2] / name).read_text()
    assert re.search(r"^USER (?!root)", text, re.M), "it runs as somebody who is not root"


@cache
def names() -> Mapping[str, Any]:
    """What expressions of the page speak of."""
    return {
        **{f.__name__: f for f in (said, head, pages, same_bytes, interrupted, refused, shipped)},
        "shoal": shoal,
        "plan": PLAN,
        "strict": _strict(),
        "survey": survey(),
        "visits": pl.read_csv("visits.csv"),
        "release": shoal.protect(survey(), PLAN, seed=1),
    }


@pytest.mark.parametrize(("task", "done", "how"), ROWS, ids=[task[:60] for task, *_ in ROWS])
def test_the_answer_is_run(task: str, done: str, how: str, place: Path) -> None:
    assert done == "yes"
    answers = 0
    for text in re.findall(RUN, how):
        if text.startswith("$ shoal"):
            command(text)
        elif text.startswith("{"):
            entry(text)
        elif text.endswith((")", "labels", ".data")) or "(" in text:
            eval(text, dict(names()))
        else:
            continue  # a name of a file or a word
        answers += 1
    assert answers, "nothing of this answer can be run"


def test_no_task_is_left_out() -> None:
    """Ten, eleven, twelve and six tasks of newcomers; twelve, nineteen, ten and six of sdcApp."""
    sections = PAGE.read_text().split("\n## ")[1:]
    assert [section.count("| yes |") for section in sections] == [10, 11, 12, 6, 12, 19, 10, 6]
