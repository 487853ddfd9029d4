"""Attackers who read everything in the public folder as statements about the original, for every mask and replacement.

They know the plan, which original record each released one came from, and all cells of the original but one, or but
three. The first tries every candidate for the missing cell and keeps those with which all published figures are what
they are and all bands true; no measure is too complicated for that. The second writes the losses as equations and
inequalities, with the missing cells as unknowns, and lets a solver find the least and greatest value of each. Both get
as far as the released table alone takes them: nowhere. With the same figures as they are, without bands, the solver
finds the cells.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import shoal
from attacks.test_bands import shown
from attacks.test_neighbours import METHODS, SEED, plan_of
from by_night import by_night, by_turns
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.release.evidence_file import public_evidence
from shoal.table.microdata import Microdata
from shoal.table.records import Records
from shoal.vocabulary.facts import Band, Figure
from shoal.vocabulary.registry import Entry, registered

N = 150
TANGENTS = np.linspace(-1, 1, 41)
LINEAR = ("il1s", "sse", "univariate-change")
"""Losses that the solver knows how to write down."""


def people() -> pl.DataFrame:
    rng = np.random.default_rng(17)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 70, N),
            "size": np.round(rng.lognormal(1, 0.5, N), 1),
            "income": np.round(rng.lognormal(3, 1, N), 0),
            "sex": rng.choice(["f", "m"], N),
            "illness": rng.choice(["a", "b", "c"], N),
        }
    )


@dataclass(frozen=True)
class Published:
    """A release, and what the attacker knows besides."""

    release: shoal.Release
    original: Records
    released: Records

    @classmethod
    def of(cls, entry: Entry) -> "Published":
        plan = plan_of(entry)
        release = shoal.protect(people(), plan, seed=SEED)
        original = Microdata.of(people(), plan.schema, plan.folder).records
        return cls(release, original, replace(release.table.encoded, rows=release.rows))

    @property
    def banded(self) -> dict[str, dict[str, Any]]:
        """The measures of which a band is published."""
        forms = (finding.public_form() for finding in self.release.evidence.findings)
        return {form["measure"]: form for form in forms if isinstance(form["value"], Band)}

    def with_cell(self, name: str, row: int, value: float) -> TablePair:
        """The release beside an original in which one cell is a candidate."""
        cells = self.original[name].values.copy()
        cells[row] = value
        original = self.original.with_variables(self.original[name].with_values(cells))
        return TablePair.of(original, self.released, traced=True)

    def targets(self) -> list[tuple[str, list[float]]]:
        """Columns of the original, and candidates for a cell: all codes, or values inside and beyond what there is."""
        chosen = []
        for variable in self.original.variables:
            if variable.continuous:
                low, high = float(variable.values.min()), float(variable.values.max())
                within = np.linspace(low, high, by_night(2, 7))
                values = [*within, low - (high - low), high + 10 * (high - low), 1e6][: by_night(4, 10)]
            else:
                values = list(map(float, range(len(variable.categories))))
            chosen.append((variable.name, values))
        return chosen


@cache
def published_by(number: int) -> Published:
    """The release of a method, made once for both attackers."""
    return Published.of(METHODS[number])


MEASURES = {e.name: e.cls for kind in ("risk", "utility") for e in registered(kind) if e.cls.cheap}


def true_of(form: dict[str, Any], pair: TablePair) -> bool:
    """Whether what is published of a measure is true of a pair of tables."""
    finding = MEASURES[form["measure"]]().finding_on(pair, np.random.default_rng(0))
    figures = shown(finding)
    statements = {"value": form["value"], **form["facts"]}
    return all(
        figures[label][0] <= band.at_most
        for label, band in statements.items()
        if isinstance(band, Band) and band.at_most is not None and label in figures
    )


@pytest.mark.parametrize("entry", METHODS, ids=lambda e: f"{e.kind}-{e.name}")
def test_no_candidate_for_a_cell_is_ruled_out(entry: Entry) -> None:
    published = published_by(METHODS.index(entry))
    for name, candidates in by_turns(published.targets(), METHODS.index(entry), 2):
        row = int(np.argmax(published.original[name].values))
        for value in candidates:
            pair = published.with_cell(name, row, value)
            for form in published.banded.values():
                assert true_of(form, pair), (form["measure"], name)


@dataclass(frozen=True)
class Equations:
    """Inequalities in the missing cells of a column, each in [0, 1] of the released range, and in their changes.

    The unknowns are the cells u, and numbers t and s that are at least |u - y| and (u - y)^2.
    """

    left: Floats
    right: Floats
    cells: int

    @classmethod
    def of(cls, published: Published, name: str, missing: Longs, losses: dict[str, tuple[float, float]]) -> "Equations":
        """What the losses between a least and a greatest value, by measure, say of the missing cells of a column."""
        k = len(missing)
        u, y, rest = _scaled(published, name)
        at = np.flatnonzero(np.isin(published.released.rows, missing))
        known = np.setdiff1d(np.arange(len(y)), at)
        rows: list[tuple[Floats, float]] = []
        zero = np.zeros(k)
        for j in range(k):
            one = np.eye(k)[j]
            rows += [(np.r_[one, -one, zero], y[at[j]]), (np.r_[-one, -one, zero], -y[at[j]])]
            rows += [(np.r_[2 * d * one, zero, -one], d * d + 2 * d * y[at[j]]) for d in TANGENTS]
        for measure, (least, greatest) in losses.items():
            if measure == "univariate-change":
                off, total = float(u[known].sum() - y.sum()), len(y)
                for sign in (1, -1):
                    rows.append((np.r_[sign * np.ones(k), zero, zero], greatest * total - sign * off))
                if least == greatest:  # the attacker knows the sign as well
                    sign = np.sign(u.sum() - y.sum())
                    rows.append((np.r_[-sign * np.ones(k), zero, zero], sign * off - least * total))
            else:
                power, others = (2, rest[1]) if measure == "sse" else (1, rest[0])
                spent = float((np.abs(u - y)[known] ** power).sum()) + others[0]
                ones = np.r_[zero, zero, np.ones(k)] if power == 2 else np.r_[zero, np.ones(k), zero]
                rows.append((ones, greatest * others[1] - spent))
        return cls(np.array([row for row, _ in rows]), np.array([bound for _, bound in rows]), k)

    def ranges(self) -> Floats:
        """Shape (k, 2); the least and the greatest value that each missing cell may have."""
        bounds = [(0.0, 1.0)] * self.cells + [(0.0, None)] * (2 * self.cells)
        ends = []
        for j in range(self.cells):
            for sign in (1.0, -1.0):
                aim = sign * np.eye(3 * self.cells)[j]
                solution = linprog(aim, A_ub=self.left, b_ub=self.right + 1e-9, bounds=bounds)
                assert solution.status == 0, solution.message
                ends.append(sign * solution.fun)
        return np.array(ends).reshape(-1, 2)


def _scaled(published: Published, name: str) -> tuple[Floats, Floats, tuple[tuple[float, int], tuple[float, int]]]:
    """A column of the original and of the release in the released range, and the changes of the other columns."""
    place = TablePair.of(published.original, published.released, traced=True).pairing
    changes: dict[str, Floats] = {}
    scaled = {}
    for variable in published.released.variables:
        if variable.name not in published.original:
            continue
        before = published.original[variable.name].take(place)
        if before.continuous and variable.continuous:
            low, high = np.nanmin(variable.values), np.nanmax(variable.values)
            width = high - low or 1.0
            x = (np.clip(before.values, low, low + width) - low) / width
            scaled[variable.name] = (x, (variable.values - low) / width)
            changes[variable.name] = np.nan_to_num(np.abs(np.subtract(*scaled[variable.name])), nan=1.0)
        elif before.continuous == variable.continuous:
            texts = [np.array([*map(str, v.categories), ""])[v.values] for v in (before, variable)]
            changes[variable.name] = (texts[0] != texts[1]).astype(float)
    continuous = {n: c for n, c in changes.items() if n in scaled}
    others = tuple(
        (float(sum((c**p).sum() for n, c in of.items() if n != name)), sum(map(len, of.values())))
        for p, of in ((1, continuous), (2, changes))
    )
    return (*scaled[name], others)  # type: ignore[return-value]


@pytest.mark.parametrize("k", [3, 1][: by_night(1, 2)])
@pytest.mark.parametrize("entry", METHODS, ids=lambda e: f"{e.kind}-{e.name}")
def test_a_solver_narrows_no_cell_down(entry: Entry, k: int) -> None:
    """Nor does it if three cells are missing: each may still be anything."""
    published = published_by(METHODS.index(entry))
    bands = {name: (0.0, form["value"].at_most) for name, form in published.banded.items() if name in LINEAR}
    names = [v.name for v in published.released.variables if v.continuous and v.complete]
    if published.released.rows.max() >= N:  # new records, of which nothing is told
        evidence = public_evidence(published.release, files={})
        assert all(measure["value"] is None for measure in evidence["measures"])
        return
    for name in names:
        order = np.argsort(published.original[name].values[published.released.rows], kind="stable")
        missing = published.released.rows[order[-k:]]
        ranges = Equations.of(published, name, missing, bands).ranges()
        assert ranges == pytest.approx(np.tile([0.0, 1.0], (k, 1)), abs=1e-6)


def test_exact_losses_would_give_a_cell_away() -> None:
    published = Published.of(next(e for e in METHODS if e.name == "noise"))
    exact = {}
    for finding in published.release.evidence.findings:
        if finding.measure in LINEAR:
            assert isinstance(finding.clipped, Figure)
            exact[finding.measure] = (finding.clipped.value, finding.clipped.value)
    row = 40
    moved = {name: abs(float(np.subtract(*_scaled(published, name)[:2]).mean())) for name in ("age", "size", "income")}
    worst = max(moved, key=lambda name: moved[name])
    u, _, _ = _scaled(published, worst)
    ranges = Equations.of(published, worst, published.released.rows[[row]], exact).ranges()
    assert ranges[0] == pytest.approx([u[row], u[row]], abs=1e-6)
