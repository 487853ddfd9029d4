"""Errors that pydantic finds in a plan, in the words of the house, each with its line and column."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel, ValidationError

from shoal.plan.context import CONTEXTS
from shoal.plan.lines import position
from shoal.plan.sections import About, EditRules, LedgerRules, Output, SearchSpace
from shoal.table.schema import mistakes as of_columns
from shoal.vocabulary.errors import Mistake, unknown

KEYED: Mapping[str, type[BaseModel]] = {
    "release": About,
    "constraints": EditRules,
    "output": Output,
    "explore": SearchSpace,
    "ledger": LedgerRules,
}
"""Sections that are mappings with keys of their own."""

NO_COLUMNS = "the section 'columns' must give every column a role."

WHOLE_NUMBERS = {"int_type", "greater_than_equal", "less_than_equal"}
"""Pydantic's names of the errors of a number of copies."""

MUST_BE = {
    "columns": NO_COLUMNS,
    "constraints": "constraints must be a list of rules, each a text.",
    "release": "release must be a mapping of texts, as in {title: ..., valid_until: 2030-12-31}.",
    "publish": "publish must be a list of measures, or the word exact for all of them.",
    "accept": "accept must be a list of columns, as in [weight, region].",
    "output": "output must be a mapping, as in {format: csv}.",
    "exact": "exact must be true or false.",
    "block_size": "block_size must be a whole number of at least 10,000.",
    "explore": "explore must be a mapping with the key 'method' and ranges.",
    "ledger": "ledger must be a mapping with the key 'key', which names a column.",
}
"""Message for a section whose value is of another kind altogether."""


def mistakes_of(error: ValidationError, sections: Collection[str]) -> list[Mistake]:
    """Every mistake with its place.

    Parameters
    ----------
    sections
        Names of all sections.
    """
    mistakes: list[Mistake] = []
    columns = []
    for problem in error.errors():
        of_one = len(problem["loc"]) > 1 or problem["type"] == "value_error"
        if problem["loc"][:1] == ("columns",) and of_one:
            columns.append({**problem, "loc": problem["loc"][1:]})
        else:
            mistakes += _mistakes(problem, sections)
    return mistakes + [(("columns", *place), sentence) for place, sentence in of_columns(columns)]


def in_words(mistakes: Iterable[Mistake], sections: Any, source: str) -> str:
    """Every mistake on a line of its own: 'plan.yaml, line 3, column 5: problem'.

    Parameters
    ----------
    sections
        The plan as it was read, with lines and columns if it came from a file.
    source
        Name of the plan in messages.
    """
    placed = {(position(sections, place) or (0, 0), sentence) for place, sentence in mistakes}
    return "\n".join(f"{source}{_where(at)}: {sentence}" for at, sentence in sorted(placed))


def _where(at: tuple[int, int]) -> str:
    return f", line {at[0]}, column {at[1]}" if at[0] else ""


def _mistakes(problem: Mapping[str, Any], sections: Collection[str]) -> Iterator[Mistake]:
    place = problem["loc"]
    section = str(place[0]) if place else ""
    error = problem.get("ctx", {}).get("error")
    if len(place) == 1 and section not in sections:
        yield place, unknown("section", section, sections)
    elif not place:  # sections that do not go together
        yield from getattr(error, "mistakes", ()) or [((), problem["msg"].removeprefix("Value error, "))]
    elif section in KEYED:
        yield place, _of_key(section, problem)
    elif section == "for":
        yield place, unknown("value of for", problem["input"], list(CONTEXTS))
    elif len(place) == 1 or section in ("publish", "accept"):
        yield (section,), MUST_BE.get(section, f"the section '{section}' must be a list.")
    else:
        for inner, sentence in getattr(error, "mistakes", ()) or [((), str(error))]:
            yield (*place, *inner), f"{section} {place[1] + 1}: {sentence}"


def _of_key(section: str, problem: Mapping[str, Any]) -> str:
    """The mistake in a section that has keys, or in one of its keys."""
    key = str(problem["loc"][1]) if len(problem["loc"]) > 1 else ""
    keys = KEYED[section].model_fields
    if problem["type"] == "value_error":
        return f"{section}: {problem['msg'].removeprefix('Value error, ')}."
    if problem["type"] == "extra_forbidden":
        return unknown(f"key of {section}", key, keys)
    if problem["type"] == "bool_type":
        return f"{key} must be true or false; got {problem['input']!r}."
    if problem["type"] in WHOLE_NUMBERS and section == "ledger":
        least = keys[key].metadata[0].ge if keys[key].metadata else 1
        return f"ledger: {key} must be a whole number of at least {least}; got {problem['input']!r}."
    if problem["type"] in WHOLE_NUMBERS:
        return f"{key} must be a whole number from 1 to 1,000; got {problem['input']!r}."
    if key in keys and get_origin(keys[key].annotation) is Literal:
        return unknown(f"value of {key}", problem["input"], get_args(keys[key].annotation))
    return MUST_BE[section]
