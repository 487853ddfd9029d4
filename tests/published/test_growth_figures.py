"""The measured growth of methods is that of the registry, and no cost grows faster than `scales` says."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Faults = Callable[[dict[str, Any]], list[str]]


@pytest.fixture
def faults(project: Path, monkeypatch: pytest.MonkeyPatch) -> Faults:
    monkeypatch.syspath_prepend(project / "bench")
    import growth

    return growth.faults


@pytest.fixture
def figures(project: Path) -> dict[str, Any]:
    return json.loads((project / "bench/growth.json").read_text(encoding="utf-8"))


def test_every_method_is_measured_and_none_grows_faster_than_it_says(faults: Faults, figures: dict[str, Any]) -> None:
    assert faults(figures) == []


def test_what_is_lacking_or_steep_is_named(faults: Faults, figures: dict[str, Any]) -> None:
    wrong = copy.deepcopy(figures)
    wrong["mask of-yore"] = wrong.pop("mask noise")
    wrong["partition mdav"] = {"ended": "takes none of the tables"}
    wrong["mask rank-swap"]["records"]["exponent"] = 1.9
    assert [fault.split(":")[0] for fault in faults(wrong)] == [
        "mask noise",
        "mask of-yore",
        "mask rank-swap",
        "partition mdav",
    ]
