import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.kernels.draws import RecordDraws
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
            categories=tuple("abcdefgh"[:m] if m <= 8 else range(m)),
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
    r = shoal.Pram(diagonal=diagonal).transition(records([0], len(counts))["c"], np.array(counts, dtype=float)).matrix
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
    r = method.transition(records([0], m)["c"], np.array(counts, dtype=float)).matrix
    assert np.abs(p @ r - p).max() < 1e-12 and np.allclose(r.sum(axis=1), 1)
    as_given = shoal.Pram(matrix={"c": first.tolist()}, invariant=False)
    assert np.allclose(as_given.transition(records([0], m)["c"], np.array(counts, dtype=float)).matrix, first)


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


def pairs(rng, n=20_000):
    """Three categories by three, of which the pair (2, 2) does not occur."""
    codes = rng.choice(8, n, p=[0.3, 0.05, 0.1, 0.05, 0.2, 0.1, 0.15, 0.05])
    frame = pd.DataFrame({"a": np.array(list("xyz"))[codes // 3], "b": np.array(list("uvw"))[codes % 3]})
    return frame, shoal.Microdata.of(frame, dict.fromkeys(frame, "quasi-identifier")).records


def labels(table):
    return [tuple(table[n].categories[c] for n, c in zip("ab", cell)) for cell in zip(*(table[n].values for n in "ab"))]


def test_combinations_change_as_the_one_column_that_they_make(rng):
    frame, records = pairs(rng)
    joint = shoal.Microdata.of(pd.DataFrame({"c": frame["a"] + frame["b"]}), {"c": "quasi-identifier"}).records
    one = shoal.Pram(diagonal=0.6).apply(joint, ["c"], np.random.default_rng(3)).records["c"]
    step = shoal.Pram(diagonal=0.6, together=True).apply(records, ["a", "b"], np.random.default_rng(3))
    assert ["".join(cell) for cell in labels(step.records)] == [one.categories[code] for code in one.values]
    assert step.details["combinations"] == 8
    before, after = labels(records), labels(step.records)
    assert step.details["changed"] == sum(x != y for x, y in zip(before, after))
    assert step.details["changed"] == pytest.approx(step.details["expected to change"], rel=0.05)


def test_tables_of_the_columns_stay_in_expectation_and_no_new_combination_appears(rng):
    frame, records = pairs(rng)
    counts = frame.value_counts()
    together, apart = (
        pd.DataFrame(
            labels(shoal.Pram(diagonal=0.3, together=t).apply(records, ["a", "b"], np.random.default_rng(0)).records),
            columns=["a", "b"],
        ).value_counts()
        for t in (True, False)
    )
    assert set(together.index) == set(counts.index)
    assert ("z", "w") in apart.index  # column by column there are combinations that nobody has
    assert np.abs((together - counts) / np.sqrt(counts)).max() < 4.5
    assert np.abs((apart.reindex(counts.index) - counts) / np.sqrt(counts)).max() > 10


def test_together_refuses_what_it_cannot_do(rng):
    with pytest.raises(InputError, match="with together, matrix must be left out"):
        shoal.Pram(together=True, matrix={"c": ((1.0,),)})
    frame = pd.DataFrame({"a": ["x", None, "y"], "b": ["u", "v", "v"]})
    roles = {name: {"role": "quasi-identifier", "missing": "keep"} for name in frame}
    with pytest.raises(InputError, match="Column 'a' has 1 missing value; pram with together: true needs complete"):
        shoal.Pram(together=True).apply(shoal.Microdata.of(frame, roles).records, ["a", "b"], rng)
    many = pd.DataFrame({"a": [f"p{i}" for i in range(2001)], "b": ["u"] * 2001})
    with pytest.raises(InputError, match="'a', 'b' must have at most 2,000 combinations; they have 2,001"):
        shoal.Pram(together=True).apply(
            shoal.Microdata.of(many, dict.fromkeys(many, "quasi-identifier")).records, ["a", "b"], rng
        )


def test_many_categories_as_by_their_whole_matrix():
    """What is drawn and written is that of the matrix cell by cell, which nothing makes where there are many."""
    rng = np.random.default_rng(0)
    codes = rng.integers(-1, 300, 2000)
    for invariant in (True, False):
        step = shoal.Pram(diagonal=0.4, invariant=invariant)
        done = step.apply(records(codes, 300), ["c"], np.random.default_rng(5))
        shares = RecordDraws.of(records(codes, 300).rows, np.random.default_rng(5)).random(2000)
        matrix = step.transition(records(codes, 300)["c"], np.bincount(codes[codes >= 0], minlength=300) + 0.0).matrix
        expected = [
            code if code < 0 else int(np.searchsorted(np.cumsum(matrix[code])[:-1], share, "right"))
            for code, share in zip(codes.tolist(), shares.tolist())
        ]
        assert done.records["c"].values.tolist() == expected
        written = done.details["by column"]["c"]["matrix"]
        rows = np.tile(written["else drawn with"], (300, 1)) + written["stays"] * np.eye(300)
        assert (rows == matrix).all()
