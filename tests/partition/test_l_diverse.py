import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from partition.test_t_close import blobs, released, tables
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import Refused


@given(
    records=tables(gaps=True),
    k=st.integers(1, 4),
    l=st.sampled_from([1, 1.5, 2, 3]),
    kind=st.sampled_from(["distinct", "entropy", "recursive"]),
    c=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_diverse_or_refused(records, k, l, kind, c):  # noqa: E741
    strata = records.strata
    if k > (len(records) if strata is None else np.bincount(strata).min()):
        return
    judge = shoal.LDiversity(l=l, kind=kind, c=c)
    whole = np.zeros(len(records)) if strata is None else strata
    in_one = Variable(name="a", role="quasi-identifier", level="continuous", values=whole.astype(float))
    possible = judge.check(Records.of([in_one, *(records[n] for n in records.confidential)])).holds
    method = shoal.LDiverse(k=k, l=l, kind=kind, c=c, moves=1_000)
    if not possible:
        with pytest.raises(Refused, match="l-diverse: no partition satisfies the requirement") as refusal:
            method.partition(records, seed=1)
        named = float(str(refusal.value).rpartition(" l ")[2].split(". ")[0])
        if named >= 1:
            assert shoal.LDiverse(k=k, l=named, kind=kind, c=c, moves=100).partition(records, seed=1).k >= k
        return
    part = method.partition(records, seed=1)
    assert part.k >= k
    assert judge.check(released(records, part)).holds


def test_diversity_costs_little_where_the_start_allows_it():
    x, pay = blobs()
    ill = np.where(pay > 0, "a", "b")
    z = Records.from_array(x).matrix()
    free = shoal.MDAV(k=4).partition(x)
    bound = shoal.LDiverse(k=4, l=2, moves=200_000).partition(x, confidential=ill, seed=1)
    assert bound.sse(z) < 4 * free.sse(z)
    assert bound.details["sse"] <= bound.details["sse at the start"]
