"""The studio at 1 000 000 x 20: start, profile, every action when idle and beside a run, memory, first paint, files.

`python bench/browser.py [RECORDS]`; first paint needs Playwright and Chromium. Seconds are those of the processors, of
all processes but the one that carries the run out, and beside them those that pass, which other work makes longer.
"""

import json
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import shoal.studio

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from studio.running import Running, children, running

RECORDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
TICK = 100.0
"""Of the clock in /proc, in a second."""


def table(n: int) -> pl.DataFrame:
    """Ten columns of categories, ten of numbers."""
    rng = np.random.default_rng(1)
    codes = {f"c{j}": rng.integers(0, 3 + 4 * j, n).astype(str) for j in range(10)}
    return pl.DataFrame({**codes, **{f"x{j}": rng.normal(size=n).round(2) for j in range(10)}})


def cpu(process: int) -> float:
    """Seconds of a process."""
    parts = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICK


def memory(process: int) -> int:
    """Megabytes that a process has taken at most."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def above(process: int) -> int:
    """The process that started another."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


SUPPRESS = {"mask": "suppress", "k": 5}
METHODS = ["mdav", "vmdav", "refined", "univariate", "burel", "consensus", "l-diverse", "p-sensitive"]
COLUMNS = {f"x{j}": "confidential" for j in range(10)} | {f"c{j}": "quasi-identifier" for j in range(3)}
COLUMNS |= {f"c{j}": "other" for j in range(3, 10)}

SHOWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("state", {}),
    ("facts", {}),
    ("methods", {}),
    ("candidates", {}),
    ("exposure", {}),
    ("identifiers", {}),
    ("rows", {"offset": 500_000}),
    ("rows", {"by": "x3"}),
    ("rows", {"by": "c3", "descending": True}),
    ("column", {"name": "x1"}),
    ("column", {"name": "c9"}),
    ("together", {"names": ["x1", "x2"]}),
    ("together", {"names": ["c9", "x2"]}),
    ("categories", {"name": "c9"}),
    ("levels", {"column": "c9", "spec": {"order": [5]}}),
    ("build-hierarchy", {"column": "c9", "how": "order", "sizes": [5, 10]}),
    ("risks", {}),
    ("attribute-sets", {"chosen": ["c0"]}),
    ("follow", {"asked": {"kind": "mean", "of": "x1", "by": ["c1"]}}),
    ("follow", {"asked": {"kind": "model", "of": "x1", "by": ["x2", "c1"]}}),
)
"""What is asked for screens of the original, at any time."""

TRIED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("preview", {"step": 0}),
    ("forecast", {"spec": SUPPRESS}),
    ("forecast", {"spec": {"partition": "mdav", "k": 5}}),
    ("forecast", {"spec": {"partition": "refined", "start": {"method": "mdav", "k": 5}}}),
    ("beginnings", {"methods": [f"partition/{name}" for name in METHODS]}),
    ("beginnings", {"methods": ["mask/suppress"]}),
)
"""What is tried on some records, while nothing is carried out."""

RELEASED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("result", {}),
    ("standing", {}),
    ("extremes", {}),
    ("pairs", {"offset": 1000}),
    ("rows", {"by": "c1"}),
    ("column", {"name": "c1"}),
    ("together", {"names": ["c1", "x2"]}),
    ("risks", {}),
    ("attribute-sets", {"chosen": ["c0"]}),
    ("document", {"what": "private report"}),
    ("compare", {}),
    ("neighbours", {}),
)
"""What is asked for screens of a run."""


def asked(studio: Running, processes: list[int], name: str, given: Any) -> tuple[float, float]:
    """Seconds of some processes, and those that passed, until a question is answered."""
    before, began = sum(map(cpu, processes)), time.perf_counter()
    status, answer = studio.ask(name, given)
    assert status == 200, answer
    passed = time.perf_counter() - began
    return sum(map(cpu, processes)) - before, passed


def table_of(title: str, taken: dict[str, list[tuple[float, float]]]) -> None:
    print(f"{title}: seconds of the processors, and those that passed, in the middle and at most")
    for question, times in taken.items():
        columns = [f"{np.median(of):.2f} {max(of):.2f}" for of in zip(*times, strict=True)]
        print(f"  {' | '.join(columns)}  {question} ({len(times)} times)")


def edited(studio: Running) -> tuple[float, float]:
    began = time.perf_counter()
    studio.act("put", changes=[{"place": ["release", "title"], "value": f"{began}"}], note="title")
    return 0.0, time.perf_counter() - began


def large() -> None:
    with TemporaryDirectory() as folder:
        table(RECORDS).write_parquet(Path(folder) / "people.parquet")
        with running(Path(folder)) as studio:
            studio.enter()
            one, other = children(studio.process.pid)
            server = above(above(one))  # between them is the one that is copied
            print(f"start: {cpu(server):.2f} s of CPU")
            idle = {process: cpu(process) for process in (one, other)}
            studio.act("open", path="people.parquet")
            studio.idle()
            print(f"open and profile: {max(cpu(p) - idle[p] for p in idle):.2f} s of CPU")
            text = json.dumps({"columns": COLUMNS, "steps": [SUPPRESS], "accept": [f"x{j}" for j in range(10)]})
            studio.act("edit", text=text)
            everybody = [server, one, other]
            idle_times = {f"{n} {json.dumps(g)}": [asked(studio, everybody, n, g)] for n, g in SHOWN + TRIED}
            table_of("when idle, first time", idle_times)
            again = {f"{n} {json.dumps(g)}": [asked(studio, everybody, n, g)] for n, g in SHOWN + TRIED}
            table_of("when idle, again", again)
            studio.act("run")
            keeper = min((one, other), key=lambda process: cpu(process) - idle[process])
            beside: dict[str, list[tuple[float, float]]] = {}
            while studio.ask("state")[1]["job"] is not None:
                for name, given in SHOWN:
                    beside.setdefault(f"{name} {json.dumps(given)}", []).append(
                        asked(studio, [server, keeper], name, given)
                    )
                beside.setdefault("an edit", []).append(edited(studio))
            table_of("while it runs", beside)
            print(f"last run: {studio.idle()['runs'][-1:]}, notice {studio.idle()['notice']}")
            if (number := studio.idle()["runs"][-1]["number"]) and studio.idle()["runs"][-1]["released"]:
                after = {
                    f"{n} {json.dumps(g)}": [
                        asked(studio, everybody, n, {**g, **({"run": number} if n != "compare" else {})})
                    ]
                    for n, g in RELEASED
                }
                table_of("of the run, first time", after)
            print(
                f"memory: server {memory(server)} MB, the two that hold the table {memory(one)} and {memory(other)} MB"
            )


def first_paint() -> None:
    if (chromium := shutil.which("chromium")) is None:
        return
    from playwright.sync_api import sync_playwright

    with TemporaryDirectory() as folder, running(Path(folder)) as studio, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.goto(studio.address)
        page.wait_for_selector("text=Open a table")
        paints = "performance.getEntriesByType('paint').map((p) => [p.name, p.startTime])"
        print(f"paint: {page.evaluate(paints)} ms")
        browser.close()


def main() -> None:
    static = Path(shoal.studio.__file__).parent / "static"
    sizes = {part: sum(p.stat().st_size for p in static.glob(part)) for part in ("vendor/*.js", "*.*")}
    print(f"vendored scripts {sizes['vendor/*.js'] / 1e3:.0f} kB, own {sizes['*.*'] / 1e3:.0f} kB")
    first_paint()
    large()


if __name__ == "__main__":
    main()
