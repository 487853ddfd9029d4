"""Plans: what the columns are, what is done to them, what must hold, and how it is written."""

from shoal.plan.model import Plan
from shoal.plan.sections import Output
from shoal.plan.steps import MaskStep, PartitionStep

__all__ = ["MaskStep", "Output", "PartitionStep", "Plan"]
