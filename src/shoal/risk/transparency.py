"""Transparency attacks on microaggregation (Winkler 2002; Nin, Herranz & Torra 2008; Torra 2017)."""

from typing import Annotated, Any

import numpy as np

from shoal.judges.intervals import cautious_interval
from shoal.judges.prelude import Finding, Floats, Generator, Longs, TablePair
from shoal.judges.space import embedded
from shoal.kernels.classes import first_rows
from shoal.kernels.elementary import log
from shoal.kernels.partition import COINCIDENT
from shoal.kernels.search.nearest import link
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.parameters import Method
from shoal.vocabulary.prelude import Columns, OfOriginal, OfPlan, OfRelease, method, nested, quoted

ASSIGNED = 3000
"""Up to so many records the attacker who counts is run: his assignment grows with the cube of their number."""


@method(
    "transparency-attack",
    title="Records found again by who knows how the table was made",
    source="Winkler (2002); Nin, Herranz & Torra (2008); Torra (2017)",
)
class TransparencyAttack(RiskMeasure):
    """Share of records that an attacker finds again who knows the method, its parameters and the centres.

    The attacker knows everybody's original quasi-identifiers, and for each person names the class of the release
    that holds them; in a class of s records he then points at the right one with probability 1/s. He
    names the class in three ways, and the figure is that of the most successful one:

    - nearest: the centre nearest to the person, which is also the likeliest under any fuzzy membership;
    - counting: the likeliest assignment of all persons together that fills every class to the size it has
      in the release, for memberships by distance (by entropy, or crisp) or by its logarithm (fuzzy c-means);
      for tables of at most 3000 records;
    - replay: the method is run again on the original, and the centre nearest to the mean of the person's
      group is named. A deterministic method is undone by this: then the class is known for certain, and only
      the size of the class protects. A draw at random cannot be replayed.

    If classes have k records, no attack exceeds 1/k on average; a method that resists transparency stays below.

    Parameters
    ----------
    knows
        The partition method that was used, with its parameters; without it there is no replay.
    columns
        What the attacker knows of everybody; by default the quasi-identifiers.
    """

    question = "linkability"
    needs = ("columns", "pairing", "records")
    roles = ("quasi-identifier",)

    knows: Annotated[Any, nested("partition"), Method("partition")] = None
    columns: Annotated[tuple[str, ...] | None, Columns()] = None

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
            part = self.knows.partition(original, columns=names, seed=rng)
            means = part.means(original.matrix(names))
            named["replay"] = link(centres, means[part.labels][place], classes.ids)
        linked = {how: right / classes.of_record for how, right in named.items()}
        best = max(linked, key=lambda how: float(linked[how].sum()))
        n, smallest = len(released), int(classes.sizes.min())
        value = float(linked[best].mean())
        return self.finding(
            value,
            f"Someone who knows {quoted(names)} of everybody and how the table was made finds {100 * value:.1f} % of "
            f"the records again ({best}); classes of {smallest} allow {100 / smallest:.1f} %.",
            interval=cautious_interval(float(linked[best].sum()), n),
            facts={
                "best attack": OfOriginal(best),
                "records found, by attack": OfOriginal({how: float(chance.mean()) for how, chance in linked.items()}),
                "classes named rightly, by attack": OfOriginal(
                    {how: float(right.mean()) for how, right in named.items()}
                ),
                "found if every class were known": OfRelease(len(classes.sizes) / n),
                "one over the smallest class": OfRelease(1 / smallest),
                "by chance": OfRelease(1 / n),
                "records attacked": OfRelease(n),
                "columns": OfPlan(list(names)),
            },
            record_risk=linked[best],
        )

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
