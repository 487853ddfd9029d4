"""The studio at 1 000 000 x 20: start, profile, answers while a run is under way, memory, first paint, vendored files.

`python bench/browser.py [RECORDS]`; first paint needs Playwright and Chromium.
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


def server_of(studio: Running) -> int:
    """The process that answers: above the two that hold the table."""
    stat = Path(f"/proc/{children(studio.process.pid)[0]}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


def seconds(studio: Running, name: str, **given: Any) -> float:
    began = time.perf_counter()
    status, answer = studio.ask(name, given)
    assert status == 200, answer
    return time.perf_counter() - began


def large() -> None:
    with TemporaryDirectory() as folder:
        table(RECORDS).write_parquet(Path(folder) / "people.parquet")
        with running(Path(folder)) as studio:
            studio.enter()
            server, (one, other) = server_of(studio), children(studio.process.pid)
            print(f"start: {cpu(server):.2f} s of CPU")
            idle = {process: cpu(process) for process in (one, other)}
            studio.act("open", path="people.parquet")
            studio.idle()
            print(f"open and profile: {max(cpu(p) - idle[p] for p in idle):.2f} s of CPU")
            known = [{"place": ["columns", f"x{j}"], "value": "confidential"} for j in range(10)]
            known += [{"place": ["columns", f"c{j}"], "value": "quasi-identifier"} for j in range(3)]
            known += [{"place": ["columns", f"c{j}"], "value": "other"} for j in range(3, 10)]
            step = {"mask": "suppress", "k": 5}
            known += [{"place": ["steps"], "value": [step]}]
            studio.act("put", changes=known, note="roles")
            print(
                f"exposure by 3 columns: {seconds(studio, 'exposure'):.2f} s, again {seconds(studio, 'exposure'):.2f} s"
            )
            studio.act("run")
            answers: dict[str, list[float]] = {}
            while studio.ask("state")[1]["job"] is not None:
                for name, given in (
                    ("state", {}),
                    ("facts", {}),
                    ("rows", {"offset": 500_000}),
                    ("rows", {"by": "x3"}),
                ):
                    answers.setdefault(f"{name} {json.dumps(given)}", []).append(seconds(studio, name, **given))
                began = time.perf_counter()
                studio.act("put", changes=[{"place": ["release", "title"], "value": f"{began}"}], note="title")
                answers.setdefault("an edit", []).append(time.perf_counter() - began)
            print("while it runs, median and longest of each answer:")
            for name, taken in answers.items():
                print(f"  {name}: {np.median(taken):.3f} s, {max(taken):.3f} s ({len(taken)} times)")
            print(f"last run: {studio.idle()['runs'][-1:]}, notice {studio.idle()['notice']}")
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
