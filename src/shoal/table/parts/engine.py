"""Engines that work on the parts of a table: processes of this machine, or (in `spark`) the executors of a cluster.

An engine does no work of its own: it is given functions of modules and what they are to be called with. What comes out
is the same whoever did the work, for every piece of it is given all that its result depends on.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl

from shoal.kernels.arrays import Longs
from shoal.processes.side_by_side import as_finished
from shoal.table.parts.pieces import scatter

Job = TypeVar("Job")
Result = TypeVar("Result")

Dealt = tuple[pl.DataFrame, Longs]
"""Records, and for each where it goes: shape (n,)."""


class Engine(Protocol):
    """An engine that works on parts."""

    @property
    def name(self) -> str:
        """The engine's name."""
        ...

    @property
    def far(self) -> bool:
        """True if work is done on other machines than this."""
        ...

    def each(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterable[Result]:
        """The results of small jobs, in their order."""
        ...

    def as_finished(
        self, work: Callable[[Job], Result], jobs: Sequence[Job], given: Mapping[str, Any]
    ) -> Iterator[tuple[Job, Result]]:
        """Large jobs with what came of them, as they are finished; the work finds what is given in `remembered`."""
        ...

    def dealt(self, work: Callable[[Job], Dealt], jobs: Sequence[Job], count: int, folder: Path) -> list[Path]:
        """The records of jobs, dealt out to files from 0 to count - 1; inside a file they keep their order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """This machine: small jobs are done here one after the other, large ones in processes side by side.

    Parameters
    ----------
    workers
        Processes; nothing depends on how many.
    """

    workers: int = 1
    name = "processes"
    far = False

    def each(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterable[Result]:
        return map(work, jobs)

    def as_finished(
        self, work: Callable[[Job], Result], jobs: Sequence[Job], given: Mapping[str, Any]
    ) -> Iterator[tuple[Job, Result]]:
        return as_finished(work, jobs, self.workers, given)

    def dealt(self, work: Callable[[Job], Dealt], jobs: Sequence[Job], count: int, folder: Path) -> list[Path]:
        return scatter(map(work, jobs), count, folder)


HERE = Processes()
"""This process alone."""
