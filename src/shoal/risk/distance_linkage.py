"""Distance-based record linkage (Pagliuca & Seri 1999; Domingo-Ferrer & Torra 2001; Herranz et al. 2015)."""

from typing import Annotated

from shoal.judges.base import by_record
from shoal.judges.intervals import cautious_interval
from shoal.judges.linkage import Direction, Matching, Metric, link_by_distance
from shoal.judges.prelude import Finding, Generator, TablePair
from shoal.risk.base import RiskMeasure
from shoal.vocabulary.prelude import Columns, Count, Ge, OfPlan, Share, in_digits, method, quoted


@method(
    "distance-linkage",
    title="Records found again by distance",
    source="Pagliuca & Seri (1999); Domingo-Ferrer & Torra (2001); Abril, Navarro-Arribas & Torra (2012); "
    "Herranz, Nin, Rodriguez & Tassa (2015)",
)
class DistanceLinkage(RiskMeasure):
    """Share of released records whose nearest original record is the one they came from.

    The attacker knows the original values of the quasi-identifiers and links each released record to the
    nearest original one (or, in the other direction, looks each known person up among the released records).
    Where t records are equally near and the true one is among them, the link is right with probability 1/t.
    A guess at random is right with probability 1/n. A missing value counts as the column's mean, a
    recoded one as the mean of all that were recoded alike.

    Parameters
    ----------
    columns
        What the attacker knows; by default the quasi-identifiers.
    metric
        Distance of standardised, mixed-level records, or Mahalanobis distance in the original's covariance
        (directions without variance are left out). `fitted` is weighted, supervised linkage, the attacker at their
        best: one who knows who some hundred released records are and weighs the columns so that these come first
        (Abril et al. 2012); where equal weights link more, these.
    direction
        Who is looked up where.
    matching
        `nearest`: each record is linked by itself. `one-to-one`: by the assignment of all records at once in which no
        two share a link and the sum of the squared distances is least, as someone does who knows that everybody was
        released. It often finds more, above all where little was changed. At most 4 million pairs are looked at: of
        more than 2,000 records only some are linked, and the fewer these are the less they keep off one another.
    sample
        Attack so many records, drawn at random; by default as many as some seconds allow, which is all but in large
        tables of many columns.
    """

    score_weight = 0.125
    question = "linkability"
    prominence = 20
    needs = ("columns", "pairing", "records")
    roles = ("quasi-identifier",)
    cheap = True

    columns: Annotated[tuple[str, ...] | None, Columns()] = None
    metric: Metric = "euclidean"
    direction: Direction = "released to original"
    matching: Matching = "nearest"
    sample: Annotated[int, Ge(1)] | None = None

    def judge(self, pair: TablePair, rng: Generator) -> Finding:
        names = self.compared(pair)
        rows, chances = link_by_distance(pair, names, self.metric, self.direction, self.sample, rng, self.matching)
        candidates = len(pair.released if self.direction == "original to released" else pair.before)
        hits, trials = float(chances.sum()), len(rows)
        interval = cautious_interval(hits, trials)
        return self.finding(
            hits / trials,
            f"Someone who knows {quoted(names)} of everybody finds {in_digits(100 * hits / trials, 3)} % of the "
            f"records again by distance; guessing finds {in_digits(100 / candidates, 3)} %.",
            interval=interval,
            facts={
                "records attacked": Count(n=trials),
                "candidates": Count(n=candidates),
                "by chance": Share(value=1 / candidates),
                "columns": OfPlan(list(names)),
                "metric": OfPlan(self.metric),
                "direction": OfPlan(self.direction),
                "matching": OfPlan(self.matching),
            },
            record_risk=by_record(pair.released, rows, chances),
        )
