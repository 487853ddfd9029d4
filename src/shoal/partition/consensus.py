"""A consensus of the partitions that each level of measurement gives."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from shoal.partition.base import Partitioner, refuse_unless_k
from shoal.table.prelude import Generator, Partition, Progress, Records
from shoal.table.schema import LEVELS
from shoal.vocabulary.prelude import Count, Nested, OfOriginal, method, nested


@method(
    "consensus",
    title="Consensus over levels of measurement",
    source="Domingo-Ferrer & Gonzalez-Nicolas (2010), Section 3.2",
    example={"start": {"method": "mdav", "k": 3}},
)
class Consensus(Partitioner):
    """One partition of mixed records from separate ones of the continuous, the ordinal and the nominal columns.

    Columns of each level are partitioned by themselves. Every record then stands for the centres of its groups, one
    centre a level, and the records are partitioned once more in that space: those that share their groups in all
    levels lie on one point, those that share some lie near.

    Parameters
    ----------
    start
        The partition method, used for each level and for the consensus; it brings the k that every group reaches.

    Notes
    -----
    The paper leaves open how the consensus is reached.
    """

    by_known_columns = True

    start: Annotated[Partitioner, nested("partition")]

    @property
    def smallest(self) -> int:
        return self.start.smallest

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress = None) -> Partition:
        levels = {level: names for level in LEVELS if (names := _of_level(records, columns, level))}
        parts = {level: self.start.assign(records, names, rng, progress) for level, names in levels.items()}
        if len(parts) == 1:
            return next(iter(parts.values()))
        spaces = {level: records.matrix(names) for level, names in levels.items()}
        centres = np.hstack([part.means(spaces[level])[part.labels] for level, part in parts.items()])
        points = Records.from_array(centres, "none")
        agreed = self.start.assign(points, points.names(), rng, progress)
        losses = {
            level: {
                "own groups": part.information_loss(spaces[level]),
                "consensus": agreed.information_loss(spaces[level]),
            }
            for level, part in parts.items()
        }
        facts = {
            "groups by level": Nested({level: Count(n=part.n_groups, unit="groups") for level, part in parts.items()}),
            "information loss in percent by level": OfOriginal(losses),
        }
        return refuse_unless_k(Partition(labels=agreed.labels, facts=facts), self.smallest, self.method_name)


def _of_level(records: Records, columns: Sequence[str], level: str) -> tuple[str, ...]:
    return tuple(name for name in columns if records[name].level == level)
