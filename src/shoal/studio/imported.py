"""All that the studio's processes need: it is imported once, by the process that they are copies of."""

from contextlib import suppress

from scipy import sparse, special

from shoal.studio import holders, runner
from shoal.vocabulary.errors import ParameterError
from shoal.vocabulary.registry import load

__all__ = ["holders", "runner", "sparse", "special"]

with suppress(ParameterError):  # of a package that brings methods; a plan that needs them says so
    load()
