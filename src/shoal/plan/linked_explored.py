"""The section `explore` of a plan for several linked tables.

    explore:
      method:
        alike: [{mask: profiles}]
        coarse: [{table: stays, mask: truncate-records, most: [1, 2]}]
      k: [3, 5, 10]
      suppress_persons: [0, 0.2]

A step with `table` comes after the own steps of that table, any other after those of the whole plan. `suppress_persons`
is a range beside the parameters of steps.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from shoal.plan.lines import plain
from shoal.plan.mistakes import mistakes_of
from shoal.plan.sections import SearchSpace
from shoal.vocabulary.errors import Mistake
from shoal.vocabulary.registry import Spec

PLACE = ("explore",)

OF_MADE_UP = (
    "explore compares ways to protect people's rows, and where persons are made up none is released. Leave it out, and "
    "try methods of synthesis one by one."
)


class _Section(BaseModel):
    explore: SearchSpace


def read_explored(section: Any, mistakes: list[Mistake], *, made_up: bool) -> SearchSpace | None:
    """The section; None if there is none. Mistakes are added to those that there are."""
    if section is None:
        return None
    if made_up:
        mistakes.append((PLACE, OF_MADE_UP))
        return None
    try:
        return _Section.model_validate({"explore": section}).explore
    except ValidationError as error:
        mistakes += mistakes_of(error, PLACE)
        return None


def explored_section(explored: SearchSpace | None, *, public: bool = False) -> Spec | None:
    """The section from which the same exploration is read again; none for the public, which gets what was chosen."""
    if explored is None or public:
        return None
    content: Mapping[str, Any] = explored.model_dump(exclude_unset=True)
    section: Spec = plain(content)
    return section
