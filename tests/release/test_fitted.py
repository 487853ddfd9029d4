"""Fitted models: draws under conditions against exact probabilities, their file, and that it tells of no table."""

import hashlib
import json
from itertools import product

import numpy as np
import polars as pl
import pytest

import shoal
from command_line import Run
from shoal.mask._marginals.domain import Domain
from shoal.mask._marginals.fitted import FittedMarginals
from shoal.mask._marginals.generation import drawn
from shoal.mask._marginals.junction_tree import JunctionTree
from shoal.mask._marginals.model import JointLaw, NoisyMarginal
from shoal.mask.secret_stream import SecretStream
from shoal.vocabulary.errors import ConstraintError, FileError, ParameterError, PlanError, Refused

STATED = {"ill": ("flu", "gout", None), "age": (0, 3, 3, 6), "stay": (0, 2, 5), "pay": (0.0, 0.5, 2.0)}
ROLES = {name: {"role": "quasi-identifier", "missing": "keep"} for name in STATED}
SETS = {(0, 1): (3, 3), (1, 2): (3, 2), (2, 3): (2, 2)}
VALUES = {"ill": [["flu"], ["gout"], [None]], "age": [[0, 1, 2], [3], [4, 5, 6]], "stay": [[0, 1], [2, 3, 4, 5]]}
PLAN = {
    "columns": ROLES,
    "steps": [{"mask": "private-marginals", "epsilon": 2, "delta": 1e-6, "domain": STATED, "pairs": 2}],
    "requirements": [{"privacy": "differential", "epsilon": 2, "delta": 1e-6}],
}


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    ill = [None if cell == "" else cell for cell in rng.choice(["flu", "gout", ""], n).tolist()]
    columns = {"ill": ill, "age": rng.integers(0, 7, n), "stay": rng.integers(0, 6, n), "pay": rng.uniform(0, 2, n)}
    return pl.DataFrame(columns)


def stream(seed=0):
    return SecretStream(np.random.default_rng(seed))


def a_model():
    """A model that was not fitted to a table, and the exact probability of each of its combinations."""
    rng = np.random.default_rng(4)
    factors = {columns: rng.exponential(size=shape) for columns, shape in SETS.items()}
    factors[0, 1][1, 0] = 0.0
    records = shoal.Microdata.of(people(5), ROLES).records
    domains = tuple(Domain.of(records[name], STATED) for name in STATED)
    shape = tuple(domain.size for domain in domains)
    exact = np.ones(shape)
    for columns, factor in factors.items():
        exact *= factor.reshape([m if c in columns else 1 for c, m in enumerate(shape)])
    return FittedMarginals(
        domains=domains, law=JointLaw.of(shape, JunctionTree.of(shape, factors), factors), total=300
    ), exact / exact.sum()


def records_by_law(exact):
    """Every (illness, age, stay, interval of pay) and its probability; whole numbers are even in their interval."""
    for (i, ill), (a, ages), (s, stays), p in product(
        enumerate(VALUES["ill"]), enumerate(VALUES["age"]), enumerate(VALUES["stay"]), range(2)
    ):
        for age, stay in product(ages, stays):
            yield (ill[0], age, stay, p), exact[i, a, s, p] / len(ages) / len(stays)


CONDITIONS = [
    (["age > 1"], lambda ill, age, stay, pay: age > 1),
    (["ill == 'gout'", "age <= 4"], lambda ill, age, stay, pay: ill == "gout" and age <= 4),
    (["ill != 'gout' and stay >= 1"], lambda ill, age, stay, pay: ill == "flu" and stay >= 1),
    (["age + stay < 4"], lambda ill, age, stay, pay: age + stay < 4),
    (["pay <= 0.5", "stay == age"], lambda ill, age, stay, pay: pay == 0 and stay == age),
]


@pytest.mark.parametrize(("texts", "meets"), CONDITIONS, ids=[" and ".join(texts) for texts, _ in CONDITIONS])
def test_draws_under_conditions_have_the_exact_law_of_those_that_meet_them(texts, meets):
    """Every combination of values is counted, and a chi-squared statistic is within what chance gives."""
    model, exact = a_model()
    law = {record: p for record, p in records_by_law(exact) if meets(*record) and p}
    n = 6000
    new = model.records_where(n, texts, stream(1))
    ill = [new["ill"].categories[code] if code >= 0 else None for code in new["ill"].values]
    pay = (new["pay"].values > 0.5).astype(int)
    counts = dict.fromkeys(law, 0)
    for record in zip(ill, new["age"].values.astype(int), new["stay"].values.astype(int), pay):
        counts[record] += 1  # a KeyError: a record that does not meet the conditions
    assert sum(counts.values()) == n
    expected = {record: n * p / sum(law.values()) for record, p in law.items()}
    beyond = sum((counts[record] - e) ** 2 / e for record, e in expected.items())
    assert beyond < len(law) + 4 * (2 * len(law)) ** 0.5


def test_conditions_inside_an_interval_are_not_those_of_its_whole():
    """The law of whole intervals would pass no such test: ages over 1 are a third of the first interval."""
    model, exact = a_model()
    new = model.records_where(4000, ["age > 1", "age < 4"], stream(2))
    by_age = {2: exact.sum(axis=(0, 2, 3))[0] / 3, 3: exact.sum(axis=(0, 2, 3))[1]}
    share = float((new["age"].values == 2).mean())
    assert share == pytest.approx(by_age[2] / sum(by_age.values()), abs=0.04)
    assert abs(share - exact.sum(axis=(0, 2, 3))[0] / exact.sum(axis=(0, 2, 3))[:2].sum()) > 0.1


def test_the_law_among_possible_combinations_is_that_of_brute_force():
    model, exact = a_model()
    rng = np.random.default_rng(7)
    possible = {(0, 3): rng.random((3, 2)) < 0.6, (0, 1): rng.random((3, 3)) < 0.8, (2,): np.array([True, False])}
    law = model.law.among(possible)
    left = exact.copy()
    for columns, free in possible.items():
        left *= free.reshape([m if c in columns else 1 for c, m in enumerate(exact.shape)])
    left /= left.sum()
    for columns in [(0, 1), (2,), (0, 3), (1, 2)]:
        kept = left.sum(axis=tuple(c for c in range(4) if c not in columns))
        assert law.marginal(columns) == pytest.approx(kept, abs=1e-12)


def test_independent_records_do_not_make_up_for_each_other():
    """Two balanced records of a fair coin always differ; independent ones do half of the time."""
    law = JointLaw.of((2,), JunctionTree.of((2,), []), {})
    source = stream(3)
    apart = [[np.ptp(drawn(law, 2, source, independent=i)) for _ in range(200)] for i in (False, True)]
    assert np.mean(apart[0]) == 1 and 0.3 < np.mean(apart[1]) < 0.7


def test_what_nobody_or_next_to_nobody_meets_is_refused():
    model, _ = a_model()
    with pytest.raises(ParameterError, match=r"No record of the model meets 'age > 6'"):
        model.records_where(5, ["age > 6"], stream())
    with pytest.raises(ParameterError, match=r"No record of the model meets 'ill == 'gout'', 'age <= 2'"):
        model.records_where(5, ["ill == 'gout'", "age <= 2"], stream())  # a combination without probability
    with pytest.raises(ConstraintError, match="unknown column 'size'"):
        model.records_where(5, ["size > 3"], stream())
    with pytest.raises(ConstraintError, match="compares cells of a record"):
        model.records_where(5, ["age > 3 -> stay >= 1"], stream())


def test_a_condition_met_by_too_few_is_given_up(monkeypatch):
    from shoal.mask._marginals import fitted

    monkeypatch.setattr(fitted, "LEAST_DRAWS", 1000)
    model, _ = a_model()
    with pytest.raises(ParameterError, match=r"Of [\d,]+ records drawn, 0 meet 'pay == 0.3', and 2 were asked for"):
        model.records_where(2, ["pay == 0.3"], stream())


# The model as a value


@pytest.fixture(scope="module")
def fitted():
    return shoal.fit(people(), PLAN, seed=1)


def test_any_number_of_records_is_drawn_and_the_same_ones_from_the_file(fitted, tmp_path):
    again = shoal.Fitted.read(fitted.write(tmp_path / "people.json"))
    assert (again.epsilon, again.delta, again.total, again.columns) == (2, 1e-6, fitted.total, tuple(STATED))
    for more in ({}, {"n": 7}, {"n": 500, "where": "age > 2"}):
        new = again.draw(**more, seed=9)
        assert new.equals(fitted.draw(**more, seed=9)) and len(new) == more.get("n", fitted.total)
        assert new.dtypes == [pl.String, pl.Int64, pl.Int64, pl.Float64]
    assert not again.draw(7).equals(again.draw(7))
    for wrong in ({"n": 0}, {"n": 1.5}, {"seed": -1}):
        with pytest.raises(ParameterError, match="must be"):
            fitted.draw(**wrong)


def test_a_model_is_that_of_the_release_and_holds_no_original(fitted):
    """The law is the one that a release with the same seed is drawn from."""
    released = shoal.protect(people(), PLAN, seed=1).data
    assert len(released) == fitted.total
    new = fitted.draw(seed=5)
    for name in ("ill", "age"):
        shares = [dict(frame[name].value_counts(normalize=True).iter_rows()) for frame in (released, new)]
        cells = {0: [0, 1, 2], 1: [3], 2: [4, 5, 6]} if name == "age" else {0: ["flu"], 1: ["gout"], 2: [None]}
        sums = [[sum(s.get(cell, 0) for cell in group) for group in cells.values()] for s in shares]
        assert sums[0] == pytest.approx(sums[1], abs=2 / fitted.total + 1e-9)


def test_files_that_are_none_damaged_or_newer_are_refused(fitted, tmp_path):
    path = tmp_path / "model.json"
    content = json.loads(fitted.text)

    def refused(text, match):
        path.write_text(text)
        with pytest.raises(FileError, match=match):
            shoal.Fitted.read(path)

    refused(fitted.text[: len(fitted.text) // 2], "is not a model that shoal fit wrote, or is cut off")
    refused("[1, 2]", "is not a model")
    refused(json.dumps({**content, "shoal model": 2}), "newer version of shoal, in format 2; this one reads up to 1")
    refused(json.dumps({**content, "records": content["records"] + 1}), "is damaged")
    refused(json.dumps({k: v for k, v in content.items() if k != "sha256"}), "is damaged")
    for change in (
        lambda c: c["cliques"][0]["probabilities"].pop(),
        lambda c: c["cliques"][0]["columns"].__setitem__(0, 9),
        lambda c: c["cliques"][-1].__setitem__("parent", 5),
        lambda c: c["cliques"][0]["probabilities"].__setitem__(0, -1.0),
        lambda c: c["columns"][0].__setitem__("categories", []),
        lambda c: c["columns"][1].__setitem__("edges", [0.0]),
        lambda c: c["columns"].pop(),
        lambda c: c.__setitem__("columns", "all"),
        lambda c: c.update(columns=[], cliques=[]),
    ):
        forged = json.loads(fitted.text)
        del forged["sha256"]
        change(forged)
        text = json.dumps(forged, sort_keys=True, ensure_ascii=False)
        refused(json.dumps({**forged, "sha256": hashlib.sha256(text.encode()).hexdigest()}), "is damaged")


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"steps": [{"partition": "mdav", "k": 3}]}, PlanError, "others hold cells of the table"),
        ({"requirements": []}, PlanError, "Require differential alone"),
        ({"requirements": [{"privacy": "k-anonymity", "k": 2}]}, PlanError, "Require differential alone"),
        ({"ledger": {"key": "ill"}}, PlanError, "writes in no ledger"),
        (
            {"requirements": [{"privacy": "differential", "epsilon": 1, "delta": 1e-6}]},
            Refused,
            "spend an epsilon of 2",
        ),
    ],
    ids=["other step", "nothing required", "other requirement", "ledger", "too large an epsilon"],
)
def test_only_what_is_proved_private_is_kept(change, error, match):
    with pytest.raises(error, match=match):
        shoal.fit(people(60), {**PLAN, **change}, seed=1)


class Even:
    """A mechanism that answers alike whatever the table."""

    def __init__(self, shape):
        self.shape = shape

    def measure(self, columns, rho):
        shape = [self.shape[c] for c in columns]
        return NoisyMarginal(columns=columns, counts=np.full(shape, 240 // int(np.prod(shape))), variance=40)

    def choose(self, pairs, scoring, rho):
        return 0


def test_with_the_answers_laid_down_every_table_has_the_same_model(monkeypatch):
    """Other records, other numbers of them, categories that do not occur, no missing cell: the file is the same."""
    monkeypatch.setattr(shoal.PrivateMarginals, "mechanism", lambda self, codes, shape, stream: Even(shape))
    whole = people(90)
    tables = [
        whole,
        people(31, seed=3),
        whole.filter(pl.col("ill") == "flu"),
        whole.with_columns(age=pl.lit(3, dtype=pl.Int64), pay=pl.lit(0.0)),
        whole.with_columns(pay=pl.lit(None, dtype=pl.Float64)).with_columns(pay=pl.lit(1.25)),
    ]
    assert len({shoal.fit(table, PLAN, seed=2).text for table in tables}) == 1


def test_fit_and_draw_on_the_command_line(run: Run, tmp_path):
    people().write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.yaml").write_text(json.dumps(PLAN))
    model, new = tmp_path / "model.json", tmp_path / "new.csv"
    status, out, _ = run("fit", tmp_path / "people.csv", "--plan", tmp_path / "plan.yaml", "--out", model, "--seed", 1)
    assert status == 0 and "may leave the building" in out and "exp(2) at most" in out
    status, out, _ = run("draw", model, "-n", 40, "--where", "age > 2", "--where", "stay <= 4", "--out", new)
    assert status == 0 and "Drew 40 records" in out
    written = pl.read_csv(new)
    assert len(written) == 40 and written["age"].min() > 2 and written["stay"].max() <= 4
    status, _, err = run("draw", tmp_path / "people.csv", "--out", new)
    assert status == 2 and "is not a model" in err


def signed(content):
    """A file with this content and the digest that belongs to it."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({**content, "sha256": digest}, ensure_ascii=False)


def test_a_file_is_read_by_its_content_as_it_is_written_down(tmp_path):
    """Letters beyond ASCII count as themselves in the digest; an epsilon that is no number bounds nothing."""
    stated = {"ward": ("Säugling", "7", None), "age": (0, 1)}
    frame = pl.DataFrame({"ward": ["Säugling", "7", None] * 20, "age": [0, 1, 1] * 20})
    roles = {"ward": ROLES["ill"], "age": ROLES["age"]}
    plan = {**PLAN, "columns": roles, "steps": [{**PLAN["steps"][0], "domain": stated, "pairs": 1}]}
    model = shoal.fit(frame, plan, seed=1)
    content = json.loads(model.text)
    del content["sha256"]
    assert signed(content) + "\n" == model.text and "Säugling" in model.text
    path = tmp_path / "model.json"
    path.write_text(signed(content), encoding="utf-8")
    assert shoal.Fitted.read(path).draw(40, seed=1)["ward"].drop_nulls().unique().sort().to_list() == ["7", "Säugling"]
    assert len(model.draw(1)) == 1
    for epsilon in (float("nan"), float("inf")):
        path.write_text(signed({**content, "epsilon": epsilon}), encoding="utf-8")
        with pytest.raises(FileError, match="is damaged"):
            shoal.Fitted.read(path)
