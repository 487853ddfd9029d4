"""Every public byte is a function of what private mechanisms answered, and the answers have the law that is claimed.

A random table is released with every draw written down. Its neighbour, which a promise of epsilon is about, is released
with the draws that make the mechanism answer the same: the noisy counts, sums and cells, choices and sampled records.
All files of both public folders must then be equal to the last byte. What the answers cost between the two tables is
added up from exact probabilities, as fractions, and stays within epsilon or rho. So no byte can tell more than was
paid for, by whatever way. Draws of all tables together are held to their laws by an exact test.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from scipy.stats import kstest

import shoal
from by_night import by_night
from shoal.mask import private_microaggregation, private_noise, safepub, staircase
from shoal.mask._marginals import selection
from shoal.mask._marginals.account import rho_of
from shoal.mask.sampled_classes import PARTS
from shoal.plan import Output
from shoal.vocabulary.facts import OfPlan
from shoal.vocabulary.registry import registered

FORMATS = get_args(Output.model_fields["format"].annotation)
PAIRS = by_night(1, 50)


@dataclass(frozen=True)
class Answer:
    """What a sampler was asked: its law, what of the table its noise was added to or chosen by, and what it drew."""

    sampler: str
    law: tuple[Any, ...]
    statistic: Any
    drawn: Any
    words: int  # Of the stream, up to here


@dataclass
class Tape:
    """The answers of one run; those of `before` are given again."""

    before: "Tape | None" = None
    left_out: int = 0  # The record that the neighbour has not
    answers: list[Answer] = field(default_factory=list)
    coins: Any = None
    heard: Any = None

    def hears(self, statistic: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose value is what noise will be added to."""

        def listened(*asked: Any) -> Any:
            self.heard = statistic(*asked)
            return self.heard

        return listened

    def adds(self, sampler: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(n: int, *law: Any) -> Any:
            statistic = np.asarray(self.heard).ravel()
            assert statistic.dtype.kind == "i" and len(statistic) == n
            assert all(isinstance(x, int | Fraction) for x in law[:-1])
            return self._answered(sampler, statistic, (n, *law), lambda one: one.statistic + one.drawn - statistic)

        return drawn

    def chooses(self, sampler: Callable[..., Any]) -> Callable[..., Any]:
        def chosen(scores: Any, *law: Any) -> Any:
            assert scores.dtype.kind == "i"
            return self._answered(sampler, scores, (scores, *law), lambda one: one.drawn)

        return chosen

    def _answered(self, sampler: Callable[..., Any], statistic: Any, asked: tuple[Any, ...], again: Any) -> Any:
        """What is drawn, or what makes the answer that of the first run; the stream goes on from the same place."""
        name, law, stream = sampler.__name__, asked[1:-1], asked[-1]
        if self.before is None:
            drawn = sampler(*asked)
        else:
            first = self.before.answers[len(self.answers)]
            assert (first.sampler, first.law) == (name, law)
            drawn, stream._drawn = again(first), first.words
        self.answers.append(Answer(name, law, statistic, drawn, stream._drawn))
        return drawn

    def samples(self) -> type:
        tape = self

        class Coins(safepub.SecretStream):
            def integers(self, below: int, size: int) -> Any:
                drawn = super().integers(below, size)
                if below != PARTS:
                    return drawn
                if tape.before is not None:
                    return np.delete(tape.before.coins, tape.before.left_out)
                drawn[tape.left_out] = PARTS - 1  # not drawn, as happens in both tables
                tape.coins = drawn
                return drawn

        return Coins


@contextmanager
def recorded(tape: Tape) -> Iterator[None]:
    """Every sampler of noise, choices and records, and what it is used on, goes by the tape."""
    noise = private_noise.PrivateNoise
    with pytest.MonkeyPatch.context() as patch:
        nearest, count = noise.nearest, selection.OfTable._count
        patch.setattr(noise, "nearest", tape.hears(nearest))
        patch.setattr(private_microaggregation, "sums", tape.hears(private_microaggregation.sums))
        patch.setattr(selection.OfTable, "_count", tape.hears(count))
        patch.setattr(private_noise, "discrete_laplace", tape.adds(private_noise.discrete_laplace))
        patch.setattr(staircase, "staircase", tape.adds(staircase.staircase))
        patch.setattr(selection, "discrete_gaussian", tape.adds(selection.discrete_gaussian))
        patch.setattr(selection, "exponential_choice", tape.chooses(selection.exponential_choice))
        patch.setattr(safepub, "permute_and_flip", tape.chooses(safepub.permute_and_flip))
        patch.setattr(safepub, "SecretStream", tape.samples())
        yield


# What the answers cost, exactly


def exponent(answer: Answer, drawn: Any) -> Fraction:
    """Minus the logarithm of the odds of some noise, but for a constant."""
    sizes = [abs(x) for x in drawn.tolist()]
    if answer.sampler == "discrete_laplace":
        return answer.law[0] * sum(sizes)
    block, width, epsilon = answer.law
    return epsilon * sum(x // block + (x % block >= width) for x in sizes)


def loss(first: Answer, second: Answer) -> Fraction:
    """How much likelier an answer was on the first table, as a logarithm."""
    return exponent(second, second.drawn) - exponent(first, first.drawn)


def rho(first: Answer, second: Answer) -> Fraction:
    """The zero-concentrated loss of an answer between two tables, from its law."""
    apart = [a - b for a, b in zip(first.statistic.tolist(), second.statistic.tolist(), strict=True)]
    if first.sampler == "discrete_gaussian":
        return Fraction(sum(x * x for x in apart), 2 * first.law[0])
    return (first.law[0] * (max(apart) - min(apart))) ** 2 / 8


# Tables, neighbours and plans at random


@dataclass(frozen=True, kw_only=True)
class Case:
    plan: dict[str, Any]
    table: pl.DataFrame
    neighbour: pl.DataFrame
    epsilon: Fraction = Fraction(0)  # Of a pure loss
    rho: Fraction = Fraction(0)  # Of a zero-concentrated one
    left_out: int = 0


def some(rng: np.random.Generator, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def numbers(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Pay with cents and tax of whole hundreds, some of them beyond the bounds that will be stated."""
    pay = np.round(rng.lognormal(3, 1, n), 2)
    return pl.DataFrame({"pay": pay, "tax": rng.integers(-3, 14, n) * 100})


def cells_changed(rng: np.random.Generator, table: pl.DataFrame, records: int) -> pl.DataFrame:
    """The table with other numbers in so many records, some at either end; missing ones stay missing."""
    rows = rng.choice(len(table), records, replace=False)
    cells = {name: table[name].to_list() for name in ("pay", "tax")}
    for name, ends in (("pay", [-5.0, 0.0, 17.25, 9000.0]), ("tax", [-1000, 0, 500, 90_000])):
        for row in rows.tolist():
            cells[name][row] = None if cells[name][row] is None else some(rng, ends)
    return table.with_columns(pl.Series(name, values, dtype=table[name].dtype) for name, values in cells.items())


def noise_on_cells(mask: str, rng: np.random.Generator) -> Case:
    table = numbers(rng, n := int(rng.integers(6, 30)))
    gaps = rng.random(n) < some(rng, [0, 0.2])
    table = table.with_columns(pay=pl.when(pl.Series(~gaps)).then("pay"), sex=pl.Series(rng.choice(["f", "m"], n)))
    persons, epsilon = some(rng, [1, 2]), some(rng, [0.5, 1.0, 3.7])
    step = {"mask": mask, "columns": ["pay", "tax"], "records_per_person": persons, "clamp": bool(rng.integers(2))}
    step |= {"epsilon": epsilon, "bounds": {"pay": [0, 120], "tax": [0, 1000]}}
    role = {"role": "confidential", "missing": "keep"}
    return Case(
        plan={"columns": {"pay": role, "tax": role, "sex": "quasi-identifier"}, "steps": [step]},
        table=table,
        neighbour=cells_changed(rng, table, persons),
        epsilon=Fraction(epsilon),
    )


def means(ranking: str, rng: np.random.Generator) -> Case:
    table = numbers(rng, int(rng.integers(6, 40)))
    persons, epsilon = some(rng, [1, 2]), some(rng, [0.5, 1.0, 3.7])
    step = {"mask": "private-microaggregation", "ranking": ranking, "k": some(rng, [1, 3, 10]), "epsilon": epsilon}
    step |= {"bounds": {"pay": [0, 120], "tax": [0, 1000]}, "records_per_person": persons}
    step |= {"clamp": bool(rng.integers(2))}
    role = {"role": "confidential", "missing": "refuse"}
    return Case(
        plan={"columns": {"pay": role, "tax": role}, "steps": [step]},
        table=table,
        neighbour=cells_changed(rng, table, persons),
        epsilon=Fraction(epsilon),
    )


LISTED = {"town": ["Arles", "Bonn", "Cork"], "ill": ["flu", "gout", None], "age": [0, 0, 30, 60, 110]}


def people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Persons whose categories need not all occur, and whose ages may lie outside the domain."""
    towns = LISTED["town"][: some(rng, [1, 2, 3])]
    ages = rng.integers(some(rng, [-5, 0, 40]), some(rng, [60, 140]), n)
    ill = [LISTED["ill"][code] for code in rng.integers(0, some(rng, [1, 2, 3]), n).tolist()]
    cells = {"town": rng.choice(towns, n), "ill": pl.Series(ill, dtype=pl.String), "age": ages}
    return pl.DataFrame(cells)


def made_anew(of_persons: bool, rng: np.random.Generator) -> Case:
    table = people(rng, n := int(rng.integers(2, 120)))
    most, epsilon, delta = some(rng, [1, 3]), some(rng, [0.4, 1.0, 8.0]), some(rng, [1e-9, 1e-3])
    step: dict[str, Any] = {"mask": "private-marginals", "epsilon": epsilon, "delta": delta, "domain": LISTED}
    step |= {"records_per_person": most, "by": some(rng, [None, "town"]), "pairs": some(rng, [None, 1, 2])}
    step |= {"rules": some(rng, [[], ["town == 'Bonn' -> age >= 30"]])}
    if rng.integers(2):
        step["prior"] = people(np.random.default_rng(5), 60).select("town", "age")
    if rng.integers(2):
        step["margins"] = [pl.DataFrame({"town": ["Arles", "Cork"], "count": [20, 11]})]
    columns: dict[str, Any] = {name: {"role": "quasi-identifier", "missing": "keep"} for name in table.columns}
    columns["town"] = "quasi-identifier"
    rows = np.sort(rng.choice(n, min(most, n - 1), replace=False))
    if of_persons:
        step["columns"] = table.columns
        person = np.arange(n) // most
        table = table.with_columns(person=pl.Series(person))
        columns["person"] = {"role": "person", "release_key": False}
        rows = np.flatnonzero(person == some(rng, range(int(person.max()) + 1)))
    return Case(
        plan={"columns": columns, "steps": [step]},
        table=table,
        neighbour=table.filter(~pl.Series(np.isin(np.arange(n), rows))),
        rho=rho_of(Fraction(epsilon), Decimal(delta)),
    )


def sampled(rng: np.random.Generator) -> Case:
    table = people(rng, n := int(rng.integers(100, 600))).with_columns(pl.col("ill").fill_null("flu")).drop("age")
    towns = {"nested": {"south": ["Arles"], "north": ["Bonn", "Cork"]}}
    ills = {"nested": {"any": ["flu", "gout"]}}
    columns = {"town": {"role": "quasi-identifier", "hierarchy": towns}}
    columns["ill"] = {"role": "confidential", "hierarchy": ills}
    step = {"mask": "safepub", "epsilon": some(rng, [1.0, 2.0]), "delta": some(rng, [1e-3, 0.05])}
    if rng.integers(2):
        step["levels"] = {"town": [1, 1], "ill": [0, 0]}
    return Case(  # the last record: the random order of a release goes by the rows of those in it
        plan={"columns": columns, "steps": [step]}, table=table, neighbour=table[:-1], left_out=n - 1
    )


KINDS: dict[str, tuple[str, Callable[[np.random.Generator], Case]]] = {
    "laplace": ("laplace", lambda rng: noise_on_cells("laplace", rng)),
    "geometric": ("geometric", lambda rng: noise_on_cells("geometric", rng)),
    "staircase": ("staircase", lambda rng: noise_on_cells("staircase", rng)),
    "means of records": ("private-microaggregation", lambda rng: means("records", rng)),
    "means of columns": ("private-microaggregation", lambda rng: means("columns", rng)),
    "records made anew": ("private-marginals", lambda rng: made_anew(False, rng)),
    "persons made anew": ("private-marginals", lambda rng: made_anew(True, rng)),
    "a sample": ("safepub", sampled),
}


def test_all_private_methods_are_tried() -> None:
    private = {
        e.name for e in registered("mask") if issubclass(e.cls, private_noise.PrivateNoise) or e.cls.whole_records
    }
    assert {name for name, _ in KINDS.values()} == private


def folder(table: pl.DataFrame, plan: dict[str, Any], tape: Tape, out: Path, seed: int) -> dict[str, bytes]:
    try:
        with recorded(tape):
            shoal.protect(table, plan, out, seed=seed, unproved=True)
    except shoal.Refused:
        return {}  # counts as an empty folder
    return {file.name: file.read_bytes() for file in sorted((out / "release").iterdir())}


def replayed(case: Case, out: Path, seed: int) -> tuple[Tape, Tape]:
    """Both runs, after comparing their folders."""
    first = Tape(left_out=case.left_out)
    second = Tape(before=first)
    plan = {**case.plan, "output": {"format": FORMATS[seed % len(FORMATS)]}}
    public = folder(case.table, plan, first, out / "a", seed)
    assert len(public) in (0, 4)
    assert folder(case.neighbour, plan, second, out / "b", seed) == public
    assert len(first.answers) == len(second.answers)
    return first, second


def costs(case: Case, first: Tape, second: Tape) -> None:
    """What the answers of two runs cost stays within the promise, whichever table was the true one."""
    pure, concentrated = Fraction(0), Fraction(0)
    for one, other in zip(first.answers, second.answers):
        if one.sampler == "permute_and_flip":  # scores fall with a record less, and by the sensitivity at most
            moved = one.statistic - other.statistic
            assert moved.min() >= 0 and moved.max() <= one.law[0]
        elif one.sampler in ("discrete_gaussian", "exponential_choice"):
            concentrated += rho(one, other)
        else:
            pure += loss(one, other)
    assert abs(pure) <= case.epsilon
    assert concentrated <= case.rho


# The law of what was drawn


def up_to(answer: Answer) -> Callable[[int], float]:
    """P[X <= x] of the noise that was claimed."""
    if answer.sampler == "discrete_gaussian":
        reach = 40 * math.isqrt(answer.law[0]) + 40
        odds = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * answer.law[0]))
        ends = np.cumsum(odds) / odds.sum()
        return lambda x: float(ends[x + reach])
    block, width, epsilon = answer.law if answer.sampler == "staircase" else (1, 1, answer.law[0])
    fall = math.exp(-epsilon)
    of_block = width + (block - width) * fall
    half = of_block / -math.expm1(-epsilon)

    def within(size: int) -> float:
        """The weight of 0 to `size`."""
        whole, part = divmod(size + 1, block)
        of_part = min(part, width) + max(part - width, 0) * fall
        return half * -math.expm1(-epsilon * whole) + math.exp(-epsilon * whole) * of_part

    return lambda x: (half - 1 + within(x) if x >= 0 else half - within(-x - 1)) / (2 * half - 1)


def places(answer: Answer, rng: np.random.Generator) -> list[float]:
    """Where each draw lies in its law, 0 to 1, and at random within its own probability: uniform if the law holds."""
    if answer.sampler == "permute_and_flip":
        return []
    if answer.sampler == "exponential_choice":
        odds = np.array([math.exp(answer.law[0] * int(gap)) for gap in answer.statistic - answer.statistic.max()])
        ends = np.append(0.0, np.cumsum(odds) / odds.sum())
        return [float(ends[answer.drawn] + rng.random() * odds[answer.drawn] / odds.sum())]
    law = up_to(answer)
    low, high = (np.array([law(x - less) for x in answer.drawn.tolist()]) for less in (1, 0))
    return list(low + rng.random(len(low)) * (high - low))


@pytest.mark.parametrize("kind", KINDS)
def test_public_folders_of_neighbours_with_the_same_answers_are_the_same(kind: str, tmp_path: Path) -> None:
    """Fifty pairs of each kind by night, one by day."""
    seen: list[float] = []
    for seed in range(PAIRS):
        case = KINDS[kind][1](np.random.default_rng([seed, len(kind)]))
        first, second = replayed(case, tmp_path / str(seed), seed)
        costs(case, first, second)
        seen += [place for answer in first.answers for place in places(answer, np.random.default_rng(seed))]
    if seen:
        assert kstest(seen, "uniform", method="exact").pvalue > 1e-4


# What would be found


def test_a_public_figure_without_noise_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = shoal.PrivateMarginals.fit

    def telling(self: Any, records: Any, *more: Any) -> Any:
        fitted, facts = honest(self, records, *more)
        return fitted, {**facts, "records": OfPlan(len(records))}

    monkeypatch.setattr(shoal.PrivateMarginals, "fit", telling)
    with pytest.raises(AssertionError):
        replayed(made_anew(False, np.random.default_rng(4)), tmp_path, 0)


def test_noise_for_half_the_sensitivity_and_noise_on_floating_point_numbers_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, case = private_noise.PrivateNoise.nearest, noise_on_cells("laplace", np.random.default_rng(0))
    monkeypatch.setattr(private_noise.PrivateNoise, "nearest", lambda self, x, name: whole(self, x, name) + 0.5)
    with pytest.raises(AssertionError):
        replayed(case, tmp_path / "floats", 0)
    monkeypatch.setattr(private_noise.PrivateNoise, "nearest", whole)
    extremes = pl.DataFrame({"pay": [0.0] * 9, "tax": [0] * 9, "sex": ["f"] * 9})
    other = extremes.with_columns(
        pl.when(pl.int_range(pl.len()) < 2).then(9000).otherwise(name).cast(extremes[name].dtype).alias(name)
        for name in ("pay", "tax")
    )
    far = Case(plan=case.plan, table=extremes, neighbour=other, epsilon=Fraction(case.plan["steps"][0]["epsilon"]))
    first, second = replayed(far, tmp_path / "honest", 0)
    less = dataclasses.replace(far, epsilon=far.epsilon / 2)
    costs(far, first, second)
    with pytest.raises(AssertionError):
        costs(less, first, second)
