"""Tables made anew from private marginals: refusals, what is public, and what two neighbouring tables can tell."""

import hashlib
import itertools
import json
import math
import shutil
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from scipy.stats import beta as beta_law

import shoal
from by_night import by_night, by_turns, only_by_night
from shoal.cli.main import cli
from shoal.mask._marginals.account import rate_for, rho_of, variance_for
from shoal.mask._marginals.domain import Domain
from shoal.mask._marginals.junction_tree import JunctionTree, cells
from shoal.mask._marginals.model import Fitting, JointLaw, NoisyMarginal
from shoal.mask._marginals.selection import UNIT, OfTable, Scoring, SelectionCourse
from shoal.mask._marginals.shrinking import shrunken
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.errors import DataError, InputError, ParameterError, PlanError

DOMAIN = {"sex": ["female", "male"], "age": [0, 20, 40, 60, 80, 110], "ill": ["flu", "gout", "none", None]}
ROLES = {"sex": "quasi-identifier", "age": "quasi-identifier", "ill": {"role": "confidential", "missing": "keep"}}


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, n)
    ill = np.where(age > 60, "gout", rng.choice(["flu", "none"], n))
    cells = [None if lacks else cell for cell, lacks in zip(ill.tolist(), rng.random(n) < 0.1)]
    return pl.DataFrame({"sex": rng.choice(["female", "male"], n), "age": age, "ill": cells})


def step(**more):
    return {"mask": "private-marginals", "epsilon": 1, "delta": 1e-6, "domain": DOMAIN, **more}


def plan(**more):
    return {"columns": ROLES, "steps": [step()], **more}


def made(frame, seed=0, roles=ROLES, **parameters):
    method = shoal.PrivateMarginals(**{"epsilon": 1.0, "delta": 1e-6, "domain": DOMAIN, **parameters})
    records = shoal.Microdata.of(frame, roles).records
    columns = [name for name in frame.columns if name in method.domain]
    return method.apply(records, columns, np.random.default_rng(seed))


def written(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.iterdir())}


# What comes out


def test_cells_lie_in_the_domain_and_the_table_is_like_the_original():
    frame = people(5000)
    data = shoal.protect(frame, plan(), seed=1).data
    assert set(data["sex"].unique()) <= {"female", "male"}
    assert data["age"].dtype == pl.Int64 and data["age"].min() >= 0 and data["age"].max() <= 110
    assert set(data["ill"].unique()) <= {"flu", "gout", "none", None}
    assert len(data) != len(frame) and abs(len(data) - len(frame)) < 400
    old = data.filter(pl.col("age") >= 60)
    assert (old["ill"] == "gout").mean() > 0.85
    assert ((frame["sex"] == "male").mean() - (data["sex"] == "male").mean()) < 0.05


def test_more_epsilon_less_error():
    frame = people(3000)
    shares = frame["ill"].fill_null("").value_counts(normalize=True).sort("ill")["proportion"].to_numpy()

    def error(epsilon):
        out = made(frame, epsilon=epsilon).records["ill"]
        return float(np.abs(np.bincount(out.values + 1, minlength=4) / len(out) - shares).sum())

    assert error(0.05) > 3 * error(10)


def test_rules_hold_in_every_record_and_cost_nothing():
    """Married children are in the table and in no release."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": rng.integers(0, 100, 800), "married": rng.choice(["no", "yes"], 800)})
    roles = dict.fromkeys(frame.columns, "quasi-identifier")
    domain = {"age": [0, 15, 40, 100], "married": ["no", "yes"]}
    out = made(frame, roles=roles, domain=domain, rules=["age <= 14 -> married == 'no'"]).records
    married = out["married"].values == 1
    assert out["age"].values[married].min() >= 15
    assert 0.2 < married.mean() < 0.6
    free = made(frame, roles=roles, domain=domain).records
    assert free["age"].values[free["married"].values == 1].min() < 15


def test_pairs_beside_a_column_come_first_and_the_model_stays_within_its_cells():
    frame = people(3000).with_columns(pl.Series("area", np.random.default_rng(7).choice(["a", "b", "c"], 3000)))
    roles, domain = {**ROLES, "area": "quasi-identifier"}, {**DOMAIN, "area": ["a", "b", "c"]}
    facts = made(frame, roles=roles, domain=domain, by="age", pairs=3, epsilon=20.0).details
    assert facts["pairs measured"][0] == ["age", "ill"] and len(facts["pairs measured"]) == 3
    shape = (2, 5, 4, 3)
    search = SelectionCourse(shape=shape, rho=Fraction(1), by=1, pairs=3, most_cells=10**4, possible={}, sensitivity=1)
    pairs = list(itertools.combinations(range(4), 2))
    flat = JointLaw.of(shape, JunctionTree.of(shape, []), {})
    scoring = search._scoring(flat, 1200, pairs, [Fraction(1, 3)] * len(pairs))
    assert scoring.weights.tolist() == [2 if 1 in pair else 1 for pair in pairs]
    assert all((scoring.expected[pair] == pytest.approx(1200 / cells(shape, pair))) for pair in pairs)
    few = made(frame, roles=roles, domain=domain, most_cells=25).details["pairs measured"]
    assert len(few) <= 2
    with pytest.raises(ParameterError, match="more than most_cells, 10"):
        made(frame, roles=roles, domain=domain, most_cells=10)


def test_a_code_whose_group_follows_from_it_shuts_out_no_other_pair():
    """Area (0) by code (1), group of the code (2), age (3), and a rule of age and group: all pairs with area fit in."""
    group = np.zeros((60, 5), dtype=bool)
    group[np.arange(60), np.arange(60) % 5] = True
    free = np.ones((5, 6), dtype=bool)
    free[0, 0] = False
    for rules, fits in (({(1, 2): group, (2, 3): free}, True), ({(1, 2): np.ones((60, 5), dtype=bool)}, False)):
        possible = {**rules, (2, 3): free}
        search = SelectionCourse(
            shape=(4, 60, 5, 6), rho=Fraction(1), by=0, pairs=6, most_cells=400, possible=possible, sensitivity=1
        )
        assert search._cells([(0, 1)]) == (60 if fits else 300) + 30 + 240
        assert ((0, 3) in search._open([(0, 1)])) == fits
    codes = np.column_stack([np.random.default_rng(0).integers(0, 4, 900), np.arange(900) % 60])
    codes = np.column_stack([codes, codes[:, 1] % 5, 1 + codes[:, 1] % 4])
    table = OfTable(codes=codes, shape=(4, 60, 5, 6), sensitivity=1, stream=SecretStream(np.random.default_rng(0)))
    search = replace(search, possible={(1, 2): group, (2, 3): free}, rho=Fraction(5), most_cells=2000)
    law, _, chosen = search.fitted(table, None)
    assert len(chosen) == 6
    (place,) = [place for place, clique in enumerate(law.tree.cliques) if {1, 2} <= set(clique)]
    whole = cells((4, 60, 5, 6), law.tree.cliques[place])  # in which records are drawn
    assert law.tables[place].size == whole
    assert law.marginal((1, 2))[~group].sum() == 0


def test_the_costs_of_pairs_never_add_up_to_more_than_is_left():
    """Whatever is chosen, a cheap or a dear pair each time: the last one gets the rest."""
    shape = (2, 50, 4, 3, 9)
    search = SelectionCourse(
        shape=shape, rho=Fraction(1), by=None, pairs=4, most_cells=10**5, possible={}, sensitivity=1
    )
    pairs = list(itertools.combinations(range(5), 2))
    for taken in (min, max):
        left, waiting = Fraction(3, 7), list(pairs)
        for number in (4, 3, 2, 1):
            costs = search._rho_of_pairs(waiting, left, number)
            assert all(0 < cost <= left for cost in costs)
            sizes = [cells(shape, pair) for pair in waiting]
            order = np.argsort(sizes, kind="stable")
            assert (np.diff([float(costs[place]) for place in order]) >= 0).all()  # large pairs get more
            place = costs.index(taken(costs))
            left -= costs[place]
            waiting.pop(place)
        assert 0 <= left < Fraction(1, 2**59)


def test_noisy_counts_are_drawn_towards_what_was_expected_as_far_as_they_are_noise():
    rng = np.random.default_rng(0)
    expected = np.full((20, 30), 40.0)
    error = {}
    for deviation in (0.0, 15.0, 500.0):
        true = expected + rng.normal(0, deviation, expected.shape)
        noisy = NoisyMarginal(columns=(0, 1), counts=np.rint(true + rng.normal(0, 30, true.shape)), variance=900)
        drawn = shrunken(noisy, expected)
        assert drawn.variance == 900 and drawn.columns == (0, 1)
        error[deviation] = [float(np.sqrt(((x.counts - true) ** 2).mean())) for x in (noisy, drawn)]
    assert error[0.0][1] < 0.2 * error[0.0][0]
    assert error[15.0][1] == pytest.approx(1 / np.sqrt(1 / 30**2 + 1 / 15**2), rel=0.1)  # that of the best estimate
    assert error[500.0][1] == pytest.approx(error[500.0][0], rel=0.02)
    exact = NoisyMarginal(columns=(0, 1), counts=np.full((20, 30), 70), variance=1)
    assert np.allclose(shrunken(exact, expected).counts, 70, atol=2.0)


def test_an_end_that_stands_twice_is_a_value_by_itself():
    """Zeros and a top code come back as often as they are, and nothing else falls on them."""
    rng = np.random.default_rng(1)
    pay = np.concatenate([np.zeros(600), rng.integers(1, 10, 400), rng.integers(10, 99, 300), np.full(500, 99)])
    frame = pl.DataFrame({"pay": pay.astype(int), "half": pay / 2})
    stated = {"pay": [0, 0, 10, 99, 99], "half": [0.0, 0.0, 5.25, 49.5, 49.5]}
    roles = dict.fromkeys(frame.columns, "other")
    out = made(frame, roles=roles, domain=stated, epsilon=20.0).records
    for name, last in (("pay", 99), ("half", 49.5)):
        x = out[name].values
        assert (x == 0).sum() == pytest.approx(600, abs=15)
        assert (x == last).sum() == pytest.approx(500, abs=15)
        assert x.min() == 0 and x.max() == last
    assert set(np.unique(out["pay"].values[out["pay"].values < 10])) == set(range(10))
    data = shoal.Microdata.of(frame, roles).records
    for name, ends in stated.items():
        domain = Domain.of(data[name], {name: tuple(ends)})
        by_hand = [0 if x == ends[0] else 3 if x == ends[-1] else 1 if x < ends[2] else 2 for x in data[name].values]
        assert domain.size == 4 and domain.codes(data[name]).tolist() == by_hand
        corners, codes = domain.corners()
        assert domain.codes(corners).tolist() == codes.tolist() or name == "half"  # ends that intervals do not reach
    for wrong, message in (([0, 0, 0, 5], "ascending"), ([0, 5, 3], "ascending"), ([0, 0, 1, 5], "only 1 above it")):
        with pytest.raises(ParameterError, match=message):
            Domain.of(data["pay"], {"pay": tuple(wrong)})
    near = Domain.of(data["pay"], {"pay": (0, 1, 1, 5)})
    drawn = near.variable(np.repeat(np.arange(3), 50), SecretStream(rng)).values.reshape(3, 50)
    assert [set(cells.tolist()) for cells in drawn] == [{0.0}, {1.0}, {2.0, 3.0, 4.0, 5.0}]


def test_numbers_are_drawn_from_their_intervals_and_missing_ones_stay():
    frame = pl.DataFrame({"x": [0.25, 0.5, None, 7.5] * 300, "y": [1, 5, 9, 12] * 300})
    roles = dict.fromkeys(frame.columns, "other")
    out = made(frame, roles=roles, domain={"x": [0.0, 0.75, 8.5, None], "y": [0, 5, 10]}, epsilon=20.0).records
    x, y = out["x"].values, out["y"].values
    missing = np.isnan(x)
    assert 0.2 < missing.mean() < 0.3
    assert (x[~missing] >= 0).all() and (x[~missing] < 8.5).all() and (x[~missing] % 1 != 0).any()
    assert set(np.unique(y)) == set(range(11))  # the last interval holds its end, where 12 counts
    assert (y[missing] < 5).sum() <= 3  # none but by noise, whose variance is 1 at least
    assert (x[~missing] < 0.75).mean() == pytest.approx(2 / 3, abs=0.05)


# What is refused


@pytest.mark.parametrize(
    ("domain", "sentence"),
    [
        ({"sex": ["female", "male"], "age": [0, 110]}, "'ill' is not there"),
        ({**DOMAIN, "ill": ["flu", "gout", "none"]}, "'ill' has .* missing"),
        ({**DOMAIN, "ill": ["flu", "gout", None]}, "'ill' has .* that its domain does not list"),
        ({**DOMAIN, "sex": ["male", "male"]}, "those of 'sex' are not"),
        ({**DOMAIN, "ill": [None]}, "those of 'ill' are not"),
        ({**DOMAIN, "age": [0, 40, 20]}, "'age' must be ascending"),
        ({**DOMAIN, "age": [50]}, "'age' holds numbers"),
        ({**DOMAIN, "age": ["young", "old"]}, "'age' holds numbers"),
    ],
)
def test_a_domain_must_be_stated_for_every_column_and_hold_its_cells(domain, sentence):
    with pytest.raises(InputError, match=sentence) as raised:
        made(people(), domain=domain) if "ill" in domain else shoal.protect(people(), plan(steps=[step(domain=domain)]))
    assert not any(cell in str(raised.value) for cell in ("flu", "gout'"))


def test_days_are_refused():
    frame = people(50).with_columns(day=pl.date(2026, 1, 1))
    with pytest.raises(DataError, match="'day' holds days"):
        made(frame, roles={**ROLES, "day": "other"}, domain={**DOMAIN, "day": [0, 1]})
    with pytest.raises(DataError, match="'day' holds days or other"):
        made(frame, roles={**ROLES, "day": {"role": "other", "level": "nominal"}}, domain={**DOMAIN, "day": ["2026"]})


def test_parameters_that_cannot_be():
    with pytest.raises(ParameterError, match="two columns"):
        made(people().select("sex"), roles={"sex": "other"})
    with pytest.raises(ParameterError, match="'area' is not"):
        made(people(), by="area")
    with pytest.raises(ParameterError, match="standard deviation"):
        made(people(), epsilon=1e-4)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"steps": [step(), {"mask": "noise", "variance": 0.1, "columns": ["age"]}]},
            "makes records that are nobody's",
        ),
        ({"steps": [{"mask": "noise", "variance": 0.1, "columns": ["age"]}, step()]}, "comes before it"),
        ({"steps": [step(columns=["age", "sex"])]}, "'ill' is released and not among its columns"),
        ({"constraints": ["age >= 0"]}, "whether the records keep the plan's rules"),
        ({"columns": {**ROLES, "age": {"role": "quasi-identifier", "missing": "impute"}}}, "'age' are imputed"),
        ({"output": {"copies": 2}}, "spends it anew"),
        ({"publish": "exact"}, "does not pay for a figure"),
    ],
)
def test_plans_whose_release_would_tell_more_are_refused(more, sentence):
    with pytest.raises(InputError, match=sentence):
        shoal.protect(people(), plan(**more))


# The mechanism


def test_scores_move_by_their_sensitivity_at_most_and_counts_by_one_record():
    rng = np.random.default_rng(0)
    shape = (3, 4, 2)
    codes = np.column_stack([rng.integers(0, m, 50) for m in shape])
    pairs = [(0, 1), (0, 2), (1, 2)]
    expected = {pair: rng.exponential(5, [shape[c] for c in pair]) for pair in pairs}
    weights = np.array([1, 3, 1])

    def scores(table):
        seen = []
        mechanism = OfTable(codes=table, shape=shape, sensitivity=2, stream=SecretStream(np.random.default_rng(0)))
        scoring = Scoring(expected=expected, less=np.zeros(3, dtype=np.int64), weights=weights)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "shoal.mask._marginals.selection.exponential_choice",
                lambda scores, rate, stream: seen.append((scores, rate)) or 0,
            )
            mechanism.choose(pairs, scoring, Fraction(1, 8))
        return seen[0]

    largest = 0
    for left_out in range(50):
        (with_record, rate), (without, _) = scores(codes), scores(np.delete(codes, left_out, axis=0))
        largest = max(largest, int(np.abs(with_record - without).max()))
        assert (np.abs(with_record - without) <= UNIT * weights).all()
    assert largest == 3 * UNIT
    assert rate == rate_for(Fraction(1, 8), 3 * UNIT * 2)


class Listening:
    """A mechanism that adds nothing to the counts and writes down what it is asked, and what that costs."""

    def __init__(self, of_table, pick):
        self.of_table, self.pick, self.spent, self.asked = of_table, pick, Fraction(0), []

    def measure(self, columns, rho):
        self.spent += rho
        self.asked.append(columns)
        counts = np.rint(self.of_table._count(columns)).astype(np.int64)
        return NoisyMarginal(columns=columns, counts=counts, variance=variance_for(rho, 1))

    def choose(self, pairs, scoring, rho):
        self.spent += rho
        return self.pick(len(pairs))


@pytest.mark.parametrize("pairs", [1, 2, 3, 7])
def test_what_is_asked_of_the_table_costs_no_more_than_rho(pairs):
    shape = (3, 4, 2)
    codes = np.column_stack([np.random.default_rng(0).integers(0, m, 90) for m in shape])
    of_table = OfTable(codes=codes, shape=shape, sensitivity=1, stream=SecretStream(np.random.default_rng(0)))
    rho = Fraction(1, 50)
    search = SelectionCourse(shape=shape, rho=rho, by=None, pairs=pairs, most_cells=1000, possible={}, sensitivity=1)
    listening = Listening(of_table, lambda m: m - 1)
    _, total, chosen = search.fitted(listening, None)
    assert total == 90
    assert len(chosen) == min(pairs, 3) and len(set(chosen)) == len(chosen)
    assert rho * Fraction(min(pairs, 3), pairs) * Fraction(4, 5) <= listening.spent <= rho


def test_noise_of_a_measured_column_is_within_the_law_on_neighbouring_tables():
    """All noisy counts of one small column, on a table and the one without a record: odds within rho's epsilon."""
    rho, runs = Fraction(1, 8), 30_000
    variance = variance_for(rho, 1)

    def frequencies(records, seed):
        codes = np.zeros((records, 1), dtype=np.int64)
        source = SecretStream(np.random.default_rng(seed))
        mechanism = OfTable(codes=codes, shape=(runs,), sensitivity=1, stream=source)
        mechanism._counts[0,] = np.full(runs, records)
        return Counter(mechanism.measure((0,), rho).counts.tolist())

    first, second = frequencies(7, 1), frequencies(6, 2)
    for x in range(2, 12):
        expected = math.exp(((x - 6) ** 2 - (x - 7) ** 2) / (2 * variance))
        margin = 6 * math.sqrt(1 / first[x] + 1 / second[x])
        assert math.log(first[x] / second[x]) == pytest.approx(math.log(expected), abs=margin)


def test_persons_keep_no_more_records_than_they_may_and_are_hidden_together():
    frame = people(300).with_columns(person=pl.Series([1] * 100 + list(range(2, 202))))
    roles = {**ROLES, "person": {"role": "person", "release_key": False}}
    facts = made(frame, roles=roles, records_per_person=3).details
    assert facts["records counted"] == 203
    roles = {**roles, "person": {**roles["person"], "missing": "keep"}}
    missing = frame.with_columns(person=pl.when(pl.col("person") == 1).then(None).otherwise(pl.col("person")))
    assert made(missing, roles=roles, records_per_person=3).details["records counted"] == 200
    release = shoal.protect(frame, {"columns": roles, "steps": [step(records_per_person=3)]}, seed=1)
    assert set(release.data.columns) == {"sex", "age", "ill"}


# What is public


class Scripted:
    """A mechanism whose answers are laid down, whatever the table."""

    def measure(self, columns, rho):
        shape = tuple(self.shape[c] for c in columns)
        counts = np.random.default_rng(list(columns)).integers(0, 60, shape)
        return NoisyMarginal(columns=columns, counts=counts, variance=40)

    def choose(self, pairs, scoring, rho):
        return len(pairs) // 2

    def __init__(self, shape):
        self.shape = shape


NEIGHBOURS = {
    "a record less": people(400)[1:],
    "many records more": pl.concat([people(400), people(90, 4)]),
    "a category less": people(400).filter(pl.col("ill").is_null() | (pl.col("ill") != "gout")),
    "no cell missing": people(400).with_columns(pl.col("ill").fill_null("none")),
    "a constant column": people(400).with_columns(sex=pl.lit("male")),
    "numbers out of the domain": people(400).with_columns(age=pl.col("age") + 5000),
    "few": people(400)[:3],
}


@pytest.mark.parametrize("name", by_turns(NEIGHBOURS, 0, 2))
def test_public_bytes_are_a_function_of_the_mechanism_alone(name, tmp_path, monkeypatch):
    """Two tables, the same answers of the mechanism, the same seed: the same folder to the last byte."""
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Scripted(shape))
    for place, frame in (("a", people(400)), ("b", NEIGHBOURS[name])):
        shoal.protect(frame, plan(release={"title": "People"}), tmp_path / place, seed=5)
    first, second = (written(tmp_path / place / "release") for place in "ab")
    assert first == second
    assert len(first) == 4


def test_public_bytes_of_numbers_as_categories_do_not_tell_which_occur(tmp_path, monkeypatch):
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Scripted(shape))
    roles = {name: {"role": "other", "level": "nominal"} for name in ("f", "b", "i", "c")}
    domain = {"f": [0.5, 1.5], "b": [True, False], "i": [1, 2, 3], "c": ["u", "v"]}
    tables = [
        pl.DataFrame({"f": f, "b": b, "i": i, "c": pl.Series(c, dtype=pl.Categorical)})
        for f, b, i, c in (
            ([0.5, 1.5], [True, False], [1, 2], ["u", "v"]),
            ([0.5, 0.5], [True, True], [3, 3], ["u", "u"]),
        )
    ]
    for kind in ("csv", "parquet"):
        for place, frame in enumerate(tables):
            sections = {"columns": roles, "steps": [step(domain=domain)], "output": {"format": kind}}
            shoal.protect(frame, sections, tmp_path / f"{kind}{place}", seed=5)
        first, second = (written(tmp_path / f"{kind}{place}" / "release") for place in (0, 1))
        assert first == second


def test_the_public_folder_says_what_was_spent_and_the_private_one_what_was_measured(tmp_path):
    shoal.protect(people(), plan(), tmp_path / "out", seed=3)
    public = json.loads((tmp_path / "out" / "release" / "evidence.json").read_text())
    facts = public["steps"][0]["facts"]
    assert facts["privacy loss: epsilon"] == "1" and facts["privacy loss: delta"] == "0.000001"
    assert facts["privacy loss: columns"] == "sex, age, ill"
    assert "pairs measured" not in json.dumps(public) and "records counted" not in json.dumps(public)
    assert public["proved"] is True
    assert "pairs measured" in (tmp_path / "out" / "private" / "record.json").read_text()


def test_a_ledger_charges_everybody(tmp_path):
    frame = people(60).with_columns(name=pl.Series([f"P{i}" for i in range(60)]))
    sections = {
        "columns": {**ROLES, "name": "identifier"},
        "steps": [step()],
        "ledger": {"key": "name", "epsilon": {"*": 1.5}},
    }
    file = tmp_path / "ledger.sqlite"
    shoal.protect(frame, sections, tmp_path / "a", seed=1, ledger=file)
    for others in (frame, frame.with_columns(pl.col("name") + " of elsewhere")):  # what is left tells of nobody
        with pytest.raises(shoal.Refused, match=r"0\.5 is left for everybody"):
            shoal.protect(others, sections, tmp_path / "b", seed=2, ledger=file)
    with pytest.raises(PlanError, match="Leave m out"):
        shoal.protect(frame, {**sections, "ledger": {"key": "name", "m": 2}}, tmp_path / "c", ledger=tmp_path / "new")


# An attack


class Overheard(OfTable):
    """A mechanism whose every answer is seen: whatever is released is a function of these."""

    def measure(self, columns, rho):
        measured = super().measure(columns, rho)
        self._counts.setdefault("overheard", []).append(measured)
        return measured


def test_a_canary_is_seen_no_more_often_than_epsilon_allows_and_seen_where_less_is_promised(monkeypatch):
    """A record with a combination of its own, in the table or not: the attacker sums its noisy counts in many runs."""
    shape = (3, 3)
    table = np.array([[0, 0], [1, 1]] * 10)
    uniform = JointLaw.of(shape, JunctionTree.of(shape, [(0, 1)]), {})
    monkeypatch.setattr(Fitting, "fit", lambda self, measured, start, steps: (uniform, {}))  # nothing that is seen

    def evidence(codes, rho, seed):
        mechanism = Overheard(codes=codes, shape=shape, sensitivity=1, stream=SecretStream(np.random.default_rng(seed)))
        search = SelectionCourse(shape=shape, rho=rho, by=None, pairs=1, most_cells=99, possible={}, sensitivity=1)
        search.fitted(mechanism, None)
        return sum(m.counts[(2,) * len(m.columns)] / m.variance for m in mechanism._counts["overheard"])

    runs = by_night(130, 300)

    def bound(epsilon):
        canary, rho = np.vstack([table, [2, 2]]), rho_of(Fraction(epsilon), Decimal("0.001"))
        inside, outside = (
            np.array([evidence(codes, rho, 1000 * place + seed) for seed in range(runs)])
            for place, codes in enumerate((canary, table))
        )
        line = (np.median(inside) + np.median(outside)) / 2
        hits, alarms = int((inside > line).sum()), int((outside > line).sum())
        low, high = beta_law.ppf(0.005, hits, runs - hits + 1), beta_law.ppf(0.995, alarms + 1, runs - alarms)
        return math.log(max(low - 1e-3, 1e-9) / high)

    assert bound(1) <= 1
    assert bound(30) > 1  # up to there variances, which are whole numbers, are too large


CATEGORY = {**ROLES, "ill": {"role": "confidential", "missing": "category"}}


def test_missing_cells_may_be_a_category(tmp_path, monkeypatch):
    """They are the domain's null, as with missing: keep; whether some are there is not told."""
    frame = people(400)
    kept, category = (made(frame, roles=roles).records for roles in (ROLES, CATEGORY))
    assert all(np.array_equal(kept[name].values, category[name].values) for name in ROLES)
    assert category["ill"].missing.any()
    with pytest.raises(DataError, match=r"'ill' has .* missing cells, and its domain has no null"):
        made(frame, roles=CATEGORY, domain={**DOMAIN, "ill": ["flu", "gout", "none"]})
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Scripted(shape))
    for place, table in (("a", frame), ("b", NEIGHBOURS["no cell missing"])):
        shoal.protect(table, {**plan(), "columns": CATEGORY}, tmp_path / place, seed=5)
    assert written(tmp_path / "a" / "release") == written(tmp_path / "b" / "release")


@only_by_night
def test_approvals_comparisons_and_audits_tell_no_more_than_the_public_folder(tmp_path, monkeypatch):
    """With the mechanism's answers laid down, whatever is made of public folders is the same for two tables."""
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Scripted(shape))
    monkeypatch.setattr("shoal.release.review._now", lambda: "2026-11-28T00:00:00+00:00")
    required = plan(requirements=[{"privacy": "differential", "epsilon": 1, "delta": 1e-6}])
    pages, audits = [], []
    shoal.protect(people(80, 3), required, tmp_path / "other", seed=6)
    shutil.rmtree(tmp_path / "other" / "private")
    for place, frame in (("a", people(100)), ("b", people(140, 4))):
        (tmp_path / place).mkdir()
        folder = tmp_path / place / "release-1"
        shoal.protect(frame, required, folder, seed=5)
        review, by = tmp_path / place / "review.json", ["--by", "Bo"]
        for command in (
            ["make", folder, "--by", "Ada", "--out", review],
            ["comment", review, "Why?", *by],
            ["approve", review, *by],
            ["record", folder, review],
        ):
            assert CliRunner().invoke(cli, ["review", *map(str, command)]).exit_code == 0
        audits.append([str(verdict) for verdict in shoal.audit(folder / "release" / "data.csv", required).verdicts])
        shutil.rmtree(folder / "private")
        pages.append(shoal.compare(folder, tmp_path / "other").page().replace(str(tmp_path / place), ""))
    assert written(tmp_path / "a" / "release-1" / "release") == written(tmp_path / "b" / "release-1" / "release")
    assert audits[0] == audits[1]
    assert pages[0] == pages[1]


@pytest.mark.parametrize("records", [1, 90, 10**6])
def test_the_number_of_pairs_follows_from_noise_and_what_is_asked_stays_within_rho(records):
    """By default few pairs of a small table are measured and all of a large one, and rho is never exceeded."""
    shape = (3, 4, 2, 5)
    codes = np.zeros((1, 4), dtype=np.int64)
    of_table = OfTable(codes=codes, shape=shape, sensitivity=1, stream=SecretStream(np.random.default_rng(0)))
    for column in range(4):
        of_table._counts[column,] = np.eye(1, shape[column], dtype=np.int64)[0] * records
    rho = Fraction(1, 50)
    search = SelectionCourse(shape=shape, rho=rho, by=None, pairs=None, most_cells=1000, possible={}, sensitivity=1)
    listening = Listening(of_table, lambda m: m // 2)
    _, total, chosen = search.fitted(listening, None)
    assert total == records and len(chosen) == {1: 1, 90: 2, 10**6: 6}[records]
    assert rho * Fraction(99, 100) <= listening.spent <= rho


def test_pairs_rise_with_records_and_fall_with_noise():
    shape = (3,) * 40
    course = {"rho": Fraction(1, 50), "by": None, "pairs": None, "most_cells": 1000, "possible": {}}
    search = SelectionCourse(shape=shape, sensitivity=1, **course)
    sizes = [9] * 780
    mean = sum(size ** (2 / 3) for size in sizes) / 780
    for records in (1_000, 4_000, 16_000):
        noise = 0.4 * mean**1.5 * math.sqrt(40 / (2 * 0.01)) / records  # that of 40 pairs of equal shares of .01
        root = math.sqrt(0.096 / noise)
        assert search._number(records, Fraction(1, 100)) == int(40 * max(root, math.sqrt(root)))
    few, many, most = (search._number(n, Fraction(1, 100)) for n in (100, 16_000, 64_000))
    assert few == pytest.approx(search._number(1_600, Fraction(1, 100)) / 2, abs=1)
    assert most == pytest.approx(2 * many, abs=2)
    several = SelectionCourse(shape=shape, sensitivity=4, **course)
    assert several._number(16_000, Fraction(1, 100)) == search._number(4_000, Fraction(1, 100))
