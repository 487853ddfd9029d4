"""Payout of publishing in a game between a publisher and an attacker."""

from typing import Annotated

import numpy as np

from shoal.judges.labels import labels_of, suppressed
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.kernels.elementary import log
from shoal.utility.base import UtilityMeasure
from shoal.vocabulary.prelude import Count, Ge, Gt, NoFigure, Setting, in_digits, method


@method("publisher-payout", title="Payout of publishing", source="Wan et al. (2015)")
class PublisherPayout(UtilityMeasure):
    """Gain of a publisher per original record, over the benefit of publishing it untouched: 1 at best.

    Each record pays `benefit` times the information that its labels keep. The attacker succeeds with one record of a
    class of c with probability 1 / c, gains `gain` by it and pays `cost` for trying, and attacks where gain / c exceeds
    the cost; an attack costs the publisher `loss` / c. A record that is not published pays nothing.

    Parameters
    ----------
    benefit
        Of one record as it is.
    loss
        Of the publisher by one record found.
    gain
        Of the attacker by one record found.
    cost
        Of one attack.

    Notes
    -----
    The information kept by a record is 1 - sum ln u / sum ln v over the categorical quasi-identifiers, its label
    standing for u of the column's v values. With `cost` 0 every record is attacked; the privacy model `no-attack`
    requires that none is.
    """

    limits = (-np.inf, 1.0)
    better = "higher"
    cheap = True
    roles = ("quasi-identifier",)
    continuous = False
    needs = ("columns", "records", "people")

    benefit: Annotated[float, Gt(0), Setting()] = 1200.0
    loss: Annotated[float, Ge(0), Setting()] = 300.0
    gain: Annotated[float, Ge(0), Setting()] = 300.0
    cost: Annotated[float, Ge(0), Setting()] = 4.0

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        columns = labels_of(pair, self.compared(pair))
        whole = sum(log(column.leaves) for column in columns)
        if whole <= 0:
            raise NoFigure("No quasi-identifier has more than one value.")
        hidden = sum((log(column.stands_for) for column in columns), np.zeros(len(pair.released)))
        chance = 1 / pair.classes.of_record
        attacked = self.gain * chance > self.cost
        payout = self.benefit * (1 - hidden / whole) - np.where(attacked, self.loss * chance, 0.0)
        value = float(payout.sum()) / (self.benefit * (len(pair.released) + suppressed(pair)))
        return self.finding(
            value,
            f"Publishing pays {in_digits(100 * value, 3)} % of what the untouched records would without attacks; an "
            f"attack on {int(attacked.sum()):,} of {len(payout):,} records would pay.",
            facts={"records that are worth an attack": Count(n=int(attacked.sum()))},
        )
