"""Fuzzy microaggregation by fuzzy c-means, plain and constrained (Bezdek 1981; Torra 2017, 2020)."""

from typing import Annotated

from shoal.partition.fuzzy import FuzzyPartitioner
from shoal.vocabulary.prelude import Gt, Setting, method


@method("fuzzy-c-means", title="Fuzzy c-means", source="Bezdek (1981); Torra (2017, 2020)", example={"k": 3})
class FuzzyCMeans(FuzzyPartitioner):
    """Records draw one of c centres at random, with probabilities that fall with their distance.

    The centres minimise sum_k sum_i u_ki^m |x_k - v_i|^2 over memberships with sum_i u_ki = 1. With
    `constraints` they do so among the centres that satisfy them: each centre is the weighted mean, moved to the
    nearest point that does, at every step. Then the memberships are computed anew with m2, and each record draws
    a centre with them (Torra 2020, Algorithm 1, after Torra 2017). Release the centres with `replace: fuzzy-centre`.

    Parameters
    ----------
    m1, m2
        Fuzziness, over 1, of the clustering and of the draw. Near 1 both are crisp; as m grows every
        membership goes to 1/c and, with three columns or more, every centre to the mean.

    Notes
    -----
    The default m1 is about that of the worked example of Torra (2020), as far as its printed centres tell: 1.32 fits
    best.

    Differs from the paper: that all centres at the mean are an optimum for large m (Proposition 2) holds where
    lambda < 1/2 - 1/(2m), lambda the largest eigenvalue of the mean of z z'/|z|^2, z the difference of a record
    from the mean; never with one or two columns, and the earlier the more columns vary alike.

    Differs from the paper: slow steps are extrapolated (Varadhan & Roland 2008), and with more than 100 centres a
    record moves none whose weight is below a thousandth of its nearest one's, in the last tenth of the steps below a
    millionth.

    Differs from the paper: the balanced draw, and its number of centres. With n / k centres it would have to give
    every centre exactly k records, near or far; with half as many the loss on Census (k = 3) falls by 40 %.
    """

    rule = "power"

    m1: Annotated[float, Gt(1), Setting()] = 1.3
    m2: Annotated[float, Gt(1), Setting()] = 1.3

    @property
    def rule_parameters(self) -> tuple[float, float]:
        return self.m1, self.m2
