"""Imports shared by the methods that judge a table: privacy models, risk and utility measures."""

from numpy.random import Generator as Generator

from shoal.judges.base import Need as Need
from shoal.judges.evidence import Finding as Finding
from shoal.judges.evidence import Verdict as Verdict
from shoal.judges.table_pair import TablePair as TablePair
from shoal.judges.table_pair import common as common
from shoal.judges.table_pair import comparable as comparable
from shoal.kernels.arrays import Bools as Bools
from shoal.kernels.arrays import Floats as Floats
from shoal.kernels.arrays import Longs as Longs
from shoal.table.records import MissingCells as MissingCells
from shoal.table.records import Records as Records
from shoal.table.variable import Variable as Variable
