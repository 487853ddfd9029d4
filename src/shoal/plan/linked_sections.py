"""The sections of a plan that hold for several linked tables at once: steps, requirements, measures, settings."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shoal.judges.base import Measure
from shoal.mask.profiles import Profiles
from shoal.plan.context import CONTEXTS, COPIES
from shoal.plan.named import read_method, read_requirement, read_step
from shoal.plan.synthesis import NO_CLASSES
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import Gate
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.of_units import UnitModel
from shoal.table.schema import UNITS
from shoal.vocabulary.errors import InputError, Mistake, PlanError, unknown
from shoal.vocabulary.registry import entry, registered

KINDS = ("risk", "utility")
"""Kinds of measures."""

MOST_COPIES = 1000


@dataclass(frozen=True, kw_only=True)
class OverTablesSection:
    """What a plan says of all tables together; parameters as for `shoal.plan.linked.LinkedPlan`."""

    steps: tuple[Profiles, ...]
    requirements: tuple[UnitModel, ...]
    bounds: tuple[Gate, ...]
    measures: tuple[Measure, ...]


def read_over_tables(sections: Mapping[str, Any], *, made_up: bool) -> OverTablesSection:
    """The sections. Raises PlanError naming the place of a mistake.

    `made_up`: the persons are made up, so that none hides among others.
    """
    steps = tuple(_steps(sections))
    required = tuple(_requirements(sections, made_up=made_up))
    return OverTablesSection(
        steps=steps,
        requirements=tuple(model for model in required if isinstance(model, UnitModel)),
        bounds=tuple(model for model in required if isinstance(model, Gate)),
        measures=tuple(_measures(sections, made_up=made_up)),
    )


def mistaken_settings(sections: Mapping[str, Any]) -> Iterator[Mistake]:
    """Mistakes of single values, and of sections that do not go together."""
    share, released, output = (sections.get(name) for name in ("suppress_persons", "release_keys", "output"))
    yield from _copies(output, made_up=sections.get("synthesis") is not None)
    if share is not None and (isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1):
        yield ("suppress_persons",), f"suppress_persons must be a share of the persons, from 0 to 1; got {share!r}."
    if not isinstance(released, (bool, type(None))):
        yield ("release_keys",), f"release_keys must be true or false; got {released!r}."
    if isinstance(output, Mapping) and output.get("shuffle") is False and released is False:
        yield (
            ("output", "shuffle"),
            "output: shuffle must be true where no key is released, or the order of the rows links the tables.",
        )
    if sections.get("synthesis") is not None and share:
        yield ("suppress_persons",), "suppress_persons is for persons who are released; none is. Leave it out."
    if sections.get("synthesis") is not None and sections.get("steps"):
        yield ("steps",), "steps over all tables make persons alike who are released; none is. Leave them out."


def _copies(output: Any, *, made_up: bool) -> Iterator[Mistake]:
    """The mistake of asking for copies of rows that are people's own, or of no number of copies."""
    copies, place = copies_of(output), ("output", "copies")
    if isinstance(copies, bool) or not isinstance(copies, int) or not 1 <= copies <= MOST_COPIES:
        yield place, f"output: copies must be a whole number from 1 to {MOST_COPIES:,}; got {copies!r}."
    elif copies > 1 and not made_up:
        yield (
            place,
            "output: copies must be 1 where people's rows are released, for what copies share joins them into more "
            "than each is proved for. To release several, make persons up, as in synthesis: {replace: cart}.",
        )


def copies_of(output: Any) -> Any:
    """The number of copies that the section `output` of a plan asks for, as it is written."""
    return output.get("copies", 1) if isinstance(output, Mapping) else 1


def measures_over_tables() -> list[str]:
    """Names of the measures that mean something over several tables."""
    return [entry.name for kind in KINDS for entry in registered(kind) if entry.cls.over_tables is not None]


def check_over_tables(measure: Measure, *, made_up: bool) -> None:
    """Refuse a measure that means nothing over several tables, or has a parameter that means nothing there."""
    if made_up and measure.over_tables == "classes":
        raise PlanError(NO_CLASSES.format(measure.method_name))
    if measure.over_tables is None:
        *names, last = measures_over_tables()
        raise PlanError(
            f"{measure.method_name} is measured table by table, for it compares single records. State it below a "
            f"table; over all tables there are {', '.join(names)} and {last}."
        )
    if measure.over_tables in ("profiles", "classes", "tables") and measure != type(measure)():
        own = [name for name in entry(measure.method_kind, measure.method_name).parameters if _set(measure, name)]
        raise PlanError(f"{measure.method_name} over all tables takes no {' and no '.join(own)}. Leave it out.")


def _set(measure: Measure, name: str) -> bool:
    return bool(getattr(measure, name) != getattr(type(measure)(), name))


def _listed(sections: Mapping[str, Any], section: str) -> Iterator[tuple[int, Any]]:
    listed = sections.get(section) or ()
    if not isinstance(listed, (list, tuple)):
        raise _mistake((section,), f"the section '{section}' must be a list.")
    return enumerate(listed)


def _steps(sections: Mapping[str, Any]) -> Iterator[Profiles]:
    for number, item in _listed(sections, "steps"):
        try:
            step = read_step(item, None)
        except InputError as error:
            raise _mistake(("steps", number), f"steps {number + 1}: {error}") from None
        if not isinstance(step.method, Profiles):
            sentence = f"{step.name} works table by table. State it below a table; over all tables there is profiles."
            raise _mistake(("steps", number), f"steps {number + 1}: {sentence}")
        if step.columns:
            sentence = "profiles over all tables takes no columns, for it makes all quasi-identifiers alike."
            raise _mistake(("steps", number), f"steps {number + 1}: {sentence} Leave them out.")
        yield step.method


def _requirements(sections: Mapping[str, Any], *, made_up: bool) -> Iterator[UnitModel | Gate]:
    context, named = sections.get("for"), set()
    if context is not None and context not in list(CONTEXTS):
        raise _mistake(("for",), unknown("value of for", str(context), list(CONTEXTS)))
    for number, item in _listed(sections, "requirements"):
        try:
            model = _of_persons(read_requirement(item), made_up=made_up)
            if made_up and isinstance(model, UnitModel):
                raise PlanError(NO_CLASSES.format(model.method_name))
        except InputError as error:
            raise _mistake(("requirements", number), f"requirements {number + 1}: {error}") from None
        named.add(model.method_name)
        yield model
    if context is not None and made_up and COPIES["risk"] not in named:
        yield _of_persons(read_requirement(COPIES), made_up=made_up)
    elif context is not None and not made_up and "k-anonymity" not in named:
        yield KAnonymity(k=CONTEXTS[context].k, unit="person")


def _measures(sections: Mapping[str, Any], *, made_up: bool) -> Iterator[Measure]:
    for number, item in _listed(sections, "measures"):
        try:
            measure: Measure = read_method(item, KINDS)
            check_over_tables(measure, made_up=made_up)
        except InputError as error:
            raise _mistake(("measures", number), f"measures {number + 1}: {error}") from None
        yield measure


def _mistake(place: tuple[str | int, ...], sentence: str) -> PlanError:
    return PlanError(sentence, [(place, sentence)])


def _of_persons(model: PrivacyModel, *, made_up: bool) -> UnitModel | Gate:
    """The requirement on persons over several tables, or bound on a figure. Raises PlanError if it is none."""
    if isinstance(model, Gate):
        check_over_tables(model.measure, made_up=made_up)
        return model
    if not isinstance(model, UnitModel) or model.unit not in (None, *UNITS):
        raise PlanError(
            f"{model.method_name} is judged table by table. State it below a table; over "
            f"persons in all tables there are k-anonymity, l-diversity, t-closeness and average-risk."
        )
    if sentence := _too_special(model):
        raise PlanError(sentence)
    return replace(model, unit=model.unit or "person")


def _too_special(model: UnitModel) -> str:
    """The parameters that a requirement has on one table alone, in a sentence; empty if there are none."""
    if getattr(model, "columns", None) is not None or getattr(model, "missing", "equal") != "equal":
        return f"{model.method_name} over all tables takes no columns and no missing. Leave them out."
    if model.knows_profiles and model.knowing != "all records" and not isinstance(model, KAnonymity):
        return f"{model.method_name} over all tables knows one record or all records. Say which."
    return ""
