"""Edit constraints: rules that every record of a release must satisfy."""

from shoal.constraints.constraints import Constraints, Policy

__all__ = ["Constraints", "Policy"]
