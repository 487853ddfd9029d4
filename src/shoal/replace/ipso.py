"""IPSO: information preserving statistical obfuscation (Burridge 2003)."""

from collections.abc import Sequence
from typing import Annotated

from shoal.replace._residuals.rotation import rotate
from shoal.replace.synthesis import Synthesiser, kept
from shoal.table.prelude import Generator, Partition, Progress, Records, StepResult
from shoal.vocabulary.prelude import Columns, method


@method("ipso", title="IPSO: information preserving statistical obfuscation", source="Burridge (2003), variant C")
class IPSO(Synthesiser):
    """Continuous columns drawn anew given the columns that stay, first and second moments of every group kept.

    Inside a group X' = P X + U O U'X: the part of the columns X that a linear regression on the kept columns Y
    explains stays, the residuals are rotated at random among all that are orthogonal to [1, Y] (O is uniform on
    the orthogonal matrices). Means, the covariance matrix of X and its covariances with Y are exactly those of the
    original, in every group and therefore overall, whatever the rank of X and Y; coefficients and standard errors
    of linear regressions among these columns are too. With one group the columns X are fully synthetic, with
    groups by microaggregation the result is the hybrid data of Domingo-Ferrer & Gonzalez-Nicolas (2010), Section 4.
    With one group it does what EGADP does (Muralidhar & Sarathy 2005), and exactly what GADP (Muralidhar, Parsa &
    Sarathy 1999) does in expectation. The facts compare the change of third central moments with the bound of
    Domingo-Ferrer & Gonzalez-Nicolas, Lemma 2.

    Parameters
    ----------
    given
        Names of the kept columns Y; by default the continuous quasi-identifiers and confidential columns that are
        not replaced. Their missing cells count as the mean of the known ones.
    small
        The residuals of a group of s records live in d = s - 1 - rank Y dimensions. With d = 0 a group comes out as
        it went in, with d = 1 it does so half the time. A group with d < max(L + 1, 3), for L replaced columns, makes
        the step refuse, or is merged with the group of the nearest mean, or is allowed. Only `allow` lets k = 1 return
        the data as they are.
    support
        Rules of the observed support that released values obey: range, coarse-range (with ends a
        little farther out), group-range (the range of each group), non-negative, zeros, integers, decimals (as many as
        observed values of that size have). The facts tell how much exactness that costs: with ranges alone usually
        none, in groups of dozens of records. None by default, as exact moments are what the method is for; the facts
        then count the values that no original record could have.
    marginals
        Draw on the columns' own scale, on logarithms or on normal scores; the moments on the columns' own scale
        are restored afterwards.

    Notes
    -----
    Differs from the paper: Domingo-Ferrer & Gonzalez-Nicolas, Section 3.1, ask for k >= M + 1 with M kept columns,
    which leaves d = 0. From d = 2 on no draw equals the original, yet that is not enough. Where d >= L, a draw is one
    frame of L columns in d dimensions, which L (2d - L - 1) / 2 angles determine. The moments are public, so whoever
    knows a record's L values too has L equations for these angles. With d = L = 2 there is one angle, and one known
    cell gives all others of the group away (but for two or three false solutions). With one column and d = 2, as in a
    group of four with one kept column, there is one angle, too, whatever cell is known. d = max(L + 1, 3) leaves more
    angles than a known record has equations: L (L + 1) / 2 for L > 1, two for L = 1. Whoever knows more
    records has more equations; larger groups leave more angles.
    """

    given: Annotated[tuple[str, ...] | None, Columns()] = None

    @property
    def anew(self) -> bool:
        return self.small != "allow"  # which lets a group come out as it went in

    @property
    def predictors(self) -> tuple[str, ...] | None:
        return self.given

    def apply(
        self, records: Records, columns: Sequence[str], partition: Partition, rng: Generator, progress: Progress = None
    ) -> StepResult:
        given = kept(records, columns, self.given, self.method_name)
        return self._synthesise(records, columns, partition, given, rotate, rng, progress)
