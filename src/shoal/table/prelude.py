"""Imports shared by the methods that change a table: partitions, replacements and masks."""

from numpy.random import Generator as Generator

from shoal.kernels.arrays import Bools as Bools
from shoal.kernels.arrays import Floats as Floats
from shoal.kernels.arrays import Ints as Ints
from shoal.kernels.arrays import Longs as Longs
from shoal.kernels.arrays import ints as ints
from shoal.kernels.arrays import seed_of as seed_of
from shoal.table.partition import Partition as Partition
from shoal.table.partition import Progress as Progress
from shoal.table.partition import part_of as part_of
from shoal.table.partition import tracked as tracked
from shoal.table.records import MissingCells as MissingCells
from shoal.table.records import Records as Records
from shoal.table.step_result import Dealing as Dealing
from shoal.table.step_result import StepResult as StepResult
from shoal.table.variable import Variable as Variable
