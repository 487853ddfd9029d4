"""Plans: the columns, the steps, the requirements, and the output."""

from shoal.plan.model import Plan
from shoal.plan.sections import Output
from shoal.plan.steps import MaskStep, PartitionStep

__all__ = ["MaskStep", "Output", "PartitionStep", "Plan"]
