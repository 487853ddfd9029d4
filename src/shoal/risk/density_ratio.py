"""Membership inference by the ratio of two densities: where does a release have more records than the population?"""

from typing import Annotated, Any

import numpy as np

from shoal.judges.density import Places
from shoal.judges.further_tables import like
from shoal.judges.membership_curve import best_attack
from shoal.judges.prelude import Finding, Floats, Generator, Records, TablePair, common, comparable
from shoal.kernels.draws import drawn_rows
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import (
    Columns,
    Count,
    Ge,
    Gt,
    Le,
    NoFigure,
    OfOriginal,
    OfPlan,
    Setting,
    TablePath,
    method,
)

FEWEST = 10
"""Records of each table with which there is a figure."""


@method(
    "density-ratio",
    title="Membership inference by the ratio of densities",
    source="van Breugel, Sun, Qian & van der Schaar (2023); Li & Racine (2003)",
)
class DensityRatio(RiskMeasure):
    """Success of telling members of the original data from others by where a release has too many records (DOMIAS).

    The attacker has the release and records of the population. A person counts as a member the more, the higher the
    density of released records at the person's place is over that of the population: where a synthesiser learned the
    population the ratio is one, and where it remembers a person it is more. Distance alone (`membership-inference`)
    does not see this for people who have many like them. Densities are those of kernels on mixed columns; with which
    widths the attack works best is found out on other members and others than the figure is of.

    The figure is the area under the curve: the probability that a member has a higher ratio than a record of the
    holdout, ties counting one half. One half is no risk; the interval is DeLong's. The facts give the rates of true
    positives at 1 and 10 % of false ones.

    Parameters
    ----------
    holdout
        Records of the same population that were not used for the release: a path, a data frame, Microdata, Records or
        an array. Without them there is no figure.
    reference
        Further such records, from which the attacker takes the density of the population. Without them half of the
        holdout, drawn at random, is taken for it, and the other half is attacked.
    columns
        What the attacker knows of a person; by default the quasi-identifiers and confidential columns.
    false_positives
        With it the figure is the share of members who are told at this rate of others taken for members (0.1 or 0.01,
        say) in place of the area.
    attacks
        So many people of the original, and of the holdout, are attacked at most, drawn at random, and as many serve to
        choose the width. Each is compared with every record: with the defaults, 20 000 records and 21
        columns that takes 25 s of processor time.
    """

    question = "inference"
    of_made_up = True
    needs = ("holdout",)

    holdout: Annotated[Any, TablePath()] = None
    reference: Annotated[Any, TablePath()] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    false_positives: Annotated[float, Gt(0), Le(0.5), Setting()] | None = None
    attacks: Annotated[int, Ge(10)] = 1_000

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names, tables = self._tables(pair, rng)
        places = Places.of(names, *tables)
        original, released, holdout, reference = places.cells
        widths = places.widths(reference, rng)
        members, others = (
            _ratios(places, released, reference, cells[:, drawn_rows(rng, cells.shape[1], 2 * self.attacks)], widths)
            for cells in (original, holdout)
        )
        chosen, curve = best_attack(members, others, rng)
        value, interval = curve.figure(self.false_positives)
        return self.finding(
            value,
            "A member of the data is told from someone else by the ratio of densities "
            f"{curve.sentence(self.false_positives)}",
            interval=interval,
            facts={
                **curve.facts,
                "people attacked": Count(n=len(curve.members), unit="people"),
                "others attacked": Count(n=len(curve.others), unit="people"),
                "records of the reference": Count(n=reference.shape[1]),
                "widths of the kernels, of the release and of the population": OfOriginal(
                    [float(widths[place]) for place in divmod(chosen, len(widths))]
                ),
                "columns": OfPlan(list(names)),
            },
        )

    def _tables(self, pair: TablePair, rng: Generator) -> tuple[tuple[str, ...], list[Records]]:
        """The columns; and the original, the release, records of the holdout, and others of the population."""
        original, released = pair.before, pair.released
        further = [like(released, table) for table in (self.holdout, self.reference) if table is not None]
        names = comparable(original, released, pair.common(self.columns, "quasi-identifier", "confidential"))
        for table in further:
            names = comparable(original, table, common(table, released, names))
        if len(further) == 1:
            parts = np.array_split(rng.permutation(len(further[0])), 2)
            further = [further[0].take(np.sort(part)) for part in parts]
        tables = [original, released, *further]
        if not names or min(map(len, tables)) < FEWEST:
            raise NoFigure(f"There is no common column, or one of the tables has fewer than {FEWEST} records.")
        return names, tables


def _ratios(places: Places, released: Floats, reference: Floats, asked: Floats, widths: Floats) -> Floats:
    """Shape (w w, m); logarithms of the density of the release over that of the population at some places.

    For each width for the release, with each width for the population.
    """
    above, below = (places.log_densities(points, asked, widths) for points in (released, reference))
    return np.asarray((above[:, None] - below).reshape(len(widths) * len(widths), -1))
