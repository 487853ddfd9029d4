"""Noisy counts drawn towards what the model expected, as far as their noise is more than what they tell."""

from dataclasses import replace

import numpy as np

from shoal.mask._marginals.model import NoisyMarginal
from shoal.table.prelude import Floats


def shrunken(measured: NoisyMarginal, expected: Floats) -> NoisyMarginal:
    """The counts that are likeliest given both (empirical Bayes, Efron & Morris 1973); they cost no privacy.

    A true count is taken to differ from the expected one e by a normal draw of variance c (e + 1), and the noisy one
    from it by the noise of variance v. c follows from all cells, whose squared differences have the sum of both; each
    difference then is kept as c (e + 1) / (c (e + 1) + v) of itself.
    """
    differences = measured.counts - expected
    spread = expected + 1.0
    beyond = float((differences * differences).sum()) - measured.variance * differences.size
    prior = max(beyond, 0.0) / float(spread.sum()) * spread
    return replace(measured, counts=np.asarray(expected + differences * (prior / (prior + measured.variance))))
