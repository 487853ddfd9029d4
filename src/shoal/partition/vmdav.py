"""V-MDAV: MDAV with groups of variable size."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import AllowInfNan

from shoal.kernels.partition import vmdav
from shoal.partition.base import Partitioner
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Partition, Progress, Records, part_of, tracked
from shoal.vocabulary.prelude import Ge, Setting, method, of_original

GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
"""Values that gamma "auto" tries: the source recommends 0.2 for scattered and 1.1 for clustered data."""


@method("vmdav", title="V-MDAV", source="Solanas & Martinez-Balleste (2006)", example={"k": 3})
class VMDAV(Partitioner):
    """Groups of k to 2k - 1 records that grow where the data are clustered.

    The record farthest from the average of all records and its k - 1 nearest make a group. Then the record
    outside that is nearest to the group joins while d_in < gamma d_out, where d_in is its distance to the
    nearest member and d_out its distance to the nearest other record outside. The last records, fewer than
    k, join the group with the nearest centroid (which may exceed 2k - 1 by that). Ties go to the lowest row.

    Parameters
    ----------
    k
        Smallest group size.
    gamma
        How readily groups grow; 0 keeps them at k. "auto" takes the value among 0, 0.2, ..., 1.2 with the
        lowest sum of squared errors, the lowest gamma among equals.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)]
    gamma: Annotated[Annotated[float, Ge(0), AllowInfNan(False)] | Literal["auto"], Setting()] = "auto"

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        points = Packed.of(records, columns)

        def groups(gamma: float, report: Progress) -> Partition:
            return Partition(labels=vmdav(points.x, self.k, gamma, coding=points.coding, progress=report))

        if self.gamma != "auto":
            return groups(self.gamma, progress)
        trials = [
            groups(gamma, part_of(progress, number / len(GRID), 1 / len(GRID)))
            for number, gamma in enumerate(tracked(GRID, progress))
        ]
        losses = [points.sse(trial) for trial in trials]
        best = int(np.argmin(losses))
        facts = of_original({"gamma": GRID[best], "sse by gamma": dict(zip(map(str, GRID), losses))})
        return Partition(labels=trials[best].labels, facts=facts)
