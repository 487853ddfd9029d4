"""Base of the models that can count persons or households in the place of records.

A person may have several records. An intruder who knows one record of a person looks at the persons who have a record
like it; one who knows all records looks at the persons with the same profile (`shoal.judges.known`). Where the released
table tells which records are one person's, the second is assumed unless the plan says otherwise.
"""

from abc import abstractmethod
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np

from shoal.judges.known import Knowing, PersonsInMemory, known, ordered_tokens, tokens_of_members
from shoal.judges.prelude import TablePair, Verdict
from shoal.judges.units import telling_column
from shoal.kernels.arrays import Longs
from shoal.privacy.base import ClassModel, unproved
from shoal.table.schema import UNITS, Schema
from shoal.vocabulary.errors import NoFigure, ParameterError, plural
from shoal.vocabulary.prelude import ColumnName, Ge, of_original
from shoal.vocabulary.registry import family


@family
class UnitModel(ClassModel):
    """A model of records, or of the persons or households whom records are of.

    Parameters
    ----------
    unit
        Unit that is counted: records; persons; households, because k records of one family hide nobody; or the values
        of an identifier of the original, by its name. Each unit counts as one, however many records it has. By default
        persons where the table has a person column, else records. A column that is not released needs the original.
        Units need equivalence classes (`missing: equal`).
    knowing
        Knowledge of an intruder about a unit: `one record`; `all records`, so that units are alike if they have as many
        records of each class; or a number m, for any m records. By default all records of a person if the released
        table tells which records are one person's, else one. Of a household it is known as well whose each record is,
        if the persons' column is released.
    order
        Column by which an intruder who knows all records knows their order, too.
    """

    unit: Literal["record", "person", "household"] | Annotated[str, ColumnName()] | None = None
    knowing: Literal["one record", "all records"] | Annotated[int, Ge(1)] | None = None
    order: Annotated[str | None, ColumnName()] = None

    def __post_init__(self) -> None:
        if self.order is not None and self.knowing != "all records":
            raise ParameterError(
                f"{self.method_name}: order is for knowing: all records. Say that, or leave order out."
            )
        if self.knowing is not None and self.unit == "record":
            raise ParameterError(
                f"{self.method_name}: knowing is for units of several records. Leave unit: record out."
            )

    @property
    def counts_units(self) -> bool:
        """True if it counts units other than records."""
        return self.unit not in (None, "record")

    @property
    def counts_records(self) -> bool:
        return self.protects and not self.counts_units

    @property
    def units(self) -> tuple[str, ...]:
        return (str(self.unit),) if self.counts_units else ()

    @property
    def identifiers(self) -> tuple[str, ...]:
        return () if self.unit is None or self.unit in ("record", *UNITS) else (self.unit,)

    @property
    def needs_original(self) -> bool:
        return bool(self.identifiers)

    @property
    def knows_profiles(self) -> bool:
        """True if more than one record is known, so that nothing is judged class by class."""
        return self.knowing not in (None, "one record", 1)

    @property
    def knows_households(self) -> bool:
        """True if all records of a household are known."""
        return self.unit == "household" and self.knowing == "all records"

    @property
    def in_parts(self) -> bool:
        return not self.counts_units

    @property
    @abstractmethod
    def limit(self) -> float:
        """The limit on the figure that is required."""

    def verdict_on(self, pair: TablePair) -> Verdict:
        if self.unit is None and (self.knowing is not None or pair.units_by("person") is not None):
            return replace(self, unit="person").verdict_on(pair)
        return super().verdict_on(pair)

    def judge(self, pair: TablePair) -> Verdict:
        if not self.counts_units:
            return super().judge(pair)
        knowing = self.knowing_of(pair)
        try:
            persons = self._persons(pair, knowing)
            verdict = self.on_persons(persons)
        except NoFigure as reason:
            return unproved(f"{self.method_name}{self.of_units(knowing)}", self.limit, str(reason))
        failing = None if verdict.failing is None else persons.known.records_of(verdict.failing)
        return self.of_hidden(replace(verdict, failing=failing), pair)

    def of_hidden(self, verdict: Verdict, pair: TablePair) -> Verdict:
        """The verdict, as one that is no function of the release where the units' column is not released."""
        if pair.column_of(str(self.unit)) is not None:
            return verdict
        return replace(verdict, facts=of_original(verdict.details), influence=None)

    def on_persons(self, persons: PersonsInMemory) -> Verdict:
        """The verdict on groups of persons; its `failing` has shape (G,), by group."""
        verdict = self.conclude(self.look(persons))
        return replace(verdict, requirement=f"{verdict.requirement}{self.of_units(persons.knowing)}")

    def knowing_of(self, pair: TablePair) -> Knowing:
        """What an intruder is taken to know of each unit; as the plan says, or by default."""
        if self.knowing is not None:
            return self.knowing
        return "all records" if self.unit == "person" and telling_column(pair, "person") is not None else "one record"

    def of_units(self, knowing: Knowing) -> str:
        """The unit that is counted and what is known of it, in words."""
        known_records = f"any {knowing} records" if isinstance(knowing, int) and knowing > 1 else knowing
        known_records = "one record" if knowing == 1 else known_records
        in_order = "" if self.order is None else f" in order of '{self.order}'"
        return f" of {self.units_in_words}, {known_records} known{in_order}"

    @property
    def units_in_words(self) -> str:
        """Name of the counted units."""
        named = self.unit or "record"
        return f"{named}s" if named in ("record", *UNITS) else f"values of '{named}'"

    def _persons(self, pair: TablePair, knowing: Knowing) -> PersonsInMemory:
        """Groups of the released units. Raises NoFigure if they cannot be formed."""
        if getattr(self, "missing", "equal") != "equal":
            raise NoFigure(f"{self.units_in_words.capitalize()} can only be counted under missing: equal.")
        units = pair.units_by(str(self.unit))
        if units is None:
            raise NoFigure(self.uncounted())
        if nobody := int((units < 0).sum()):
            raise NoFigure(f"{plural(nobody, 'record')} {'has' if nobody == 1 else 'have'} no {self.unit}.")
        names = self.class_columns(pair.released.quasi_identifiers)
        tokens = pair.released.classes(names).ids
        if self.order is not None:
            tokens = ordered_tokens(tokens, units, self._places(pair, self.order))
        persons = pair.units_by("person")
        if self.knows_households and persons is not None and pair.column_of("person") is not None:
            tokens = tokens_of_members(tokens, units, persons)
        unit = str(self.unit) if self.unit in UNITS else "value"
        return PersonsInMemory(pair=pair, known=known(tokens, units, knowing), knowing=knowing, unit=unit)

    def _places(self, pair: TablePair, name: str) -> Longs:
        """Shape (n',); numbers by which records are in order of a column. Raises NoFigure if the release lacks it."""
        if name not in pair.released:
            raise NoFigure(f"The table has no column '{name}', so the order of records is not known.")
        return pair.released[name].codes().astype(np.int64)

    def uncounted(self) -> str:
        """The reason why nothing was counted."""
        if self.unit in UNITS:
            return f"The table has no column with the role {self.unit}, so {self.unit}s cannot be counted."
        return (
            f"The table has no column '{self.unit}', and it is not known which original record each record came from, "
            f"so the values of '{self.unit}' cannot be counted. Give the original and the private folder."
        )


def with_unit(model: Any, schema: Schema, *, for_step: bool) -> Any:
    """A requirement with the unit that it counts in a table with this schema.

    `for_step`: with what is known of persons, too, as long as the column of persons has not yet been taken out.
    """
    persons = schema.names("person")
    if not isinstance(model, UnitModel) or model.unit not in (None, "person"):
        return model
    knowing = model.knowing
    if not persons and model.unit is knowing is None:
        return model
    if knowing is None and for_step and persons:
        knowing = "one record" if persons[0] in schema.kept_keys else "all records"
    return replace(model, unit="person", knowing=knowing)
