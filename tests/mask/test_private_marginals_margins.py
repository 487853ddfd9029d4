"""Public margins: matched exactly, contradictions refused, whole counts against all tables that there are."""

import hashlib
from itertools import product

import numpy as np
import polars as pl
import pytest

import shoal
from mask.test_private_marginals_public import Even
from shoal.mask._marginals import margins, selection
from shoal.mask._marginals.junction_tree import JunctionTree
from shoal.mask._marginals.margins import whole_counts
from shoal.mask._marginals.model import JointLaw
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.errors import InputError

DOMAIN = {"age": [0, 30, 60, 100], "sex": ["f", "m"], "area": ["a", "b", "c"], "ill": ["no", "yes"]}
ROLES = dict.fromkeys(DOMAIN, "confidential")
STEP = {"mask": "private-marginals", "epsilon": 2, "delta": 1e-6, "domain": DOMAIN, "pairs": 2}
SEX_BY_AREA = pl.DataFrame({"sex": list("fffmmm"), "area": list("abcabc"), "count": [51, 33, 20, 47, 0, 49]})
AGES = pl.DataFrame({"age": [0, 29, 45, 60], "count": [60, 21, 70, 49]})  # two rows of one interval


def people(n=150, seed=0):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abc"), n)
    ill = np.where(rng.random(n) < np.where(area == "a", 0.9, 0.1), "yes", "no")
    return pl.DataFrame({"age": rng.integers(0, 100, n), "sex": rng.choice(["f", "m"], n), "area": area, "ill": ill})


@pytest.fixture
def of_no_table(monkeypatch):
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Even(shape))


def made(*public, table=None, seed=1, folder=None, **more):
    plan = {"columns": ROLES, "steps": [{**STEP, "margins": list(public), **more}]}
    return shoal.protect(people() if table is None else table, plan, folder, seed=seed)


def test_new_records_match_all_margins_exactly_and_what_goes_with_them_stays(monkeypatch):
    monkeypatch.setattr(selection, "STEPS", 8)
    released = made(SEX_BY_AREA, AGES, pairs=4, rules=["area == 'c' -> age <= 59"], epsilon=15).data
    assert len(released) == 200
    counted = {(row[0], row[1]): row[2] for row in released.group_by("sex", "area").len().iter_rows()}
    assert counted == {(s, a): n for s, a, n in SEX_BY_AREA.iter_rows() if n}
    bins = np.digitize(released["age"], [30, 60])
    assert np.bincount(bins).tolist() == [81, 70, 49]
    assert released.filter(pl.col("area") == "c")["age"].max() < 60
    ill = {area: (rows["ill"] == "yes").mean() for (area,), rows in released.group_by("area")}
    assert ill["a"] > 0.6 > 0.4 > max(ill["b"], ill["c"])


def test_margins_are_read_from_files_beside_the_plan(tmp_path):
    SEX_BY_AREA.write_csv(tmp_path / "census.csv")
    people().write_csv(tmp_path / "people.csv")
    plan = {
        "columns": {**ROLES, "age": {"role": "other", "missing": "refuse"}},
        "steps": [{**STEP, "margins": ["census.csv"]}],
        "requirements": [{"privacy": "differential", "epsilon": 2, "delta": 1e-6}],
    }
    release = shoal.protect(tmp_path / "people.csv", plan, seed=1, folder=tmp_path)
    assert len(release.data) == 200 and release.evidence.verdicts[0].holds


REFUSED = {
    "other totals": (
        [SEX_BY_AREA, pl.DataFrame({"age": [1], "count": [199]})],
        "'sex', 'area' and of 'age' have other numbers of records in all",
    ),
    "a shared column": (
        [SEX_BY_AREA, pl.DataFrame({"area": list("abc"), "ill": ["no"] * 3, "count": [99, 33, 68]})],
        "have other numbers of records in categories of 'area'",
    ),
    "a rule": ([pl.DataFrame({"sex": ["m"], "age": [70], "count": [5]})], "leaves empty|leave no combination"),
    "no whole table": (
        [
            pl.DataFrame({"sex": ["f", "m"], "area": ["a", "b"], "count": [5, 5]}),
            pl.DataFrame({"area": ["a", "b"], "ill": ["no", "yes"], "count": [5, 5]}),
            pl.DataFrame({"sex": ["f", "m"], "ill": ["yes", "no"], "count": [5, 5]}),
        ],
        "leaves empty|leave no combination",
    ),
    "no column": (
        [pl.DataFrame({"town": ["x"], "count": [5]})],
        "a margin must be a table of 'count' and columns of the step alone; it has 'town', 'count'",
    ),
    "no count": (
        [pl.DataFrame({"sex": ["f"]})],
        "a margin must be a table of 'count' and columns of the step alone; it has 'sex'",
    ),
    "parts": ([pl.DataFrame({"sex": ["f"], "count": [2.5]})], "must have whole numbers in 'count', of 1 to"),
    "nobody": ([pl.DataFrame({"sex": ["f"], "count": [0]})], "must have whole numbers in 'count', of 1 to"),
    "no category": (
        [pl.DataFrame({"sex": ["x"], "count": [2]})],
        "in a table that margins name, Column 'sex' has 1 cell",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.usefixtures("of_no_table")
def test_margins_that_cannot_be_matched_are_refused(name):
    tables, sentence = REFUSED[name]
    with pytest.raises(InputError, match=sentence):
        made(*tables, rules=["age >= 60 -> sex == 'f'"])


def test_margins_of_too_many_combinations_are_refused():
    ages = {**DOMAIN, "age": list(range(0, 10_001))}
    with pytest.raises(InputError, match="the columns of margins, 'age', 'sex', 'area', have 60,000 combinations"):
        made(AGES, SEX_BY_AREA, domain=ages)


def tables_with(groups, totals, cells):
    """Every table of whole numbers with these totals."""
    most = int(totals[0].max())
    for counts in product(range(most + 1), repeat=cells):
        if all((np.bincount(g, counts, len(t)) == t).all() for g, t in zip(groups, totals)):
            yield counts


def test_whole_counts_are_found_exactly_where_there_are_any():
    """Against all tables of 2 by 2 by 2, with margins of pairs from two tables: some have none."""
    cells = np.array(list(product((0, 1), repeat=3)))
    groups = [2 * cells[:, i] + cells[:, j] for i, j in ((0, 1), (1, 2), (0, 2))]
    rng, none = np.random.default_rng(3), 0
    for _ in range(8):
        first = rng.integers(0, 2, 8)
        other = first if rng.random() < 0.5 else rng.permutation(first)
        totals = [np.bincount(g, t, 4).astype(np.int64) for g, t in zip(groups, (first, first, other))]
        listed = set(tables_with(groups, totals, 8))
        counts = whole_counts(np.full(8, first.sum() / 8), groups, totals, SecretStream(rng))
        assert (counts is None) == (not listed)
        assert counts is None or tuple(counts.tolist()) in listed
        none += counts is None
    assert 0 < none < 8


def test_whole_counts_are_as_often_up_as_their_fractions_say():
    """One row of three cells of which 2.5, 1.25 and .25 are expected."""
    expected = np.array([2.5, 1.25, 0.25])
    stream = SecretStream(np.random.default_rng(0))
    drawn = [whole_counts(expected, [np.zeros(3, dtype=np.int64)], [np.array([4])], stream) for _ in range(500)]
    assert np.mean(drawn, axis=0) == pytest.approx(expected, abs=0.1)
    assert (np.abs(np.array(drawn) - expected) < 1).all()


def test_many_cells_are_matched_in_steps(monkeypatch):
    """More than the first programme may change, with fractions that a linear programme leaves."""
    monkeypatch.setattr(margins, "FIRST_TRIED", 40)
    shape = (6, 5, 6)
    rng = np.random.default_rng(5)
    truth = rng.poisson(rng.gamma(0.3, 1, shape))
    cells = np.indices(shape).reshape(3, -1)
    pairs = ((0, 1), (1, 2), (0, 2))
    groups = [shape[j] * cells[i] + cells[j] for i, j in pairs]
    totals = [np.bincount(g, truth.ravel(), shape[i] * shape[j]).astype(np.int64) for g, (i, j) in zip(groups, pairs)]
    expected = rng.gamma(0.3, 1, truth.size)
    counts = whole_counts(expected * truth.sum() / expected.sum(), groups, totals, SecretStream(rng))
    assert counts is not None and counts.min() >= 0
    for group, total in zip(groups, totals):
        assert np.array_equal(np.bincount(group, counts, len(total)), total)


def test_numbers_in_a_table_multiply_odds_and_name_the_first_clique():
    shape = (2, 3, 2)
    rng = np.random.default_rng(2)
    factors = {(0, 1): rng.random((2, 3)), (1, 2): rng.random((3, 2))}
    law = JointLaw.of(shape, JunctionTree.of(shape, factors), factors)
    more = rng.random((2, 2))
    tilted = law.among({(0, 2): more}, first=(1, 2))
    naive = factors[0, 1][:, :, None] * factors[1, 2][None] * more[:, None, :]
    assert tilted.marginal((0, 1)) == pytest.approx((naive / naive.sum()).sum(axis=2))
    assert {1, 2} <= set(tilted.tree.cliques[0])


@pytest.mark.usefixtures("of_no_table")
def test_margins_tell_nothing_of_the_table(tmp_path):
    """The mechanism's answers laid down: tables of other cells and sizes give the same public folder."""
    folders = []
    for place, table in enumerate([people(90, 1), people(40, 2), people(40, 3).with_columns(sex=pl.lit("f"))]):
        made(SEX_BY_AREA, table=table, folder=tmp_path / str(place))
        files = sorted((tmp_path / str(place) / "release").iterdir())
        folders.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    assert folders[0] == folders[1] == folders[2]


def test_a_kept_model_has_the_margins_as_shares():
    plan = {
        "columns": ROLES,
        "steps": [{**STEP, "margins": [SEX_BY_AREA]}],
        "requirements": [{"privacy": "differential", "epsilon": 2, "delta": 1e-6}],
    }
    fitted = shoal.fit(people(), plan, seed=1)
    assert fitted.total == 200
    drawn = fitted.draw(2000, seed=1)
    assert (drawn["area"] == "a").sum() == pytest.approx(980, abs=2)
    assert drawn.filter((pl.col("sex") == "m") & (pl.col("area") == "b")).is_empty()
