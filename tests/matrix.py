"""The suite in other surroundings: `python tests/matrix.py all | today | NAME ...` (or `make test-matrix PART=NAME`).

What follows `--` goes to pytest: `python tests/matrix.py oldest -- tests/table/files` runs some tests only.

Each part makes an environment below `.venv-matrix/` and runs the suite in it; `today` is one part, another each day.
A part whose Python or user is not on this machine is not run, and said so.
"""

import datetime as dt
import locale
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / ".venv-matrix"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

INSTALLED = ("files", "models", "duckdb", "scale", "sql", "studio", "documents", "test")
"""Extras that the suite is run with."""

NOT_HERE = "not on this machine"


def suite(
    name: str,
    *options: str,
    python: str = "python3",
    packages: tuple[str, ...] = (),
    oldest: bool = False,
    environment: Mapping[str, str] | None = None,
    place: Path = ROOT,
) -> str:
    """Run the suite in an environment of its own; '' where it passed, else what went wrong."""
    if shutil.which(python) is None:
        return f"{NOT_HERE}: {python}"
    folder = PLACE / name
    run = partial(subprocess.run, check=False, cwd=place)
    if run([python, "-m", "venv", str(folder)]).returncode:
        return f"{NOT_HERE}: {python} -m venv"
    inside = str(folder / "bin" / "python")
    constraints = ["--constraint", str(lower_bounds(folder))] if oldest else []
    if run([inside, "-m", "pip", "install", "-q", f"{place}[test]", *packages, *constraints]).returncode:
        return "the dependencies cannot be installed"
    done = run(
        [inside, "-m", "pytest", "-q", "-n", "2", *options], env={**os.environ, **ONE_THREAD, **(environment or {})}
    )
    return "" if done.returncode == 0 else f"pytest ended with {done.returncode}"


def lower_bounds(folder: Path) -> Path:
    """A file of constraints that holds every direct dependency at the oldest version allowed."""
    path = folder / "oldest.txt"
    path.write_text("\n".join(f"{name}=={version}" for name, version in oldest_allowed().items()))
    return path


def oldest_allowed() -> dict[str, str]:
    """For each direct dependency the oldest version that all who ask for it allow."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(w for name in INSTALLED for w in extras[name])]
    range_from = re.compile(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)(?:,!=[\w.]+)?$")
    bounds = [match.groups() for w in wanted if (match := range_from.match(w))]
    return {name: max((v for other, v in bounds if other == name), key=in_order) for name, _ in bounds}


def in_order(version: str) -> list[int]:
    """Versions as they ascend."""
    return [int(part) for part in version.split(".")]


def elsewhere(*options: str) -> str:
    """In a folder with blanks and umlauts in its name."""
    place = PLACE / "Größe und Maß"
    shutil.rmtree(place, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, files.split("\0")):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name)
    return suite("elsewhere", *options, place=place)


def as_nobody(*options: str) -> str:
    """As a user who may write nothing but temporary files."""
    if os.getuid() or shutil.which("runuser") is None:
        return f"{NOT_HERE}: a superuser who could become nobody"
    problem = suite("nobody", "--collect-only")
    if problem:
        return problem
    inside = ["runuser", "-u", "nobody", "--", "env", "HOME=/tmp", str(PLACE / "nobody" / "bin" / "python")]
    if subprocess.run([*inside, "-c", ""], cwd=ROOT, capture_output=True, check=False).returncode:
        return f"{NOT_HERE}: a Python that nobody may run"
    run = [*inside, "-m", "pytest", "-q", "-n", "2", *options]
    return "" if subprocess.run(run, cwd=ROOT, check=False).returncode == 0 else "pytest failed"


SURROUNDINGS: dict[str, Mapping[str, str]] = {
    **{core: {"OPENBLAS_CORETYPE": core} for core in ("Haswell", "Zen", "SkylakeX", "Prescott")},
    "two-threads": {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    "turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
}
"""What an environment variable makes of a machine."""

KERNELS_NEED = {"Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}
"""What a processor must have for OpenBLAS to take it for another; without it, it is taken for one that it can be."""


def can_be(name: str) -> bool:
    """Whether this machine can take on some surroundings, where Linux says what its processor has."""
    if (tongue := SURROUNDINGS[name].get("LC_ALL")) and not has_locale(tongue):
        return False
    said = Path("/proc/cpuinfo")
    return not said.exists() or KERNELS_NEED.get(name, "") in said.read_text()


def has_locale(name: str) -> bool:
    """Whether the C library knows a locale; one that it does not know it takes for its plainest, without a word."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
    except locale.Error:
        return False
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return True


def surrounded(name: str, *options: str) -> str:
    """The suite in some surroundings."""
    if not can_be(name):
        return f"{NOT_HERE}: a processor, or a locale, like {name}"
    return suite("newest", *options, environment=SURROUNDINGS[name])


PARTS: dict[str, Callable[..., str]] = {
    "oldest": partial(suite, "oldest", oldest=True),
    **{f"python3.{minor}": partial(suite, f"python3.{minor}", python=f"python3.{minor}") for minor in (11, 12, 13, 14)},
    **{name: partial(surrounded, name) for name in SURROUNDINGS},
    "random-order": partial(suite, "order", "--dist", "load", packages=("pytest-randomly",)),
    "elsewhere": elsewhere,
    "nobody": as_nobody,
}


def main(asked: list[str]) -> int:
    asked, options = (asked[: asked.index("--")], asked[asked.index("--") + 1 :]) if "--" in asked else (asked, [])
    today = list(PARTS)[dt.date.today().toordinal() % len(PARTS)]
    names = [name for word in asked for name in {"all": list(PARTS), "today": [today]}.get(word, [word])]
    if unknown := [name for name in names if name not in PARTS]:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(PARTS)}")
        return 2
    problems = {}
    for name in names:
        print(f"matrix: {name}", flush=True)
        problems[name] = PARTS[name](*options)
        print(f"matrix: {name}: {problems[name] or 'passed'}", flush=True)
    return int(any(problem and not problem.startswith(NOT_HERE) for problem in problems.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["all"]))
