"""Many ranges of places in an order, taken several at once."""

from collections.abc import Iterator

import numpy as np

from shoal.kernels.arrays import Longs

LEAST = 64
"""Places in which ranges may begin that are taken together, at least."""


def ranges_together(start: Longs, stop: Longs, pairs: int) -> Iterator[tuple[Longs, slice]]:
    """Ranges by number, and a range that holds all of theirs and not much more.

    Ranges that are about as wide, and begin near one another, come together: as many as make so many pairs of a range
    and a place. Those that are empty do not come.
    """
    width = stop - start
    reach = np.maximum(1 << np.frexp(np.maximum(width, 1) - 1)[1].astype(np.int64), LEAST)
    near = start // reach
    order = np.lexsort((start, near, reach))
    order = order[width[order] > 0]
    alike = (np.diff(near[order]) != 0) | (np.diff(reach[order]) != 0)
    for group in np.split(order, np.flatnonzero(alike) + 1):
        many = max(1, pairs // int(2 * reach[group[0]])) if len(group) else 1
        for first in range(0, len(group), many):
            part = group[first : first + many]
            yield part, slice(int(start[part].min()), int(stop[part].max()))
