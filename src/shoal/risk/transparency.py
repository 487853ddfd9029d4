"""Transparency attacks on microaggregation (Winkler 2002; Nin, Herranz & Torra 2008; Torra 2017)."""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from shoal.judges.intervals import cautious_interval
from shoal.judges.joint_codes import joint_codes
from shoal.judges.prelude import Finding, Floats, Generator, Longs, Records, TablePair, Variable
from shoal.judges.replay import Replay
from shoal.judges.space import embedded
from shoal.kernels.classes import first_rows
from shoal.kernels.elementary import log
from shoal.kernels.partition import COINCIDENT
from shoal.kernels.search.nearest import link
from shoal.risk.base import RiskMeasure
from shoal.table.partition import Partition, meet
from shoal.vocabulary.parameters import Method
from shoal.vocabulary.prelude import Columns, OfOriginal, OfPlan, OfRelease, method, nested, quoted

EXCHANGE = "exchange"

ASSIGNED = 3000
"""Up to so many records the attacker who counts is run: his assignment grows with the cube of their number."""

ORDERS = 120
"""Orders of a group's cells that are tried: all of five records."""

REPLAYS = 600
REPLAYED = 4e8
"""Groups are formed again at most so often, and of n records no more often than this over n squared."""


@method(
    "transparency-attack",
    title="Records found again by who knows how the table was made",
    source="Winkler (2002); Nin, Herranz & Torra (2008); Torra (2017)",
)
class TransparencyAttack(RiskMeasure):
    """Share of records that an attacker finds again who knows the method, its parameters and the centres.

    The attacker knows everybody's original quasi-identifiers, and for each person names the class of the release
    that holds them; in a class of s records he then points at the right one with probability 1/s. He
    names the class in three ways:

    - nearest: the centre nearest to the person, which is also the likeliest under any fuzzy membership;
    - counting: the likeliest assignment of all persons together that fills every class to the size it has
      in the release, for memberships by distance (by entropy, or crisp) or by its logarithm (fuzzy c-means);
      for tables of at most 3000 records;
    - replay: the method is run again on the original, and the centre nearest to the mean of the person's
      group is named. A deterministic method is undone by this: then the class is known for certain, and only
      the size of the class protects. A draw at random cannot be replayed.

    If classes have k records, none of these exceeds 1/k on average; a method that resists transparency stays below.

    Where the cells of a group changed places (`permutation`) there is a fourth attack:

    - exchange: the attacker knows all original records but those of one group, and of these the cells that were dealt
      out and the cells that stayed, but not which belonged together. He forms groups of every table that this leaves
      open and drops those that cannot have led to the release. Where groups were formed on cells dealt out and on
      cells that stayed, or had to be t-close, few tables are left, and he finds more than one in the size of the group.
      Of groups of more than five records he tries some of the orders, the true one among them, which errs on the high
      side; of large tables some groups.

    The figure is that of the most successful attack.

    Parameters
    ----------
    knows
        The partition method that was used, with its parameters; without it there is no replay and no exchange.
    columns
        What the attacker knows of everybody; by default the quasi-identifiers.
    by
        Columns on which groups were formed; by default those that the attacker knows.
    """

    question = "linkability"
    needs = ("columns", "pairing", "records")
    roles = ("quasi-identifier",)

    knows: Annotated[Any, nested("partition"), Method("partition")] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    by: Annotated[tuple[str, ...] | None, Columns()] = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        original, released = pair.before, pair.released
        names, place = self.compared(pair), pair.pairing
        x, y = embedded(original, released, names)
        classes = released.classes(names)
        centres = y[first_rows(classes.ids, len(classes.sizes))]
        named = {"nearest": link(centres, x[place], classes.ids)}
        if len(place) <= ASSIGNED:
            named["counting"] = (self._counted(x[place], centres, classes.sizes) == classes.ids).astype(np.float64)
        if self.knows is not None:
            part = self._formed(original, names, rng)
            means = part.means(original.matrix(names))
            named["replay"] = link(centres, means[part.labels][place], classes.ids)
        linked = {how: right / classes.of_record for how, right in named.items()}
        if self.knows is not None:
            linked |= self._exchanged(pair, names, rng)
        rates = {how: float(np.nanmean(chance)) for how, chance in linked.items()}
        best = max(rates, key=lambda how: rates[how])
        n, smallest = len(released), int(classes.sizes.min())
        value, attacked = rates[best], int((~np.isnan(linked[best])).sum())
        knows = f"{quoted(names)} of everybody"
        allowed = f"classes of {smallest} allow {100 / smallest:.1f} %"
        if best == EXCHANGE:
            knows = f"all records but those of one group, of these {quoted(names)},"
            allowed = "where any order of a group's cells is as likely, it is one in the size of the group"
        return self.finding(
            value,
            f"Someone who knows {knows} and how the table was made finds {100 * value:.1f} % of the records again "
            f"({best}); {allowed}.",
            interval=cautious_interval(float(np.nansum(linked[best])), attacked),
            facts={
                "best attack": OfOriginal(best),
                "records found, by attack": OfOriginal(rates),
                "classes named rightly, by attack": OfOriginal(
                    {how: float(right.mean()) for how, right in named.items()}
                ),
                "found if every class were known": OfRelease(len(classes.sizes) / n),
                "one over the smallest class": OfRelease(1 / smallest),
                "by chance": OfRelease(1 / n),
                "records attacked": OfOriginal(attacked),
                "columns": OfPlan(list(names)),
            },
            record_risk=linked[best],
        )

    def _formed(self, original: Records, names: Sequence[str], seed: Generator | int) -> Partition:
        """The groups that the method forms of a table."""
        part: Partition = self.knows.partition(original, columns=self.by or names, seed=seed)
        return part

    def _exchanged(self, pair: TablePair, names: Sequence[str], rng: Generator) -> dict[str, Floats]:
        """Shape (n,); how surely each record is linked by who tries all orders; nothing where no cells were dealt out.

        Whoever knows cells of a person that were dealt out and others that were not tries only the persons of the
        group who agree in those.
        """
        original, n = pair.before, len(pair.pairing)
        if len(original) != n:
            return {}
        released = pair.released.take(np.argsort(pair.pairing))
        dealt = tuple(name for name in pair.common(None) if _differs(original[name], released[name]))
        replay = Replay.of(original, released, dealt, names, lambda x: self._formed(x, names, 0)) if dealt else None
        if replay is None:
            return {}
        alike = [Partition.of(original[name].codes()) for name in names if name not in dealt]
        blocks = meet([replay.groups, *(alike if set(names) & set(dealt) else [])])
        chances = replay.guesses(blocks, ORDERS, min(REPLAYS, int(REPLAYED / n**2)), rng)[pair.pairing]
        return {} if np.isnan(chances).all() else {EXCHANGE: chances}

    def _counted(self, x: Floats, centres: Floats, sizes: Longs) -> Longs:
        """The likeliest assignment in which every class has its size."""
        from scipy.optimize import linear_sum_assignment

        cost = np.zeros((len(x), len(centres)))
        for j in range(x.shape[1]):
            cost += (x[:, j : j + 1] - centres[:, j]) ** 2
        if getattr(self.knows, "rule", None) == "power":
            cost = log(np.maximum(cost, COINCIDENT))
        seats = np.repeat(np.arange(len(centres)), sizes)
        _, seat = linear_sum_assignment(cost[:, seats])
        return np.asarray(seats[seat])


def _differs(before: Variable, after: Variable) -> bool:
    first, second = joint_codes(before, after)
    return not np.array_equal(first, second)
