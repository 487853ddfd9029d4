"""Groups of persons merged until different ones of each stand for enough confidential values."""

from collections.abc import Mapping

import numpy as np

from shoal.judges.closure import Closure
from shoal.judges.joined import PERSON, Joined
from shoal.judges.prelude import TablePair
from shoal.privacy.l_diversity import LDiversity
from shoal.table.links import Links
from shoal.table.prelude import Bools, Ints, Longs, Partition, Records


def without_diversity(tables: Mapping[str, Records], links: Links, least: float) -> Bools:
    """Shape (u,); persons whose profile is shared by persons with fewer confidential values than there must be.

    `tables`: as they are made alike; `links`: of their rows.
    """
    joined = Joined.of(tables, links)
    failing = np.zeros(joined.people, dtype=bool)
    model = LDiversity(l=least, unit="person", knowing="all records")
    for name in joined.joins:
        records = joined.of_profiles(name, None)
        if len(records) and records.confidential:
            alone = TablePair.of(None, records, known=Closure(records=records, filled={}))
            verdict = model.judge(alone)
            if not verdict.holds and verdict.failing is not None:
                failing[records[PERSON].values.astype(np.int64)[verdict.failing]] = True
    return failing


def merged(groups: Partition, failing: Bools, values: Ints, strata: Longs) -> Partition | None:
    """The groups, each with somebody who fails put together with another one where most is kept; None if there is none.

    Parameters
    ----------
    failing
        Shape (u,); persons.
    values
        Shape (u, d); the value of each piece that each person has (`values_of`).
    strata
        Shape (u,); groups of different ones stay apart.
    """
    labels, count = groups.labels.astype(np.int64), groups.n_groups
    least = np.full((count, values.shape[1]), np.iinfo(values.dtype).max, dtype=np.int64)
    np.minimum.at(least, labels, values)
    sizes = np.bincount(labels, minlength=count)
    stratum = np.zeros(count, dtype=np.int64)
    stratum[labels] = strata
    target = np.arange(count)
    left = np.ones(count, dtype=bool)
    for group in np.unique(labels[failing]).tolist():
        beside = (stratum == stratum[group]) & (np.arange(count) != group)
        if not beside.any():
            return None
        others = np.flatnonzero(beside & left)
        if not left[group] or not len(others):
            continue  # until it is known whether it still fails
        together = np.minimum(least[group], least[others])
        lost = sizes[group] * (least[group] - together).sum(axis=1)
        lost = lost + sizes[others] * (least[others] - together).sum(axis=1)
        other = int(others[np.argmin(lost)])
        target[group] = other
        left[[group, other]] = False
    return Partition.of(target[labels])
