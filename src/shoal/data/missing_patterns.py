"""Records that lack the same columns."""

import numpy as np

from shoal.kernels.arrays import Bools, Longs
from shoal.kernels.classes import classes


def patterns(missing: Bools) -> list[tuple[Bools, Longs]]:
    """Each set of columns (d,) that is missing together in a table of cells (n, d), and the rows where it is."""
    if not len(missing):
        return []
    ids = classes(list(missing.T.astype(np.int64)), len(missing))[0]
    order = np.argsort(ids, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(ids[order])) + 1)
    return [(missing[rows[0]], rows) for rows in groups]
