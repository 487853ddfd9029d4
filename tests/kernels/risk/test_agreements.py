import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.kernels.risk.agreements import Pairs


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 9), st.integers(0, 3), st.integers(0, 2))
def test_patterns_and_links_pair_by_pair(seed, n, m, q, p):
    if q + p == 0:
        return
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, (q, 2))
    x = np.array([rng.integers(0, size, n) for size in sizes[:, 1]], dtype=np.int32).reshape(q, n)
    y = np.array([rng.integers(0, size, m) for size in sizes[:, 0]], dtype=np.int32).reshape(q, m)
    tables = [rng.random(tuple(size)) < 0.4 for size in sizes]
    before, after = (np.where(rng.random((p, s)) < 0.2, np.nan, rng.integers(0, 4, (p, s))) for s in (n, m))
    reach, bits = np.array([0.0, 1.0])[:p], rng.permutation(q + p).astype(np.int32)
    pairs = Pairs(x=x, y=y, tables=tables, x_numbers=before, y_numbers=after, reach=reach, bits=bits)
    patterns = np.zeros((m, n), dtype=int)
    for i in range(m):
        for r in range(n):
            agree = [bool(table[y[j, i], x[j, r]]) for j, table in enumerate(tables)]
            agree += [bool(abs(after[j, i] - before[j, r]) <= reach[j]) for j in range(p)]
            patterns[i, r] = sum(1 << int(bit) for bit, equal in zip(bits, agree) if equal)
    assert pairs.counts().tolist() == np.bincount(patterns.ravel(), minlength=1 << (q + p)).tolist()
    ranks, truth = rng.integers(0, 3, (2, 1 << (q + p))).astype(np.int32), rng.integers(0, n, m)
    chances = pairs.links(ranks, truth)
    for a in range(2):
        for i in range(m):
            here = ranks[a][patterns[i]]
            expected = (here[truth[i]] == here.max()) / (here == here.max()).sum()
            assert chances[a, i] == expected
