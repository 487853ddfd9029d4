"""How coarse a drafted plan for linked tables makes its columns, so that most persons have a profile that others share.

Every quasi-identifier has a ladder: as it is, or some ways of making it coarser, and at last not at all. The draft
starts on the highest rungs, with at most one record a person in the tables below. While more than `TARGET` of the
persons have a profile, over all tables, that fewer than `K` share, the column goes one rung down that makes most alike
for the share of its information that it loses. Then columns are raised again as far as there is room. The methods of
the plan itself are tried, on the tables themselves, so that the plan does as it was drafted.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.judges.joined import Joined
from shoal.kernels.arrays import Bools, Longs, ints
from shoal.kernels.elementary import log
from shoal.mask.recode import Recode
from shoal.mask.truncate_records import TruncateRecords
from shoal.plan.guess import FEW_CODES, Guess, K
from shoal.table.links import Keys, Links, root_of
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.registry import Spec

TARGET = 0.1
"""Share of the persons that a draft expects to leave out, half of what it allows."""

MOST_PERSONS = 20_000
"""Persons on whom ladders are tried; of more, every second, third and so on. Fewer persons are less alike."""

BINS = (8, 4, 2)
"""Numbers of groups of a column of numbers, from the highest rung."""

PERIODS = ("month", "quarter", "year")
"""Periods of a column of days, from the highest rung."""

GAPS = 0.5
"""Share of missing cells from which a column is left out: whoever has a value is found by having one."""

LEAST = 0.01
"""Share of a column's information below which what a rung costs is not told apart."""

Place = tuple[str, str]
"""A table and a column of it."""

PERSON = "person"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One way of releasing a column.

    Parameters
    ----------
    step
        Parameters of the recoding; None to leave the column as it is, or out.
    left_out
        True if the column is not released.
    """

    step: Spec | None = None
    left_out: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Coarse:
    """How coarse the tables are made.

    Parameters
    ----------
    rungs
        By table and column.
    alone
        Share of the persons tried whose profile fewer than `K` share; None if there were too few to try.
    """

    rungs: Mapping[Place, Rung]
    alone: float | None


def ladder(guess: Guess, cells: pl.Series) -> list[Rung]:
    """The rungs of a quasi-identifier, from the highest."""
    if cells.null_count() > GAPS * len(cells):
        return [Rung(left_out=True)]
    rungs = [Rung(step=step) for step in _recodings(guess, cells)]
    return [*rungs, Rung(left_out=True)]


def _recodings(guess: Guess, cells: pl.Series) -> Iterator[Spec | None]:
    if cells.n_unique() < 2:
        yield None
    elif cells.dtype.is_temporal():
        days = cells.dtype in (pl.Date, pl.Datetime)
        yield from ({"period": period} for period in PERIODS if days)
    elif guess.level == "continuous":
        yield from ({"bins": bins, "spacing": "equal-count"} for bins in BINS)
    elif cells.dtype == pl.String and _of_codes(cells):
        yield None
        longest = int(cells.drop_nulls().str.len_chars().to_numpy().max())
        yield from ({"prefix": length} for length in range(longest - 1, 0, -1))
    else:
        if cells.n_unique() <= FEW_CODES or cells.dtype != pl.String:
            yield None
        if cells.dtype == pl.String and cells.n_unique() > 2:
            fewest = (max(2 * K, len(cells) // 100), max(2 * K, len(cells) // 10))
            yield from ({"rare": rare, "other": "other"} for rare in dict.fromkeys(fewest))


def _of_codes(cells: pl.Series) -> bool:
    """True if a column of text is of codes with more than one character, of which the first say most."""
    present = cells.drop_nulls().unique()
    coded = bool(present.str.contains(r"^[A-Za-z]{0,3}\d[\dA-Za-z.]+$").all())
    return coded and present.str.slice(0, 1).n_unique() < len(present)


def coarsened(frames: Mapping[str, pl.DataFrame], keys: Keys, guesses: Mapping[str, Sequence[Guess]]) -> Coarse:
    """The rungs of all quasi-identifiers of some linked tables. `frames`: with their keys."""
    ladders = {
        (name, g.name): ladder(g, frames[name][g.name])
        for name, some in guesses.items()
        for g in some
        if g.role == "quasi-identifier"
    }
    trial = _Trial.of(frames, keys, guesses)
    if trial is None:
        return Coarse(rungs={place: rungs[0] for place, rungs in ladders.items()}, alone=None)
    search = _Search(trial, {place: list(trial.telling(place, rungs)) for place, rungs in ladders.items()})
    chosen = search.finer(search.coarser())
    return Coarse(rungs=chosen, alone=trial.alike(chosen)[0])


class _Search:
    """Goes down the ladders until few enough persons are alone, and up again where that costs nothing."""

    def __init__(self, trial: "_Trial", ladders: Mapping[Place, Sequence[Rung]]) -> None:
        self._trial, self._ladders = trial, ladders

    def coarser(self) -> dict[Place, Rung]:
        chosen = {place: rungs[0] for place, rungs in self._ladders.items()}
        while True:
            alone, profiles = self._trial.alike(chosen)
            lower = [(place, rungs[rungs.index(chosen[place]) + 1 :][:1]) for place, rungs in self._ladders.items()]
            moves = [(place, after[0]) for place, after in lower if after]
            if alone <= TARGET or not moves:
                return chosen
            place, rung = max(moves, key=lambda move: self._gain(chosen, move[0], move[1], alone + profiles))
            chosen[place] = rung

    def _gain(self, chosen: Mapping[Place, Rung], place: Place, rung: Rung, before: float) -> float:
        """What is gained in likeness by a lower rung, for the share of the column's information that it costs."""
        after = sum(self._trial.alike({**chosen, place: rung}))
        return (before - after) / (self._share(place, chosen[place]) - self._share(place, rung) + LEAST)

    def finer(self, chosen: dict[Place, Rung]) -> dict[Place, Rung]:
        """Columns raised one by one, that which gains most of its own information first."""
        while True:
            moves = [
                (self._share(place, rung) - self._share(place, chosen[place]), place, rung)
                for place, rungs in self._ladders.items()
                for rung in rungs[: rungs.index(chosen[place])]
            ]
            moves.sort(key=lambda move: (-move[0], list(self._ladders).index(move[1])))
            allowed = (m for m in moves if self._trial.alike({**chosen, m[1]: m[2]})[0] <= TARGET)
            if (best := next(allowed, None)) is None:
                return chosen
            chosen = {**chosen, best[1]: best[2]}

    def _share(self, place: Place, rung: Rung) -> float:
        """The share of a column's information that is left on a rung."""
        return self._trial.information(place, rung) / self._trial.information(place, Rung())


class _Trial:
    """The tables, made coarser column by column by the methods of the plan."""

    def __init__(self, tables: Mapping[str, Records], links: Links) -> None:
        self._tables, self._links = tables, links
        self._made: dict[tuple[str, str, str], Variable] = {}

    @classmethod
    def of(
        cls, frames: Mapping[str, pl.DataFrame], keys: Keys, guesses: Mapping[str, Sequence[Guess]]
    ) -> "_Trial | None":
        """The tables, or a part of their persons; None if there are too few."""
        links = Links.of({name: nw.from_native(frame, eager_only=True) for name, frame in frames.items()}, keys)
        people = links.sizes[root_of(keys)]
        if people < 2 * K or not all(links.sizes.values()):
            return None
        every = 1 + people // MOST_PERSONS
        tables, rows = {}, {}
        for name, frame in frames.items():
            rows[name] = np.flatnonzero(links.persons[name] % every == 0)
            known = [g for g in guesses[name] if g.role == "quasi-identifier"]
            roles = {g.name: {"role": g.role, "level": g.level, "missing": g.missing or "keep"} for g in known}
            persons = _persons(links.persons[name])
            if not known:
                tables[name] = Records(variables=(persons,), rows=np.arange(len(frame))).take(rows[name])
                continue
            records = Microdata.of(frame.select(list(roles)), roles).records
            tables[name] = records.with_variables(persons).take(rows[name])
        return cls(tables, links.taken(rows))

    def alike(self, chosen: Mapping[Place, Rung]) -> tuple[float, float]:
        """Shares of the persons whose profile fewer than `K` share, and of different profiles."""
        tables: dict[str, Records] = {}
        kept: dict[str, Bools] = {}
        root = root_of(self._links.keys)
        for name, records in self._tables.items():
            made = [self._column(name, column, rung) for (of, column), rung in chosen.items() if of == name]
            table = Records(
                variables=(*(v for v in made if v is not None), records[PERSON]), rows=np.arange(len(records))
            )
            if name != root:
                table = table.take(kept[str(self._links.keys[name].parent)][self._links.above[name]])
                table = TruncateRecords(most=1, keep="common").apply(table, [], np.random.default_rng(0)).records
            tables[name] = table
            kept[name] = np.zeros(len(records), dtype=bool)
            kept[name][table.rows] = True
        links = self._links.taken({name: table.rows for name, table in tables.items()})
        profiles = Joined.of(tables, links).branches(None)[root]
        sizes = np.bincount(profiles)
        return float((sizes[profiles] < K).mean()), float((sizes > 0).sum() / len(profiles))

    def telling(self, place: Place, rungs: Sequence[Rung]) -> Iterator[Rung]:
        """The rungs of a ladder but those that leave the column one value, or lose nothing against the rung above."""
        before = np.inf
        for rung in rungs:
            if rung.left_out or 0 < self.information(place, rung) < before:
                before = self.information(place, rung)
                yield rung

    def information(self, place: Place, rung: Rung) -> float:
        """Entropy of a column, in nats."""
        column = self._column(*place, rung)
        if column is None:
            return 0.0
        sizes = np.unique(column.codes(), return_counts=True)[1]
        shares = sizes / sizes.sum()
        return max(-float((shares * log(shares)).sum()), 0.0)

    def _column(self, name: str, column: str, rung: Rung) -> Variable | None:
        if rung.left_out:
            return None
        key = (name, column, str(rung.step))
        if key not in self._made:
            records = self._tables[name]
            if rung.step is not None:
                records = Recode(**rung.step).apply(records, [column], np.random.default_rng(0)).records
            self._made[key] = records[column]
        return self._made[key]


def _persons(numbers: Longs) -> Variable:
    categories = tuple(range(int(numbers.max(initial=-1)) + 1))
    return Variable(name=PERSON, role="person", level="nominal", values=ints(numbers), categories=categories)
