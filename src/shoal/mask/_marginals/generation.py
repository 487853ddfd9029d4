"""Records drawn from a law, column after column, each given what its clique already has (randomised rounding)."""

from collections.abc import Mapping

import numpy as np

from shoal.mask._marginals.clique_tables import summed
from shoal.mask._marginals.model import JointLaw
from shoal.mask.secret_stream import SecretStream
from shoal.table.prelude import Floats, Longs

FINE = 2**52


def uniform(n: int, stream: SecretStream) -> Floats:
    """Shape (n,); uniform numbers from 0, below 1."""
    return np.asarray(stream.integers(FINE, n) / FINE)


def shuffled(n: int, stream: SecretStream) -> Longs:
    """Shape (n,); the numbers from 0 to n - 1 in random order."""
    return np.asarray(np.lexsort((stream.integers(2**62, n), stream.integers(2**62, n))))


def drawn(
    law: JointLaw, n: int, stream: SecretStream, *, independent: bool = False, given: Mapping[int, Longs] | None = None
) -> Longs:
    """Shape (n, d); categories of new records, in random order.

    Among the records that agree on what a clique already has, a column's categories come as often as the law has them,
    rounded up or down at random, and are dealt out at random. `independent`: each record is drawn by itself instead.
    `given`: by column of the first clique, categories that the records have.
    """
    out = np.zeros((n, len(law.shape)), dtype=np.int64)
    done = set(given or ())
    for column, codes in (given or {}).items():
        out[:, column] = codes
    for place, clique in enumerate(law.tree.cliques):
        for column in clique:
            if column in done:
                continue
            before = tuple(other for other in clique if other in done)
            kept = tuple(other for other in clique if other in done or other == column)
            table = np.moveaxis(summed(law.tables[place], clique, kept), kept.index(column), -1)
            groups = np.zeros(n, dtype=np.int64)
            if before:
                groups = np.ravel_multi_index(tuple(out[:, c] for c in before), [law.shape[c] for c in before])
            out[:, column] = _dealt(table.reshape(-1, law.shape[column]), groups, stream, independent)
            done.add(column)
    return out[shuffled(n, stream)]


def _dealt(table: Floats, groups: Longs, stream: SecretStream, independent: bool) -> Longs:
    """Shape (n,); a category for each record by the row of `table`, of its probabilities, that its group names.

    The records of a group stand at random on a line of its length, a step apart from a random start, which the
    probabilities divide; independent ones each anywhere on it.
    """
    order = np.lexsort((shuffled(len(groups), stream), groups))
    numbers, first, sizes = np.unique(groups[order], return_index=True, return_counts=True)
    ends = np.cumsum(table[numbers], axis=1)
    ends = ends / np.where(ends[:, -1:] > 0, ends[:, -1:], 1.0)
    if independent:
        place = uniform(len(groups), stream)
    else:
        start = np.repeat(uniform(len(numbers), stream), sizes)
        place = (np.arange(len(groups)) - np.repeat(first, sizes) + start) / np.repeat(sizes, sizes)
    row = np.repeat(np.arange(len(numbers)), sizes)
    last = table.shape[1] - 1 - np.argmax(table[numbers][:, ::-1] > 0, axis=1)  # nobody falls behind it by rounding
    ahead = np.searchsorted((ends + np.arange(len(numbers))[:, None]).ravel(), place + row, side="right")
    out = np.empty(len(groups), dtype=np.int64)
    out[order] = np.minimum(ahead - row * table.shape[1], last[row])
    return out
