import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import shoal
from mask.people_with_roles import records


@given(seed=st.integers(0, 10**6), together=st.booleans())
def test_permutation_keeps_distributions_inside_strata(seed, together):
    before = records()
    after = (
        shoal.Permute(together=together).apply(before, before.quasi_identifiers, np.random.default_rng(seed)).records
    )
    for s in range(int(before.strata.max()) + 1):
        inside = before.strata == s
        pairs = [sorted(zip(r["x"].values[inside], r["y"].values[inside])) for r in (before, after)]
        assert sorted(x for x, _ in pairs[0]) == sorted(x for x, _ in pairs[1])
        assert sorted(y for _, y in pairs[0]) == sorted(y for _, y in pairs[1])
        if together:
            assert pairs[0] == pairs[1]
    assert before["name"] is after["name"]
