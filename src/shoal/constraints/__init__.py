"""Edit constraints: rules that every record of a release must satisfy."""

from shoal.constraints.constraints import Constraints

__all__ = ["Constraints"]
