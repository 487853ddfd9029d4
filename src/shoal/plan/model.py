"""A plan: what the columns are, what is done to them, what must hold, and how it is written.

    columns:
      age: quasi-identifier
      income: {role: confidential, decimals: 0}
    steps:
      - {partition: mdav, k: 5, replace: centroid}
      - {mask: rank-swap, columns: [income], p: 0.05}
    requirements:
      - {privacy: k-anonymity, k: 5}
    output: {format: csv}

A step is a mapping with one key that names a kind (`partition` or `mask`) and a method in it; the other
keys are the method's parameters, and which columns it works on. Every mistake of a plan file is reported at
once, each with its line, its key, the rule and the nearest name that exists.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError

from shoal.data.records import Variable
from shoal.data.schema import Column, Schema, mistakes
from shoal.errors import InputError, PlanError, plural, quoted, unknown
from shoal.methods import build, spec_of
from shoal.plan.lines import dump_yaml, load_yaml, plain
from shoal.plan.steps import FORMATS, MaskStep, Output, PartitionStep

Policy = Literal["refuse", "report", "repair"]
"""What happens to a table that comes in with rules broken."""
POLICIES: tuple[str, ...] = get_args(Policy)
EXAMPLES = {"partition": "mdav", "privacy": "k-anonymity", "risk": "distance-linkage"}
"""A method of each kind, to show how one is named."""
NOBODY = (
    "no column is a quasi-identifier, so every privacy requirement would hold emptily. "
    "Give the columns that others may know the role quasi-identifier."
)
SECTIONS = ("columns", "steps", "requirements", "measures", "constraints", "output", "explore")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Schema, steps, requirements and output; checked when it is made.

    Parameters
    ----------
    schema
        A role for every column.
    steps
        What is done, in order.
    requirements
        Privacy models that the finished table must satisfy.
    measures
        Measures of risk and utility to take beside those that every release reports.
    constraints
        Edit rules that every record of the release must satisfy.
    broken_rules
        What happens when the input itself breaks a constraint: refuse, report or repair.
    output
        How the release is written.
    explore
        Methods and ranges of parameters for `shoal.explore`; `protect` takes no notice of it.
    folder
        Where file names in the plan are looked up.
    """

    schema: Schema
    steps: tuple[PartitionStep | MaskStep, ...] = ()
    requirements: tuple[Any, ...] = ()
    measures: tuple[Any, ...] = ()
    constraints: tuple[str, ...] = ()
    broken_rules: Policy = "refuse"
    output: Output = field(default_factory=Output)
    explore: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        if self.requirements and not self.schema.names("quasi-identifier"):
            raise PlanError(f"requirements: {NOBODY}")

    def __repr__(self) -> str:
        steps = ", ".join(step.name for step in self.steps) or "none"
        required = ", ".join(model.method_name for model in self.requirements) or "nothing"
        return f"Plan for {plural(len(self.schema.columns), 'column')}; steps: {steps}; requires: {required}"

    @classmethod
    def of(cls, plan: "Plan | Mapping[str, Any] | str | Path") -> "Plan":
        """From a plan, a mapping of its sections, or the path of a YAML file."""
        if isinstance(plan, Plan):
            return plan
        if isinstance(plan, (str, Path)):
            return cls.read(plan)
        return _Reader(Path()).plan(plan)

    @classmethod
    def read(cls, path: str | Path) -> "Plan":
        """Read a YAML 1.2 file.

        Raises
        ------
        PlanError
            Naming every mistake with its line.
        """
        return _Reader(Path(path).parent, str(path)).plan(load_yaml(path))

    @property
    def pseudonyms(self) -> set[str]:
        """Identifiers that a step replaces by pseudonyms or takes out itself; all others are taken out at the end."""
        return {name for _, names in self._for_identifiers() for name in names}

    def _for_identifiers(self) -> Iterator[tuple[MaskStep, tuple[str, ...]]]:
        for step in self.steps:
            if isinstance(step, MaskStep) and "identifier" in step.method.default_roles:
                yield step, step.columns or self.schema.names(*step.method.default_roles)

    def coded(self, identifier: Variable) -> bool:
        """Whether an identifier of a released table can be what a step of the plan leaves of it."""
        return any(
            identifier.name in names and step.method.coded(identifier) for step, names in self._for_identifiers()
        )

    def as_mapping(self) -> dict[str, Any]:
        """The sections from which `Plan.of` makes the same plan again; defaults are spelled out."""
        columns = {
            name: column.model_dump(mode="json", exclude_defaults=True, exclude={"hierarchy"})
            | ({"hierarchy": _plain_hierarchy(column)} if column.hierarchy is not None else {})
            for name, column in self.schema.columns.items()
        }
        return {
            "columns": columns,
            "steps": [step.as_mapping() for step in self.steps],
            "requirements": [_keyed("privacy", model) for model in self.requirements],
            **({"measures": [_keyed(m.method_kind, m) for m in self.measures]} if self.measures else {}),
            **(
                {"constraints": {"rules": list(self.constraints), "broken_rules": self.broken_rules}}
                if self.constraints
                else {}
            ),
            "output": self.output.as_mapping(),
            **({"explore": dict(self.explore)} if self.explore else {}),
        }

    def as_yaml(self) -> str:
        """The plan as a file."""
        return dump_yaml(self.as_mapping())


def _plain_hierarchy(column: Column) -> Any:
    if isinstance(column.hierarchy, (str, dict)):
        return column.hierarchy
    return {"paths": [list(path) for path in column.hierarchy.paths]} if column.hierarchy else None


def _keyed(kind: str, method: Any) -> dict[str, Any]:
    spec = spec_of(method)
    return {kind: spec.pop("method"), **spec}


class _Reader:
    """Turns sections into a Plan and gathers every mistake on the way."""

    def __init__(self, folder: Path, source: str = "plan") -> None:
        self.folder = folder
        self.source = source
        self.mistakes: list[str] = []

    def plan(self, sections: Any) -> Plan:
        if not isinstance(sections, Mapping):
            raise PlanError(f"{self.source}: a plan is a mapping with the sections {', '.join(SECTIONS)}.")
        for key in sections:
            if key not in SECTIONS:
                self._mistake(sections, key, unknown("section", key, SECTIONS))
        schema = self._schema(sections)
        parts: dict[str, Any] = {
            "steps": tuple(self._each(sections, "steps", self._step)),
            "requirements": tuple(self._each(sections, "requirements", self._requirement)),
            "measures": tuple(self._each(sections, "measures", self._measure)),
            "output": self._output(sections),
            "explore": self._explore(sections),
            **self._constraints(sections),
        }
        if schema is not None:
            self._check_columns(sections, schema, parts["steps"])
        if self.mistakes or schema is None:
            raise PlanError("\n".join(self.mistakes))
        return Plan(schema=schema, folder=self.folder, **parts)

    def _mistake(self, holder: Any, key: Any, sentence: str) -> None:
        where = self.source
        try:
            marks = holder.lc
            line = (marks.key if isinstance(holder, Mapping) else marks.item)(key)[0]
            where += f", line {line + 1}"
        except (AttributeError, KeyError, TypeError, IndexError):
            pass  # a plan given as plain mappings has no lines
        self.mistakes.append(f"{where}: {sentence}")

    def _schema(self, sections: Mapping[str, Any]) -> Schema | None:
        columns = sections.get("columns")
        if not isinstance(columns, Mapping) or not columns:
            self._mistake(sections, "columns", "the section 'columns' must give every column a role.")
            return None
        found: dict[str, Column] = {}
        for name, spec in columns.items():
            if str(name) in found:
                self._mistake(columns, name, f"column '{name}' occurs more than once, as a number and as text.")
            try:
                found[str(name)] = Column.model_validate(plain(spec))
            except ValidationError as error:
                for sentence in mistakes(str(name), error):
                    self._mistake(columns, name, sentence)
        try:
            return Schema(columns=found)
        except ValidationError as error:
            self._mistake(sections, "columns", error.errors()[0]["msg"].removeprefix("Value error, ") + ".")
            return None

    def _each(self, sections: Mapping[str, Any], key: str, make: Any) -> Iterator[Any]:
        items = sections.get(key) or []
        if not isinstance(items, Sequence) or isinstance(items, str):
            self._mistake(sections, key, f"the section '{key}' must be a list.")
            return
        for number, item in enumerate(items):
            try:
                yield make(plain(item))
            except InputError as error:
                self._mistake(items, number, f"{key} {number + 1}: {error}")

    def _step(self, item: Any) -> PartitionStep | MaskStep:
        spec = _one_kind(item, ("partition", "mask"))
        columns = _names(spec.pop("columns", ()), "columns")
        if "mask" in spec:
            return MaskStep(method=build("mask", spec), columns=columns)
        by = _names(spec.pop("by", ()), "by")
        replacement = build("replace", spec.pop("replace", "centroid"))
        small = spec.pop("small_strata", "refuse")
        if small not in ("refuse", "merge"):
            raise PlanError(unknown("value of small_strata", small, ("refuse", "merge")))
        return PartitionStep(
            method=build("partition", spec), replace=replacement, columns=columns, by=by, small_strata=small
        )

    def _requirement(self, item: Any) -> Any:
        return build("privacy", _one_kind({"privacy": item} if isinstance(item, str) else item, ("privacy",)))

    def _measure(self, item: Any) -> Any:
        spec = _one_kind(item, ("risk", "utility"))
        return build("risk" if "risk" in spec else "utility", spec)

    def _output(self, sections: Mapping[str, Any]) -> Output:
        given = plain(sections.get("output") or {})
        if not isinstance(given, Mapping):
            self._mistake(sections, "output", "output must be a mapping, as in {format: csv}.")
            return Output()
        given = dict(given)
        known = Output().as_mapping()
        for key, value in list(given.items()):
            if key not in known:
                self._mistake(sections["output"], key, unknown("key of output", key, known))
                del given[key]
            elif key == "format" and value not in FORMATS:
                self._mistake(sections["output"], key, unknown("format", value, FORMATS))
            elif key != "format" and not isinstance(value, bool):
                self._mistake(sections["output"], key, f"{key} must be true or false; got {value!r}.")
        return Output(**given)

    def _explore(self, sections: Mapping[str, Any]) -> Mapping[str, Any]:
        given = plain(sections.get("explore") or {})
        if not isinstance(given, Mapping):
            self._mistake(sections, "explore", "explore must be a mapping with the key 'method' and ranges.")
            return {}
        return given

    def _constraints(self, sections: Mapping[str, Any]) -> dict[str, Any]:
        given = plain(sections.get("constraints") or [])
        policy = "refuse"
        if isinstance(given, Mapping):
            for key in given:
                if key not in ("rules", "broken_rules"):
                    self._mistake(
                        sections["constraints"], key, unknown("key of constraints", key, ("rules", "broken_rules"))
                    )
            policy, given = given.get("broken_rules", "refuse"), given.get("rules", [])
        if policy not in POLICIES:
            self._mistake(sections, "constraints", unknown("value of broken_rules", policy, POLICIES))
        if not isinstance(given, list) or not all(isinstance(rule, str) for rule in given):
            self._mistake(sections, "constraints", "constraints must be a list of rules, each a text.")
            given = []
        return {"constraints": tuple(given), "broken_rules": policy}

    def _check_columns(self, sections: Mapping[str, Any], schema: Schema, steps: Sequence[Any]) -> None:
        if not schema.names("quasi-identifier"):
            if sections.get("requirements"):
                self._mistake(sections, "requirements", NOBODY)
            for number, step in enumerate(steps):
                if isinstance(step, PartitionStep) and not step.columns:
                    self._mistake(sections["steps"], number, f"steps {number + 1}: it names no columns. {NOBODY}")
        for number, step in enumerate(steps):
            named = (*step.columns, *(step.by if isinstance(step, PartitionStep) else ()))
            for name in dict.fromkeys(named):
                if name not in schema.columns and name not in sections["columns"]:  # a wrong column is told once
                    sentence = unknown("column", name, schema.columns)
                    self._mistake(sections["steps"], number, f"steps {number + 1}: {sentence}")


def _one_kind(item: Any, kinds: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(item, Mapping) or sum(kind in item for kind in kinds) != 1:
        raise PlanError(
            f"must be a mapping with exactly one of the keys {quoted(kinds)}, as in "
            f"{{{kinds[0]}: {EXAMPLES[kinds[0]]}}}."
        )
    return dict(item)


def _names(value: Any, key: str) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)):
        raise PlanError(f"{key} must be a list of column names; got {type(value).__name__}.")
    return tuple(str(name) for name in listed)
