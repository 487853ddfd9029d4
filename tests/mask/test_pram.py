import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import InputError


def records(codes, m, stratum=None, weights=None):
    variables = [
        Variable(
            name="c",
            role="confidential",
            level="nominal",
            values=np.array(codes, dtype=np.int32),
            categories=tuple("abcdefgh"[:m]),
        )
    ]
    if stratum is not None:
        variables.append(
            Variable(
                name="s", role="stratum", level="nominal", categories=(0, 1), values=np.array(stratum, dtype=np.int32)
            )
        )
    if weights is not None:
        variables.append(Variable(name="w", role="weight", level="continuous", values=np.array(weights, dtype=float)))
    return Records.of(variables)


counts = st.lists(st.integers(1, 40), min_size=2, max_size=6)


@given(counts=counts, diagonal=st.floats(0.05, 1))
def test_invariant_matrix_has_the_distribution_as_its_stationary_one(counts, diagonal):
    p = np.array(counts) / sum(counts)
    r = shoal.Pram(diagonal=diagonal).transition(records([0], len(counts))["c"], np.array(counts, dtype=float))
    assert np.allclose(r.sum(axis=1), 1) and (r >= 0).all()
    assert np.abs(p @ r - p).max() < 1e-14
    # drawing anew from p, the most change there is, leaves a category with its own share on the diagonal
    assert np.diag(r).min() == pytest.approx(max(diagonal, p.min()))


@given(counts=counts, seed=st.integers(0, 999))
def test_two_stage_construction_makes_any_matrix_invariant(counts, seed):
    m = len(counts)
    first = np.random.default_rng(seed).dirichlet(np.ones(m), m)
    p = np.array(counts) / sum(counts)
    method = shoal.Pram(matrix={"c": first.tolist()})
    r = method.transition(records([0], m)["c"], np.array(counts, dtype=float))
    assert np.abs(p @ r - p).max() < 1e-12 and np.allclose(r.sum(axis=1), 1)
    as_given = shoal.Pram(matrix={"c": first.tolist()}, invariant=False)
    assert np.allclose(as_given.transition(records([0], m)["c"], np.array(counts, dtype=float)), first)


def test_transitions_happen_as_often_as_the_matrix_says():
    codes = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    change = shoal.Pram(diagonal=0.6).apply(records(codes, 3), ["c"], np.random.default_rng(0))
    new = change.records["c"].values
    r = np.array(change.details["by column"]["c"]["matrix"])
    for i in range(3):
        seen = np.bincount(new[codes == i], minlength=3) / (codes == i).sum()
        assert np.abs(seen - r[i]).max() < 4 * np.sqrt(0.25 / (codes == i).sum())
    facts = change.details["by column"]["c"]
    assert facts["changed"] == (new != codes).sum() == pytest.approx(facts["expected to change"], rel=0.03)


def test_strata_weights_and_missing_cells():
    codes = np.array([0, 0, 1, 1, 0, -1] * 50)
    stratum = (codes == 1).astype(int)
    change = shoal.Pram(diagonal=0.1).apply(records(codes, 2, stratum), ["c"], np.random.default_rng(0))
    assert np.array_equal(change.records["c"].values, codes)  # one category a stratum: nothing to change into
    weights = np.where(codes == 1, 9.0, 1.0)
    method = shoal.Pram(diagonal=0.5, weighted=True)
    weighted = method.apply(records(codes, 2, weights=weights), ["c"], np.random.default_rng(0))
    p = np.array([weights[codes == i].sum() for i in (0, 1)]) / weights[codes >= 0].sum()
    r = np.array(weighted.details["by column"]["c"]["matrix"])
    assert np.allclose(p @ r, p)
    assert ((weighted.records["c"].values < 0) == (codes < 0)).all()


def test_bad_input_refused():
    with pytest.raises(InputError, match="matrix of 'c' must be square with rows of probabilities"):
        shoal.Pram(matrix={"c": [[0.5, 0.4], [0, 1]]})
    with pytest.raises(InputError, match="matrix of 'c' must have 3 rows, one a category; it has 2"):
        shoal.Pram(matrix={"c": [[1, 0], [0, 1]]}).apply(records([0, 1, 2], 3), ["c"], np.random.default_rng(0))
    with pytest.raises(InputError, match="diagonal must be less than or equal to 1"):
        shoal.Pram(diagonal=80)
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    with pytest.raises(InputError, match="Column 'x' is continuous; pram needs columns that are ordinal or nominal"):
        shoal.Pram().apply(
            shoal.Microdata.of(frame, {"x": "quasi-identifier"}).records,
            shoal.Microdata.of(frame, {"x": "quasi-identifier"}).records.quasi_identifiers,
            np.random.default_rng(0),
        )
