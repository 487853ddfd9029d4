import numpy as np

from naive.collection import collection
from shoal.kernels.arrays import ints
from shoal.mask._suppression.collection import Collection
from shoal.mask._suppression.task import SuppressionTask


def test_a_collection_is_that_of_its_slow_twin():
    """Tables with and without missing cells, columns that may lose none, few or any, and costs; byte by byte."""
    unserved = bound = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, q = int(rng.integers(1, 120)), int(rng.integers(1, 6))
        codes = rng.integers(-1 if seed % 3 == 0 else 0, rng.integers(2, 6), (n, q))
        few = seed % 2 == 1
        task = SuppressionTask(
            codes=ints(codes[np.lexsort(codes.T[::-1])]),
            counts=np.ones(n, dtype=np.int64),
            k=int(rng.integers(2, 6)),
            cost=rng.choice([1.0, 2.0, 0.5, np.inf], q),
            allowance=rng.choice([10 * n, n // 4, 0] if few else [10 * n], q).astype(np.int64),
        )
        sets = task.sets()
        order = [sets[i] for i in rng.permutation(len(sets))] if seed % 4 else sets
        made = Collection(task)
        made.collect(order, sets, refine=seed % 5 > 0)
        blank, waiting = collection(task, order, sets, seed % 5 > 0)
        assert np.array_equal(made.blank, blank) and np.array_equal(made.waiting, waiting)
        unserved += bool(waiting.any())
        bound += few and bool(blank.any())
    assert unserved > 5 and bound > 5
