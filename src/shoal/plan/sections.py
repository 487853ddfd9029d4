"""The sections of a plan that are plain settings: what the release is, edit rules, output, exploration."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, Strict, model_validator

from shoal.constraints.grammar import is_of_rows
from shoal.table.schema import Policy
from shoal.vocabulary.parameters import ColumnName, ForReaders, HoldsCells, KeyFile, Setting
from shoal.vocabulary.registry import Spec

CLOSED = ConfigDict(frozen=True, extra="forbid")


class About(BaseModel):
    """Title, owner and purpose of the release, for the head of its report.

    Parameters
    ----------
    title
        What readers call the table.
    owner
        Who answers for it.
    date
        The day on which it is released.
    purpose
        What it was made for.
    audience
        Who may have it.
    valid_until
        The last day on which it may be used.
    contact
        Whom to ask.
    """

    model_config = CLOSED

    title: Annotated[str | None, ForReaders()] = None
    owner: Annotated[str | None, Setting()] = None
    date: Annotated[datetime.date | None, Setting()] = None
    purpose: Annotated[str | None, ForReaders()] = None
    audience: Annotated[str | None, Setting()] = None
    valid_until: Annotated[datetime.date | None, Setting()] = None
    contact: Annotated[str | None, Setting()] = None

    def as_mapping(self) -> dict[str, str]:
        """The fields that are set, as texts."""
        fields: dict[str, str] = self.model_dump(mode="json", exclude_none=True)
        return fields


class EditRules(BaseModel):
    """Rules that every record of the release must satisfy; a list is read as its `rules`.

    Parameters
    ----------
    rules
        Rules such as `net + tax == gross`, `0 <= age <= 110` or `sex == 'male' -> pregnant == 0`.
    broken_rules
        What happens when the input itself breaks a rule: refuse, report or repair.
    """

    model_config = CLOSED

    rules: Annotated[tuple[str, ...], HoldsCells()] = ()
    broken_rules: Policy = "refuse"

    @property
    def of_records(self) -> tuple[str, ...]:
        """The rules that a record obeys or breaks by itself."""
        return tuple(rule for rule in self.rules if not is_of_rows(rule))

    @property
    def of_persons(self) -> tuple[str, ...]:
        """The rules over several records of a person."""
        return tuple(rule for rule in self.rules if is_of_rows(rule))

    @model_validator(mode="before")
    @classmethod
    def _rules_alone(cls, value: Any) -> Any:
        return {"rules": value} if isinstance(value, (list, tuple)) else value


class Output(BaseModel):
    """Format and order of the release.

    Parameters
    ----------
    format
        One of csv, parquet, xlsx, sav (SPSS), dta (Stata), xpt (SAS transport), rds (R).
    shuffle
        Release the records in random order, so that their order tells nothing. Otherwise they stand in the order
        of the original, and whoever knows that order (of admission, of the alphabet) finds people by it.
    guard_formulas
        In CSV and Excel, put an apostrophe before text that a spreadsheet would run as a formula.
    copies
        Tables to release, each made by the same plan with random numbers of its own and each proved by itself: data-1,
        data-2 and so on. What synthesis adds to the error of an estimate is seen between them (`shoal.combine`). They
        are all about the same people, and together tell more than one does: so more than one are made only of plans
        that make every released column anew for the whole table.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal["csv", "parquet", "xlsx", "sav", "dta", "xpt", "rds"] = "csv"
    shuffle: bool = True
    guard_formulas: bool = False
    copies: Annotated[int, Ge(1), Le(1000)] = 1


class LedgerRules(BaseModel):
    """The ledger of all releases, and what must hold over them; see `shoal.ledger`.

    Parameters
    ----------
    key
        The column that says whose a record is in every release. Its values enter the ledger only as keyed hashes.
    file
        The ledger. Left out, `--ledger` names it, or the private folder of the release holds one of its own, which
        `--after` carries on.
    k
        Fewest persons who share all that the releases tell of their quasi-identifiers; left out, the largest k of the
        requirements.
    m
        Fewest confidential values in a class, all different, and the same ones in every release for a person in it
        (m-invariance); left out, none are compared.
    epsilon
        Most epsilon that releases may spend on a column of one person, by column; `*` limits the sum over all columns.
    delta
        Most delta that they may spend, likewise: the probability with which they may break what epsilon promises.
    collude
        Audiences that may put their releases together with this one. Those of the same audience always count, and so do
        releases without an audience, which anybody may have.
    hold_back
        Hold back what would tell persons apart: newcomers wait until k of them are alike, and whoever changes with
        fewer than k of his class is released with the quasi-identifiers of the others in it. Groups that a step forms
        are kept as long as their members stay, so that averages follow them. With `m`, classes are withheld whose
        values would change.
    newcomers
        Fewest newcomers that `hold_back` lets in at once, if more than k. Where averages are released, more newcomers
        wait longer and form closer groups.
    left
        A column, never released, with a cell for whoever has left (the day of death or of leaving) and none for others.
        With `hold_back` such a record stays in the releases until k of its class can leave together.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    key: Annotated[str, ColumnName()]
    file: Annotated[str | None, KeyFile()] = None
    k: Annotated[int | None, Ge(2), Setting()] = None
    m: Annotated[int | None, Ge(2), Setting()] = None
    epsilon: Annotated[dict[str, float], Setting()] = {}
    delta: Annotated[dict[str, float], Setting()] = {}
    collude: Annotated[tuple[str, ...], Strict(False), Setting()] = ()
    hold_back: Annotated[bool, Setting()] = False
    newcomers: Annotated[int, Ge(1), Setting()] = 1
    left: Annotated[str | None, ColumnName()] = None


NAMES_OR_STEPS = "method must be a list of names, as in [mdav, rank-swap], or a mapping from names to lists of steps"


class SearchSpace(BaseModel):
    """Methods and ranges of parameters for `shoal.explore`; `protect` ignores them.

    Every key besides these is a range: the name of a parameter, and a value or a list of values to try.

    Parameters
    ----------
    method
        Names of methods; or steps of candidates by name, in which lists are ranges.
    risk, utility
        The two measures by which candidates are compared: a name, or `{method: NAME, parameter: value}`.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    method: Annotated[tuple[str, ...] | dict[str, tuple[Spec, ...]], Setting()]
    risk: Annotated[str | Spec, Setting()] = "distance-linkage"
    utility: Annotated[str | Spec, Setting()] = "sse"

    @model_validator(mode="before")
    @classmethod
    def _says_what_to_try(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if not (method := value.get("method")):
            raise ValueError("needs the key 'method' with at least one method, as in method: [mdav, rank-swap]")
        if not isinstance(method, (list, tuple, Mapping)) or not all(isinstance(name, str) for name in method):
            raise ValueError(NAMES_OR_STEPS)
        for name, steps in method.items() if isinstance(method, Mapping) else ():
            if not (isinstance(steps, (list, tuple)) and all(isinstance(step, Mapping) for step in steps)):
                raise ValueError(f"'{name}' must be a list of steps, as in [{{partition: mdav, k: [3, 5]}}]")
        for axis in ("risk", "utility"):
            if not isinstance(value.get(axis, ""), (str, Mapping)):
                raise ValueError(f"{axis} must be a measure: its name, or a mapping as in {{method: NAME, ...}}")
        return value

    @property
    def candidates(self) -> dict[str, tuple[Spec, ...] | None]:
        """Steps to try, by name; None for a name that is a method's own."""
        return dict(self.method) if isinstance(self.method, dict) else dict.fromkeys(self.method)

    @property
    def ranges(self) -> dict[str, list[Any]]:
        """Values to try, by parameter."""
        return {
            key: list(value) if isinstance(value, (list, tuple)) else [value]
            for key, value in (self.model_extra or {}).items()
        }
