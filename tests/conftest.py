"""What all tests share."""

import atexit
import gc
import os
from collections.abc import Iterator
from secrets import randbelow

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, seed, settings

from command_line import Run, runner
from published.reference import NOT_RUN
from studio.pages import browser, chromium, empty, fresh, shared

__all__ = ["browser", "chromium", "empty", "fresh", "shared"]

RANDOM_SEED = os.environ.get("SHOAL_TEST_SEED", "")
"""Empty: every run tries the same examples. A number, or `new`: examples drawn from it, more of them."""

slow_is_fine = [HealthCheck.too_slow]
settings.register_profile(
    "repeated", deadline=None, derandomize=True, max_examples=15, suppress_health_check=slow_is_fine
)
settings.register_profile(
    "random", deadline=None, max_examples=150, suppress_health_check=slow_is_fine, print_blob=True, database=None
)
settings.register_profile(
    "unshrunk", settings.get_profile("repeated"), max_examples=40, phases=(Phase.explicit, Phase.generate)
)  # for mutants
settings.load_profile("random" if RANDOM_SEED else "repeated")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed of a randomised run once, for all its processes."""
    if RANDOM_SEED:
        given = getattr(config, "workerinput", {}).get("shoal_seed") or RANDOM_SEED
        config.stash[SEED] = randbelow(2**32) if given == "new" else int(given)


SEED = pytest.StashKey[int]()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors, for tests wait for browsers, files and programs now and then."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Hand the seed to a process of pytest-xdist."""
    if RANDOM_SEED:
        node.workerinput["shoal_seed"] = str(node.config.stash[SEED])  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Collect without looking for what could be thrown away: nothing can, and looking takes a quarter of the time.

    Nor is what was collected looked through again while tests run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # the interpreter throws away at its end what was collected, too
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the examples of every property from the seed of the run."""
    for item in items if RANDOM_SEED else ():
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            seed(config.stash[SEED])(getattr(item.obj, "__func__", item.obj))  # a state machine's test is a method


@pytest.hookimpl
def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes do not name a test: processes that collect must agree on its name, and a compressed file holds the time."""
    return argname if isinstance(val, bytes) else None


def pytest_report_header(config: pytest.Config) -> str | None:
    return f"examples drawn from SHOAL_TEST_SEED={config.stash[SEED]}" if RANDOM_SEED else None


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Say how many published figures could not be compared, for want of their data, and how to see a failure again."""
    if RANDOM_SEED:
        terminalreporter.write_line(str(pytest_report_header(terminalreporter.config)))
    skipped = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    if count := sum(NOT_RUN in reason for reason in skipped):
        terminalreporter.write_line(f"{count} reference comparisons not run")


@pytest.fixture(autouse=True, scope="session")
def no_wait_for_the_disk() -> Iterator[None]:
    """No test asks what a loss of power leaves, so that none waits for it; programs that tests start do wait."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers of a test's own: the same whichever tests ran before."""
    return np.random.default_rng(20_270)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line."""
    return runner(monkeypatch, capsys)
