"""The size of a partition's smallest group, on which every k rests."""

import numpy as np

from shoal.data.partition import Partition


def test_k_is_the_size_of_the_smallest_group() -> None:
    assert Partition.of(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])).k == 2
    assert Partition.of(np.array([], dtype=np.int32)).k == 0
