"""The size of a partition's smallest group, on which every k rests."""

import numpy as np

from shoal.table.partition import Partition, part_of


def test_k_is_the_size_of_the_smallest_group() -> None:
    assert Partition.of(np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])).k == 2
    assert Partition.of(np.array([], dtype=np.int32)).k == 0


def test_the_progress_of_a_stage_is_a_part_of_the_whole() -> None:
    seen: list[float] = []
    stage = part_of(seen.append, 0.5, 0.25)
    assert stage is not None
    for done in (0.0, 0.5, 1.0):
        stage(done)
    assert seen == [0.5, 0.625, 0.75]
    assert part_of(None, 0.5, 0.25) is None
