"""How much is tried: what every run has time for, or all of it where `SHOAL_TEST_SEED` is set, as each night."""

import os
from collections.abc import Iterable
from itertools import cycle, islice, product
from typing import Any

import pytest

NIGHT = bool(os.environ.get("SHOAL_TEST_SEED"))

only_by_night = pytest.mark.skipif(not NIGHT, reason="runs each night (SHOAL_TEST_SEED)")
"""Marks what takes long and has a smaller sibling that every run tries."""


def by_night(always: int, all_of_it: int) -> int:
    """The number of cases, seeds or tables to try."""
    return all_of_it if NIGHT else always


def crossed(*factors: Iterable[Any]) -> list[tuple[Any, ...]]:
    """All combinations of some factors' values; by day as many as the longest has, in which every value comes up."""
    lists = [list(factor) for factor in factors]
    if NIGHT:
        return list(product(*lists))
    return list(islice(zip(*map(cycle, lists), strict=False), max(map(len, lists))))


def by_turns(cases: Iterable[Any], turn: int, of: int) -> list[Any]:
    """All cases of something; by day one of so many, others for the next turn, so that many turns try them all."""
    every = list(cases)
    return every if NIGHT else every[turn % of :: of]
