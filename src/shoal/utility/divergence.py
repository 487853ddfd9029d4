"""Kullback-Leibler divergence of the original from what the labels say of it."""

import numpy as np

from shoal.judges.labels import labels_of
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.kernels.classes import classes, first_rows
from shoal.kernels.elementary import exp, log
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import NoFigure, in_digits, method, of_original, plural

MOST_PAIRS = 400_000_000
"""Original rows times released classes that are compared, some seconds' worth."""

BLOCK = 4_000_000
"""Of these at once."""


@method("divergence", title="Divergence of the labels from the table", source="Kifer & Gehrke (2006)")
class Divergence(UtilityMeasure):
    """KL divergence, in nats, of the original's quasi-identifiers from the flattest distribution that fits the release.

    The release says of each class how many records lie among the values that its labels stand for; spread evenly over
    these, its records make the distribution that is compared. Infinite where an original row lies in no class.
    """

    unchanged = 0.0
    needs = ("columns", "records")
    roles = ("quasi-identifier",)
    continuous = False

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        columns = labels_of(pair, names)
        rows, sizes = classes([column.before for column in columns], len(pair.before))
        groups, weights = classes([column.after for column in columns], len(pair.released))
        if len(sizes) * len(weights) > MOST_PAIRS:
            raise NoFigure(
                f"{len(sizes):,} rows and {len(weights):,} classes are too many to be compared with each other."
            )
        first, first_of = first_rows(rows, len(sizes)), first_rows(groups, len(weights))
        log_volume = sum((log(column.stands_for[first_of]) for column in columns), np.zeros(len(first_of)))
        density = weights / len(pair.released) * exp(-log_volume)
        expected = np.zeros(len(sizes))
        step = max(BLOCK // len(first_of), 1)
        for low in range(0, len(sizes), step):
            part = first[low : low + step]
            inside = np.ones((len(part), len(first_of)), dtype=bool)
            for column in columns:
                inside &= column.covers[column.after[first_of]][:, column.before[part]].T
            expected[low : low + step] = (inside * density).sum(axis=1)
        share = sizes / len(pair.before)
        if uncovered := int((expected == 0).sum()):
            raise NoFigure(
                f"The release has no label that covers {plural(uncovered, 'row')} of the table, so the divergence "
                f"has no bound."
            )
        value = float((share * (log(share) - log(expected))).sum())
        return self.finding(
            value,
            f"The labels are {in_digits(value)} nats away from the table, over {len(names)} columns.",
            facts=of_original({"classes": len(first_of)}),
        )
