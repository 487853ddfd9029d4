"""A method's words in one import: its entry, parameters and their limits, facts and errors."""

from annotated_types import Ge as Ge
from annotated_types import Gt as Gt
from annotated_types import Le as Le

from shoal.vocabulary.errors import DataError as DataError
from shoal.vocabulary.errors import NoFigure as NoFigure
from shoal.vocabulary.errors import ParameterError as ParameterError
from shoal.vocabulary.errors import Refused as Refused
from shoal.vocabulary.errors import in_digits as in_digits
from shoal.vocabulary.errors import plural as plural
from shoal.vocabulary.errors import quoted as quoted
from shoal.vocabulary.facts import ByColumn as ByColumn
from shoal.vocabulary.facts import ByLabel as ByLabel
from shoal.vocabulary.facts import Count as Count
from shoal.vocabulary.facts import Fact as Fact
from shoal.vocabulary.facts import Facts as Facts
from shoal.vocabulary.facts import Figure as Figure
from shoal.vocabulary.facts import Interval as Interval
from shoal.vocabulary.facts import Nested as Nested
from shoal.vocabulary.facts import OfOriginal as OfOriginal
from shoal.vocabulary.facts import OfPlan as OfPlan
from shoal.vocabulary.facts import OfRelease as OfRelease
from shoal.vocabulary.facts import Share as Share
from shoal.vocabulary.facts import of_original as of_original
from shoal.vocabulary.facts import of_release as of_release
from shoal.vocabulary.parameters import ColumnName as ColumnName
from shoal.vocabulary.parameters import Columns as Columns
from shoal.vocabulary.parameters import HoldsCells as HoldsCells
from shoal.vocabulary.parameters import Setting as Setting
from shoal.vocabulary.parameters import TablePath as TablePath
from shoal.vocabulary.registry import Scales as Scales
from shoal.vocabulary.registry import family as family
from shoal.vocabulary.registry import method as method
from shoal.vocabulary.registry import nested as nested
