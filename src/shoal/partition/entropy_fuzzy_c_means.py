"""Fuzzy microaggregation by entropy fuzzy c-means, plain and constrained (Miyamoto & Mukaidono 1997; Torra 2020)."""

from typing import Annotated

from shoal.partition.fuzzy import FuzzyPartitioner
from shoal.vocabulary.prelude import Gt, Setting, method


@method(
    "entropy-fuzzy-c-means",
    title="Entropy fuzzy c-means",
    source="Miyamoto & Mukaidono (1997); Torra (2020)",
    example={"k": 3},
)
class EntropyFuzzyCMeans(FuzzyPartitioner):
    """Records draw one of c centres at random, with probabilities exp(-lambda |x - v|^2), normalised.

    The centres minimise sum_k sum_i (u_ki |x_k - v_i|^2 + u_ki log(u_ki) / lambda) over memberships with
    sum_i u_ki = 1, with `constraints` among the centres that satisfy them. Otherwise as fuzzy-c-means, but steps are
    not extrapolated.

    Parameters
    ----------
    lambda1, lambda2
        Crispness, over 0, of the clustering and of the draw: a record prefers a centre to another one
        by a factor e for every 1/lambda that its squared distance is smaller, in standardised columns. Towards 0
        every membership goes to 1/c and every centre to the mean.
    """

    rule = "entropy"

    lambda1: Annotated[float, Gt(0), Setting()] = 10.0
    lambda2: Annotated[float, Gt(0), Setting()] = 10.0

    @property
    def rule_parameters(self) -> tuple[float, float]:
        return self.lambda1, self.lambda2
