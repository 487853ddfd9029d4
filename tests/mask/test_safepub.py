"""SafePub: the choice of levels and the release against exact probabilities, and an attacker who counts."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_law
from scipy.stats import chisquare

import shoal
from shoal.kernels.generalisation import node_scores
from shoal.mask._generalisation.task import GeneralisationTask
from shoal.mask.safepub import QUALITY, permute_and_flip
from shoal.mask.sampled_classes import PARTS, Expected, PrivateSample
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.errors import ParameterError, PlanError
from shoal.vocabulary.facts import losses

TOWNS = {"nested": {"south": ["Arles", "Evora"], "north": ["Bonn", "Cork", "Delft"]}}
ILLS = {"nested": {"any": ["flu", "gout"]}}
COLUMNS = {"town": {"role": "quasi-identifier", "hierarchy": TOWNS}, "ill": {"role": "confidential", "hierarchy": ILLS}}
ROOT = {"town": (2, 2), "ill": (2, 2)}


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    towns = rng.choice(["Arles", "Bonn", "Cork", "Delft", "Evora"], n, p=[0.4, 0.3, 0.2, 0.09, 0.01])
    return pl.DataFrame({"town": towns, "ill": rng.choice(["flu", "gout"], n, p=[0.8, 0.2])})


def records(frame):
    return shoal.Microdata.of(frame, COLUMNS).records


def released(frame, seed=0, **parameters):
    method = shoal.SafePub(**{"epsilon": 1.0, "delta": 1e-3, **parameters})
    return method.apply(records(frame), ["town", "ill"], np.random.default_rng(seed))


def test_every_class_has_k_records_of_its_own_labels():
    change = released(people(2000))
    k, levels = change.details["k"], change.details["levels"]
    assert change.records.classes(["town", "ill"]).of_record.min() >= k
    table = people(2000)
    names = {"town": TOWNS["nested"], "ill": ILLS["nested"]}
    rows = change.records.rows
    for name, tree in names.items():
        paths = {leaf: (leaf, group, "*") for group, leaves in tree.items() for leaf in leaves}
        out = change.records[name]
        labels = [str(out.categories[code]) for code in out.values]
        assert labels == [paths[cell][levels[name]] for cell in table[name].gather(rows).to_list()]


def test_the_order_of_the_table_is_nowhere_in_the_release():
    table = people(1000)
    turned = table[::-1]

    def cells(frame):
        out = released(frame, levels={"town": (0, 0), "ill": (0, 0)}).records
        return [[out[name].categories[code] for code in out[name].values] for name in ("town", "ill")]

    for frame in (table, turned):
        pairs = list(zip(*cells(frame)))
        assert pairs == sorted(pairs) and len(set(pairs)) > 2


def test_delta_by_counting_both_tables_exactly():
    """Classes of a handful at one level: all outcomes with their probabilities, with a person more or less."""
    epsilon, delta = 1.0, 0.05
    method = shoal.SafePub(epsilon=epsilon, delta=delta, levels={"town": (0, 0), "ill": (2, 2)})
    facts = method.apply(records(people(50)), ["town", "ill"], np.random.default_rng(0)).details
    k, beta = facts["k"], facts["records are drawn with probability"]
    worst = 0.0
    for n in range(1, 60):
        larger, smaller = _outcomes(n, k, beta), _outcomes(n - 1, k, beta)
        for one, other in ((larger, smaller), (smaller, larger)):
            worst = max(worst, sum(max(p - math.exp(epsilon) * other.get(o, 0.0), 0.0) for o, p in one.items()))
    assert 0.2 * delta < worst <= delta
    assert facts["privacy loss"] == {"epsilon": epsilon, "delta": delta, "columns": ["town", "ill"]}


def _outcomes(n, k, beta):
    """What is seen of a class, with its probability: how many records, none where under k were drawn."""
    out = Counter()
    for j in range(n + 1):
        out[j if j >= k else 0] += math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return out


def test_an_attacker_who_counts_learns_no_more_than_was_promised_and_near_as_much():
    """Thousands of classes, each with one person more in one of two tables; and a method that promises less.

    From how often an event is seen in each, P[with] > exp(epsilon) P[without] + delta is refuted or not at 1 - 10^-6.
    """
    epsilon, delta, classes = 1.0, 0.05, 4000
    promised = shoal.SafePub(epsilon=epsilon, delta=delta, levels={"town": (0, 0), "ill": (2, 2)})
    n = _worst_size(promised)
    codes = [f"{i:04d}" for i in range(classes)]
    tree = {"role": "quasi-identifier", "hierarchy": {"nested": {"some": codes[:9], "others": codes[9:]}}}

    def seen(size, method, seed):
        frame = pl.DataFrame({"town": codes * size, "ill": ["flu"] * (classes * size)})
        data = shoal.Microdata.of(frame, {**COLUMNS, "town": tree}).records
        out = method.apply(data, ["town", "ill"], np.random.default_rng(seed)).records["town"]
        return Counter(np.bincount(out.values, minlength=classes).tolist())

    excess = _excess_at_least(seen(n, promised, 1), seen(n - 1, promised, 2), math.exp(epsilon), classes)
    assert 0 < excess <= delta
    weaker = shoal.SafePub(epsilon=3.0, delta=0.3, levels={"town": (0, 0), "ill": (2, 2)})
    assert _excess_at_least(seen(n, weaker, 3), seen(n - 1, weaker, 4), math.exp(epsilon), classes) > delta


def _worst_size(method):
    facts = method.apply(records(people(50)), ["town", "ill"], np.random.default_rng(0)).details
    drawing = PrivateSample(epsilon=Fraction(1), chance=round(facts["records are drawn with probability"] * PARTS))
    k = facts["k"]

    def excess(n):
        larger, smaller = _outcomes(n, k, drawing.probability), _outcomes(n - 1, k, drawing.probability)
        return sum(max(p - math.e * smaller.get(o, 0.0), 0.0) for o, p in larger.items())

    return max(range(k, 60), key=excess)


def _excess_at_least(one, other, grow, runs):
    """A lower bound on P[E] - grow P'[E] for the best event of at least so many records, by Clopper & Pearson."""
    best = -1.0
    for least in sorted(one):
        a = sum(count for size, count in one.items() if size >= least)
        b = sum(count for size, count in other.items() if size >= least)
        low = beta_law.ppf(5e-7, a, runs - a + 1) if a else 0.0
        high = beta_law.ppf(1 - 5e-7, b + 1, runs - b)
        best = max(best, low - grow * high)
    return best


def test_permute_and_flip_keeps_epsilon_where_scores_rise_by_its_sensitivity_at_most():
    """Exact probabilities by all orders: any rise of any places changes the odds by exp(epsilon) at most."""
    epsilon = 1.0
    rng = np.random.default_rng(0)
    ratios = []
    for scores in rng.integers(0, 6, (40, 3)) / 2:
        for rise in itertools.product((0, 1), repeat=3):
            p, q = _flips(scores, epsilon), _flips(scores + np.array(rise), epsilon)
            ratios += [*(p / q), *(q / p)]
    assert 0.9 * math.e < max(ratios) <= math.e * (1 + 1e-9)


def _flips(scores, rate):
    """The probabilities of permute-and-flip, order by order."""
    heads = np.exp(-rate * (scores.max() - scores))
    out = np.zeros(len(scores))
    for order in itertools.permutations(range(len(scores))):
        left = 1.0
        for place in order:
            out[place] += left * heads[place] / math.factorial(len(scores))
            left *= 1 - heads[place]
    return out


def test_permute_and_flip_draws_with_these_probabilities():
    scores = np.array([0, 7, 10, 4])
    stream = SecretStream(np.random.default_rng(3))
    drawn = Counter(permute_and_flip(scores, 4, Fraction(3, 2), stream) for _ in range(3000))
    law = _flips(scores / 4, 1.5)
    assert chisquare([drawn[i] for i in range(4)], 3000 * law).pvalue > 1e-6


cells = st.lists(st.tuples(st.sampled_from(["Arles", "Bonn", "Cork"]), st.sampled_from(["flu", "gout"])), min_size=2)


@given(rows=cells, k=st.integers(1, 3))
def test_scores_are_those_of_a_slow_twin_and_one_record_moves_them_little(rows, k):
    expected = Expected(chance=PARTS // 3, k=k)

    def scores(rows):
        frame = pl.DataFrame({"town": [town for town, _ in rows], "ill": [ill for _, ill in rows]})
        task = GeneralisationTask.of(records(frame), records(frame).variables, {}, "ncp")
        made = node_scores(task.table, expected.table, expected.slope, suppressed=task.whole, unit=QUALITY)
        return made.reshape([ladder.height + 1 for ladder in task.table.ladders])

    made = scores(rows)
    paths = [{"Arles": ("Arles", "s", "*"), "Bonn": ("Bonn", "n", "*"), "Cork": ("Cork", "n", "*")}]
    paths.append({"flu": ("flu", "any", "*"), "gout": ("gout", "any", "*")})
    under = [{"Arles": 1, "Bonn": 1, "Cork": 1, "s": 2, "n": 3, "*": 5}, {"flu": 1, "gout": 1, "any": 2, "*": 2}]
    for node in np.ndindex(*made.shape):
        classes = Counter(tuple(p[c][level] for p, c, level in zip(paths, row, node)) for row in rows)
        total = 0
        for labels, count in classes.items():
            last = len(expected.table) - 1
            worth = int(expected.table[min(count, last)]) + max(count - last, 0) * expected.slope
            loss = sum((u[label] - 1) / (u["*"] - 1) for u, label in zip(under, labels)) / 2
            total += worth * math.floor((1 - loss) * QUALITY + 1e-9)
        assert abs(int(made[node]) - total) <= len(classes) * expected.table.max()  # a last digit of a loss
    if len(rows) > 2:
        change = made - scores(rows[1:])
        assert change.min() >= 0 and change.max() <= expected.sensitivity * QUALITY


def test_what_is_chosen_loses_little_and_costs_what_was_said():
    change = released(people(3000), epsilon=2.0, delta=1e-5)
    assert change.details["levels"] == {"town": 0, "ill": 0} or change.details["loss"] < 0.4
    assert change.details["epsilon of the choice of levels"] == pytest.approx(0.1)
    fixed = released(people(3000), epsilon=2.0, delta=1e-5, levels=ROOT)
    assert fixed.details["epsilon of the choice of levels"] == 0
    assert fixed.details["k"] != change.details["k"]  # all of epsilon is for the release


def test_a_person_of_several_records_is_paid_for():
    facts = released(people(), levels=ROOT, records_per_person=3).details
    one = PrivateSample(epsilon=Fraction(1, 3), chance=round(facts["records are drawn with probability"] * PARTS))
    assert one.delta(facts["k"]) * sum(math.exp(i / 3) for i in range(3)) <= 1e-3


def test_too_much_is_refused():
    with pytest.raises(ParameterError, match=r"fraction must be at most 0\.6321 for this epsilon; got 0\.7"):
        released(people(), levels=ROOT, fraction=0.7)
    with pytest.raises(ParameterError, match="9 combinations of levels are more than most_nodes, 8"):
        released(people(), most_nodes=8)
    gap = people().with_columns(town=pl.Series([None, *people()["town"].to_list()[1:]]))
    spec = {**COLUMNS, "town": {**COLUMNS["town"], "missing": "keep"}}
    with pytest.raises(shoal.DataError, match="town"):
        shoal.SafePub(epsilon=1.0, delta=0.01).apply(
            shoal.Microdata.of(gap, spec).records, ["town", "ill"], np.random.default_rng(0)
        )


STEP = {"mask": "safepub", "epsilon": 1.0, "delta": 1e-3}
AGE = {"role": "quasi-identifier", "level": "ordinal", "hierarchy": {"intervals": [5, 20]}}


@pytest.mark.parametrize(
    ("columns", "step", "sections", "message"),
    [
        ({"age": "confidential"}, {"columns": ["town", "ill"]}, {}, "'age' is released and not among its columns"),
        ({"age": AGE}, {}, {}, "hierarchy of 'age' is made of the values that the table has.* or say loss: precision"),
        (
            {"age": {**AGE, "hierarchy": {"masking": "right"}}},
            {"loss": "precision"},
            {},
            "hierarchy of 'age' is made of the values",
        ),
        ({"age": AGE}, {"loss": "precision"}, {"constraints": ["town != 'Evora'"]}, "keep the plan's rules"),
    ],
    ids=["column left out", "leaves of the table", "heights of the table", "rules"],
)
def test_a_plan_that_tells_more_is_refused(columns, step, sections, message):
    table = people().with_columns(age=np.random.default_rng(1).integers(20, 60, 400))
    plan = {"columns": {**COLUMNS, **columns}, "steps": [{**STEP, **step}], **sections}
    with pytest.raises(PlanError, match=message):
        shoal.protect(table, plan, seed=1)


def test_other_private_noise_is_refused_beside_it():
    table = people().with_columns(pay=np.random.default_rng(1).uniform(0, 9, 400))
    noise = {"mask": "laplace", "epsilon": 1, "columns": ["pay"], "bounds": {"pay": [0, 9]}}
    plan = {"columns": {**COLUMNS, "pay": "confidential"}, "steps": [noise, {**STEP, "columns": ["town", "ill"]}]}
    with pytest.raises(PlanError, match="safepub promises for whole records"):
        shoal.protect(table, plan, seed=1)


def test_a_release_is_proved_by_it_and_the_folder_tells_nothing_of_who_was_left_out(tmp_path):
    """A table with further people of a class that is left out as a whole: the same release, and the same folder."""
    names = pl.Series("name", [f"person {i}" for i in range(1200)])
    table = people(1200).filter(pl.col("town") != "Evora")
    plan = {
        "columns": {"name": "identifier", **COLUMNS},
        "steps": [{**STEP, "levels": {"town": [0, 0], "ill": [0, 0]}}],
        "measures": [{"utility": "label-loss"}, {"utility": "contingency"}],
    }
    folders = []
    for number, further in enumerate(([], [("Evora", "flu")] * 3)):
        more = pl.DataFrame(further, schema=table.schema, orient="row")
        both = pl.concat([table, more])  # later draws leave those before them as they are
        release = shoal.protect(both.with_columns(names[: len(both)]), plan, seed=5)
        assert release.record["proved"] and "Evora" not in release.data["town"].to_list()
        assert release.record["steps"][-1]["delta of all steps"] == 1e-3
        spent = [loss for step in release.account.steps for loss in losses(step.facts)]
        assert [(loss.epsilon, loss.delta) for loss in spent] == [(1.0, 1e-3)]
        out = release.write(tmp_path / str(number)) / "release"
        folders.append({path.name: path.read_bytes() for path in sorted(out.iterdir())})
    assert folders[0] == folders[1]
