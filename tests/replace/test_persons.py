"""Trees and smoothed numbers that count persons, and persons made up with their rows."""

import numpy as np
import pytest

from naive.trees import leaf_of
from shoal.kernels.trees.grow import Features, Tree, grow
from shoal.replace._persons.columns import largest_of_several
from shoal.replace._trees.donors import Donors, Growing
from shoal.replace._trees.smoothing import FEW, Smoother
from shoal.replace._trees.synthesiser import TreeSynthesiser
from shoal.replace.cart import Cart
from shoal.replace.forest import Forest
from shoal.replace.persons import MadeUp, Method, made_up
from shoal.replace.sequential_regression import SequentialRegression
from shoal.table.links import Key, Links
from shoal.table.order_rules import OrderRule, OrderRules, TableColumn
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import DataError


def _grown(n: int, seed: int) -> tuple[Tree, np.ndarray, np.ndarray]:
    """A tree on n rows of few persons, one of whom has a third of them."""
    rng = np.random.default_rng(seed)
    x = np.vstack([rng.normal(size=n), rng.integers(0, 4, n)])
    y = x[0] + (x[1] == 2) + rng.normal(size=n) / 10
    units = np.where(rng.random(n) < 1 / 3, 0, rng.integers(1, 40, n))
    return grow(Features.of(list(x), [0, 4]), y, min_leaf=5), x, units


@pytest.mark.parametrize("seed", range(5))
def test_every_leaf_is_of_so_many_units(seed: int) -> None:
    tree, x, units = _grown(400, seed)
    pruned = tree.with_units(units, 8)
    assert (pruned.leaves(x) == leaf_of(pruned)).all(), "a case ends in the leaf that it was put in"
    assert sorted(set(leaf_of(pruned).tolist())) == list(range(len(pruned.sizes)))
    counts = [len(set(units[leaf_of(pruned) == leaf])) for leaf in range(len(pruned.sizes))]
    assert min(counts) >= 8
    assert 1 < len(counts) < len(tree.sizes)
    for leaf in range(len(tree.sizes)):
        assert len(set(leaf_of(pruned)[leaf_of(tree) == leaf])) == 1, "leaves are merged, never parted"
    assert len(tree.with_units(units, 1000).sizes) == 1
    assert (leaf_of(tree.with_units(np.arange(400), 5)) == leaf_of(tree)).all()


def test_a_value_that_one_person_has_often_is_no_heap() -> None:
    values = np.concatenate([np.arange(30.0), np.full(50, 12.5), np.full(FEW, 20.25)])
    units = np.concatenate([np.arange(30), np.full(50, 40), np.arange(FEW)])
    smoother, rng = Smoother.of(values, units), np.random.default_rng(0)
    assert (smoother.between(np.full(200, 12.5), rng) != 12.5).mean() > 0.5
    assert (smoother.between(np.full(200, 20.25), rng) == 20.25).all()
    assert (Smoother.of(values).between(np.full(200, 12.5), rng) == 12.5).all()


def test_the_largest_numbers_of_one_person_are_extremes() -> None:
    """Whoever has the ten largest numbers does not push the others out of the tail."""
    values = np.concatenate([np.arange(60.0), 1000 + np.arange(10.0)])
    units = np.concatenate([np.arange(60), np.full(10, 60)])
    drawn = Smoother.of(values, units).between(np.full(200, 1005.0), np.random.default_rng(0))
    assert drawn.max() < 120
    assert largest_of_several(values, units) == 56, "the one with thousands, 59, 58, 57 and 56"
    assert largest_of_several(np.full(3, np.nan), np.arange(3)) == np.inf
    assert largest_of_several(np.arange(3.0), np.arange(3)) == np.inf, "a bound of one of them"


@pytest.mark.parametrize("others", [np.full(14, 2.0), np.full(40, 2.0), np.arange(14.0)])
def test_the_largest_number_does_not_come_back_among_few(others: np.ndarray) -> None:
    """Fifteen persons of whom one has 302 rows: nobody who is made up has hundreds."""
    smoother = Smoother.of(np.append(others, 302.0), np.arange(len(others) + 1))
    drawn = smoother.between(np.full(200, 302.0), np.random.default_rng(0))
    assert drawn.max() < 60 and (others.max() > 2 or drawn.max() == 2)


def test_trees_of_a_forest_hold_so_many_units() -> None:
    """A draw of eleven records out of eleven holds seven different ones."""
    rng = np.random.default_rng(0)
    features, y = Features.of([rng.normal(size=11)], [0]), rng.normal(size=11)
    growing = Growing(min_leaf=10, complexity=0.0, trees=20)
    for tree in Donors.of(y, 0, features, growing, rng, np.arange(11)).trees:
        ends = np.split(tree.tree.members, tree.starts[1:])
        assert min(len(set(members.tolist())) for members in ends) >= 10


KEYS = {"people": Key(key="id"), "visits": Key(parent="people", link="id")}


def _column(name: str, values: np.ndarray, levels: int = 0) -> Variable:
    level = "nominal" if levels else "continuous"
    values = values.astype(np.int32 if levels else np.float64)
    return Variable(name=name, role="confidential", level=level, values=values, categories=tuple(range(levels)))


def _tables(n: int, seed: int = 0) -> tuple[dict[str, Records], Links]:
    """Two kinds of persons, of whom one comes twice and stays in its state, the other once to three times."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, n)
    counts = np.where(kind == 0, 2, rng.integers(1, 4, n))
    above = np.repeat(np.arange(n), counts)
    state = np.where(kind[above] == 0, above % 3, rng.integers(0, 3, len(above)))
    day = np.cumsum(rng.integers(5, 20, len(above))).astype(float)
    tables = {
        "people": Records(variables=(_column("kind", kind, 2),), rows=np.arange(n)),
        "visits": Records(variables=(_column("state", state, 3), _column("day", day)), rows=np.arange(len(above))),
    }
    return tables, Links(keys=KEYS, sizes={"people": n, "visits": len(above)}, above={"visits": above})


def _made(method: TreeSynthesiser, n: int = 900) -> tuple[MadeUp, dict[str, Variable]]:
    tables, links = _tables(n)
    order = OrderRules(keys=KEYS, order={"visits": ("day",)}, given=())
    made = made_up(tables, links, method, order, np.random.default_rng(1))
    return made, {v.name: v for of in made.variables.values() for v in of}


@pytest.mark.parametrize("method", [Cart(), Forest(trees=5)])
def test_rows_follow_their_person_and_the_row_before(method: TreeSynthesiser) -> None:
    made, column = _made(method)
    above, kind, state = made.links.above["visits"], column["kind"].values, column["state"].values
    counts = np.bincount(above, minlength=900)
    exact = isinstance(method, Cart)
    assert (counts == 2)[kind == 0].mean() > (0.999 if exact else 0.8), "who comes twice comes twice"
    tables, links = _tables(900)
    before = np.bincount(links.above["visits"])[tables["people"]["kind"].values == 1]
    shares = [np.bincount(of, minlength=4) / len(of) for of in (before, counts[kind == 1])]
    assert np.abs(shares[0] - shares[1]).max() < 0.09, "a difference of four standard errors is .12"
    days = column["day"].values
    for person in np.flatnonzero(counts == 2)[:200]:
        first, second = np.flatnonzero(above == person)
        assert days[first] < days[second], "rows stand in their order"
    loyal = [state[above == p] for p in np.flatnonzero((kind == 0) & (counts == 2))]
    assert np.mean([own[0] == own[1] for own in loyal]) > (0.99 if exact else 0.5), "by chance one in three"


def test_rows_of_few_persons_do_not_come_back() -> None:
    tables, links = _tables(900)
    order = OrderRules(keys=KEYS, order={"visits": ("day",)}, given=())
    few = links.above["visits"] < 9
    some = Links(
        keys=KEYS, sizes={"people": 900, "visits": int(few.sum())}, above={"visits": links.above["visits"][few]}
    )
    cut = {**tables, "visits": tables["visits"].take(few)}
    with pytest.raises(DataError, match="only 9 persons have rows in 'visits', and at least 10 must"):
        made_up(cut, some, Cart(), order, np.random.default_rng(0))
    # Of all persons nine have more than one row: nobody who is made up has
    above = links.above["visits"]
    first = np.append(True, np.diff(above) != 0) | (above < 9)
    once = Links(keys=KEYS, sizes={"people": 900, "visits": int(first.sum())}, above={"visits": above[first]})
    made = made_up({**tables, "visits": tables["visits"].take(first)}, once, Cart(), order, np.random.default_rng(0))
    assert np.bincount(made.links.above["visits"]).max() == 1


def _with_gaps(gaps: np.ndarray, levels: int = 0) -> tuple[dict[str, Records], Links]:
    """The tables with a column of visits in which all other cells are missing."""
    tables, links = _tables(900)
    blank = -1 if levels else np.nan
    column = _column("worth", np.where(gaps, blank, np.arange(len(gaps)) % 3 + 777), levels and 780)
    return {**tables, "visits": tables["visits"].with_variables(column)}, links


@pytest.mark.parametrize("method", [Cart(), Forest(trees=5), SequentialRegression()])
@pytest.mark.parametrize("levels", [0, 780])
def test_what_few_persons_have_in_a_column_does_not_come_back(method: Method, levels: int) -> None:
    """Nine persons have a number, or a word: it was drawn again, and the one number of a single person exactly so."""
    order = OrderRules(keys=KEYS, order={"visits": ("day",)}, given=())
    tables, links = _tables(900)
    above = links.above["visits"]
    first = np.append(True, np.diff(above) != 0)
    for people, has in ((1, "has"), (9, "have")):
        cut, _ = _with_gaps(~(first & (above < people)), levels)
        with pytest.raises(DataError, match=f"only {people} persons? {has} a cell in 'visits.worth', and at least 10"):
            made_up(cut, links, method, order, np.random.default_rng(0))
    # 200 persons have a cell in their first visit, nine in a later one: nobody who is made up has one there
    later = ~first & np.append(False, first[:-1]) & (above < 9)
    cut, _ = _with_gaps(~((first & (above < 200)) | later), levels)
    assert later.any()
    made = made_up(cut, links, method, order, np.random.default_rng(0))
    worth = next(v for v in made.variables["visits"] if v.name == "worth")
    _, begins = np.unique(made.links.above["visits"], return_index=True)
    again = np.delete(np.arange(len(worth.values)), begins)
    assert worth.missing[again].all() and not worth.missing[begins].all()


def test_rules_that_the_original_breaks_are_refused() -> None:
    tables, links = _tables(200)
    later = tables["people"].with_variables(_column("born", np.full(200, 50.0)))
    bound = OrderRule(TableColumn("people", "born"), TableColumn("visits", "day"))
    assert bound is not None
    order = OrderRules(keys=KEYS, order={"visits": ("day",)}, given=(bound,))
    with pytest.raises(DataError, match=r"\d+ rows of the original break 'people.born <= visits.day'"):
        made_up({**tables, "people": later}, links, Cart(), order, np.random.default_rng(0))
    words = OrderRules(keys=KEYS, order={"visits": ("state",)}, given=())
    with pytest.raises(DataError, match=r"'visits\.state' is neither a number nor a day"):
        made_up(tables, links, Cart(), words, np.random.default_rng(0))
    gap = tables["visits"].with_variables(_column("day", np.where(np.arange(links.sizes["visits"]) == 3, np.nan, 1.0)))
    days = OrderRules(keys=KEYS, order={"visits": ("day",)}, given=())
    with pytest.raises(DataError, match="1 row of 'visits' lack 'day', by which they are in order"):
        made_up({**tables, "visits": gap}, links, Cart(), days, np.random.default_rng(0))
