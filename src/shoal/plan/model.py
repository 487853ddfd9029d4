"""A plan: the columns, what is done to them, what must hold, and how the release is written.

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
keys are the method's parameters and the columns that it works on. From Python a method object may stand wherever such
a mapping may. The plan is declared here once: its JSON schema, the checks of a file and its public form follow from
the fields below and their annotations.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import polars as pl
from annotated_types import Ge
from pydantic import BeforeValidator, ConfigDict, Field, Strict, TypeAdapter, ValidationError
from pydantic.json_schema import JsonSchemaValue, SkipJsonSchema
from pydantic_core import PydanticUndefined

from shoal.plan.columns_named import misnamed
from shoal.plan.context import CONTEXTS, ContextName
from shoal.plan.files import with_files
from shoal.plan.lines import check_nesting, dump_yaml, load_yaml, plain
from shoal.plan.mistakes import NO_COLUMNS, in_words, mistakes_of
from shoal.plan.named import NamedBy, read_method, read_requirement, read_step
from shoal.plan.sections import About, EditRules, LedgerRules, Output, SearchSpace
from shoal.plan.spelled_out import SECTIONS, SETTINGS, sections_of
from shoal.plan.steps import Step
from shoal.privacy.base import ClassModel, PrivacyModel, hardest, reading_of
from shoal.privacy.gate import Gate, with_reading
from shoal.privacy.of_units import with_unit
from shoal.table.records import MissingCells
from shoal.table.schema import ALL_OTHERS, Policy, Schema
from shoal.table.variable import Variable
from shoal.vocabulary.errors import PlanError, plural, unknown
from shoal.vocabulary.registry import Spec, registered

SMALLEST_BLOCK = 10_000
"""Fewest records of a block.

Groups cannot cross the edges of a block, and smaller blocks have so many edges that much information is lost.
"""

EXACT_OR_BLOCKS = (
    "block_size is for a table that is worked on in parts, which 'exact: true' rules out. Leave one of them out."
)

SEVERAL_TABLES = (
    "a plan with tables is for several linked tables, which only shoal protect and shoal audit work on. Name a plan "
    "for one table."
)

NOBODY = (
    "no column is a quasi-identifier, so every privacy requirement would hold emptily. "
    "Give the columns that others may know the role quasi-identifier."
)

StepInPlan = Annotated[
    Step, NamedBy(("partition", "mask"), lambda item, context: read_step(item, context and context["columns"]))
]
RequirementInPlan = Annotated[
    PrivacyModel,
    NamedBy(
        ("privacy", "risk", "utility"),
        lambda item, _: read_requirement(item),
        short=("privacy",),
        bounded=("risk", "utility"),
    ),
]
MeasureInPlan = Annotated[Any, NamedBy(("risk", "utility"), lambda item, _: read_method(item, ("risk", "utility")))]


def _empty(kind: Any, schema_of: Any = PydanticUndefined) -> Any:
    """A validator that reads an empty section as a missing one; `schema_of`: type of which the JSON schema is shown."""
    return BeforeValidator(lambda value: kind() if value is None else value, json_schema_input_type=schema_of)


def _no_section(value: Any) -> Any:
    raise ValueError("a plan does not say where it lies")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Schema, steps, requirements and output; checked when it is made.

    Parameters
    ----------
    schema
        A role for every column.
    steps
        Steps, in the order in which they are carried out.
    requirements
        Privacy models that the finished table must satisfy, and bounds on figures of measures.
    measures
        Measures of risk and utility to take in addition to those that every release reports.
    edit_rules
        Edit rules that every record of the release must satisfy.
    accept
        Unchanged columns that no requirement covers and that may single people out, alone and with each other: the
        author of the plan answers for it. Without it such a release stops (`shoal.release.singled_out`).
    output
        Format and order of the release.
    about
        Title, owner and purpose of the release, for the head of its report.
    publish
        Measures whose exact figures, not bands, the public report shows; `exact` for all of them. The author of
        the plan answers for what they reveal about the original.
    explore
        Methods and ranges of parameters for `shoal.explore`; `protect` ignores them.
    context
        Kind of recipient whose usual limits the plan takes where it states none itself (`shoal.plan.context`).
    ledger
        The ledger of all releases, and what must hold over them.
    exact
        Hold the whole table at once (true), or work on it in parts and form groups in blocks of near records (false).
        Left out, the size of the table decides: see `shoal.run.parts.admission`.
    block_size
        Approximate number of records of a block, for a table in parts; implies `exact: false`.
    folder
        Folder in which files that the plan names are looked up: the plan file's own.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True, title="shoal plan"
    )

    schema: Annotated[Schema, Field(alias="columns")]
    steps: Annotated[tuple[StepInPlan, ...], _empty(tuple)] = ()
    requirements: Annotated[tuple[RequirementInPlan, ...], _empty(tuple)] = ()
    measures: Annotated[tuple[MeasureInPlan, ...], _empty(tuple)] = ()
    edit_rules: Annotated[EditRules, Field(alias="constraints"), _empty(EditRules, EditRules | list[str])] = field(
        default_factory=EditRules
    )
    about: Annotated[About, Field(alias="release"), _empty(About)] = field(default_factory=About)
    publish: tuple[str, ...] | Literal["exact"] = ()
    accept: Annotated[tuple[str, ...], _empty(tuple)] = ()
    output: Annotated[Output, _empty(Output)] = field(default_factory=Output)
    explore: SearchSpace | None = None
    context: Annotated[ContextName | None, Field(alias="for")] = None
    ledger: LedgerRules | None = None
    exact: Annotated[bool, Strict()] | None = None
    block_size: Annotated[int, Strict(), Ge(SMALLEST_BLOCK)] | None = None
    folder: Annotated[SkipJsonSchema[Path], BeforeValidator(_no_section)] = field(default_factory=Path)

    def __post_init__(self) -> None:
        self._count_persons()
        if not self.schema.root:
            raise PlanError(NO_COLUMNS, [(("columns",), NO_COLUMNS)])
        if self.exact and self.block_size is not None:
            raise PlanError(EXACT_OR_BLOCKS, [(("block_size",), EXACT_OR_BLOCKS)])
        for number, name in enumerate(self.publish if isinstance(self.publish, tuple) else ()):
            measures = [e.name for kind in ("risk", "utility") for e in registered(kind)]
            if name not in measures:
                sentence = f"publish: {unknown('measure', name, measures)}"
                raise PlanError(sentence, [(("publish", number), sentence)])
        if mistakes := list(misnamed(self)):
            raise PlanError(" ".join(sentence for _, sentence in mistakes), mistakes)
        others = self.schema.all_others
        if self.schema.names("quasi-identifier") or (others is not None and others.role == "quasi-identifier"):
            return
        emptily = any(not (isinstance(model, Gate) or model.of_account) for model in self.requirements)
        mistakes = [(("requirements",), f"requirements: {NOBODY}")] * emptily
        for number, step in enumerate(self.steps):
            if step.needs_columns and not step.columns:
                mistakes.append((("steps", number), f"steps {number + 1}: it names no columns. {NOBODY}"))
        if mistakes:
            raise PlanError(" ".join(sentence for _, sentence in mistakes), mistakes)

    def _count_persons(self) -> None:
        """Requirements that name no unit count persons where the table has some."""
        required = tuple(with_unit(model, self.schema, for_step=False) for model in self.requirements)
        object.__setattr__(self, "requirements", required)
        object.__setattr__(self, "steps", tuple(map(self._counting_persons, self.steps)))

    def _counting_persons(self, step: Step) -> Step:
        if not (required := getattr(step.method, "requirements", ())):
            return step
        counted = tuple(with_unit(model, self.schema, for_step=True) for model in required)
        return step if counted == required else replace(step, method=replace(step.method, requirements=counted))

    def __repr__(self) -> str:
        steps = ", ".join(step.name for step in self.steps) or "none"
        required = ", ".join(model.method_name for model in self.requirements) or "nothing"
        return f"Plan for {plural(len(self.schema.columns), 'column')}; steps: {steps}; requires: {required}"

    def to_frame(self) -> pl.DataFrame:
        """One row a column: its role, its level, its policy for missing cells, and its label."""
        rows = [
            (name, column.role, column.level, column.missing_policy, column.label)
            for name, column in self.schema.columns.items()
        ]
        names = ("column", "role", "level", "missing", "label")
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")

    def _repr_html_(self) -> str:
        from shoal.report.display import displayed

        sections = {key: content for key, content in self.as_mapping().items() if key != "columns" and content}
        return displayed(
            "parts/plan.html",
            columns=self.to_frame().to_dicts(),
            sections={key.capitalize(): dump_yaml(content) for key, content in sections.items()},
        )

    @property
    def constraints(self) -> tuple[str, ...]:
        return self.edit_rules.of_records

    @property
    def broken_rules(self) -> Policy:
        return self.edit_rules.broken_rules

    @cached_property
    def reading(self) -> MissingCells:
        """The default reading of missing cells: of the requirements, else of blanking steps, else `equal`."""
        blanking = (step.method.reading for step in self.steps if getattr(step.method, "blanks_cells", False))
        return reading_of(self.requirements) or hardest(blanking) or "equal"

    def on_columns_of(self, step: Step) -> tuple[PrivacyModel, ...]:
        """The requirements on columns that a step works on; bounds on figures are left out."""
        columns, keys = (
            set(step.columns or self.schema.names(*step.default_roles)),
            self.schema.names("quasi-identifier"),
        )
        return tuple(
            model
            for model in self.requirements
            if not isinstance(model, Gate)
            and columns.intersection(model.class_columns(keys) if isinstance(model, ClassModel) else keys)
        )

    def as_read(self, step: Step) -> Step:
        """The step with its reading of missing cells filled in: of the requirements on its columns, else of the plan.

        The same reading is filled in where the step itself bounds figures.
        """
        method = step.method
        if getattr(method, "missing", "") is None:
            method = replace(method, missing=reading_of(self.on_columns_of(step)) or self.reading)
        return replace(step, method=with_reading(method, self.reading))

    @cached_property
    def ready(self) -> "Plan":
        """The plan ready to run: tables and key files of its methods read from its folder, readings filled in."""
        return replace(
            self,
            steps=tuple(
                replace(step, method=with_files(step.method, self.folder)) for step in map(self.as_read, self.steps)
            ),
            requirements=tuple(with_files(model, self.folder) for model in self.requirements),
            measures=tuple(with_files(measure, self.folder) for measure in self.measures),
        )

    @cached_property
    def made_anew(self) -> tuple[str, ...]:
        """The columns whose cells are made for the table as a whole, so that a record's are nobody's."""
        new = any(step.makes_records for step in self.steps)
        drawn = () if self.schema.names("stratum") and not new else self.steps  # a stratum may be of few records
        return tuple(dict.fromkeys(name for step in drawn if step.as_a_whole for name in step.changes(self.schema)))

    @property
    def of_context(self) -> tuple[PrivacyModel, ...]:
        """The requirements that are limits of the plan's context."""
        usual = self._usual
        return tuple(model for model in self.requirements if model in usual)

    @property
    def limited_by_context(self) -> set[str]:
        """Names of the privacy models and measures that the plan's context limits."""
        return {model.method_name for model in self._usual}

    @property
    def _usual(self) -> tuple[PrivacyModel, ...]:
        limits = () if self.context is None else CONTEXTS[self.context].limits(synthetic=self.is_synthetic)
        return tuple(map(read_requirement, limits))

    @property
    def is_synthetic(self) -> bool:
        """True if every quasi-identifier is made anew."""
        return set(self.schema.names("quasi-identifier")) <= set(self.made_anew)

    def _in_context(self) -> "Plan":
        """The plan with the limits of its context that it does not state itself."""
        named = {model.method_name for model in self.requirements}
        more = tuple(model for model in self._usual if model.method_name not in named)
        return replace(self, requirements=(*self.requirements, *more)) if more else self

    def covering(self, present: Iterable[str]) -> "Plan":
        """The same plan with every column of a table named, where `*` stood for some of them."""
        return self if self.schema.all_others is None else replace(self, schema=self.schema.covering(present))

    @classmethod
    def of(cls, plan: "Plan | Mapping[str, Any] | str | Path", folder: str | Path | None = None) -> "Plan":
        """A plan from a plan, a mapping of its sections, or the path of a YAML file.

        Parameters
        ----------
        folder
            Folder in which files that the plan names are looked up; by default that of the plan's file, and for a
            mapping the working directory.

        Raises
        ------
        PlanError
            Naming every mistake.
        """
        if isinstance(plan, (str, Path)):
            return read_sections(load_yaml(plan), str(plan), Path(plan).parent if folder is None else Path(folder))
        if isinstance(plan, Plan):
            return plan if folder is None else replace(plan, folder=Path(folder))
        return read_sections(plan, "plan", Path(folder or ""))

    @classmethod
    def read(cls, path: str | Path) -> "Plan":
        """Read a plan from a YAML 1.2 file.

        Raises
        ------
        PlanError
            Naming every mistake with its line and column.
        """
        return cls.of(Path(path))

    @staticmethod
    def json_schema() -> JsonSchemaValue:
        """The JSON schema of plan files, for editors that complete and check them."""
        schema = _adapter().json_schema(by_alias=True)
        return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

    @property
    def pseudonyms(self) -> set[str]:
        """Identifiers that a step replaces by pseudonyms or removes itself; all others are removed at the end."""
        return {name for _, names in self._for_identifiers() for name in names}

    @property
    def unreleased(self) -> set[str]:
        """Columns that no release has: identifiers that no step replaces by pseudonyms, and keys that are kept."""
        if any(getattr(step.method, "takes_identifiers_out", False) for step in self.steps):
            return self.taken_out | set(self.schema.names("identifier"))
        return self.taken_out

    @property
    def taken_out(self) -> set[str]:
        """Columns that are taken out after the last step: identifiers without pseudonyms, and keys that are kept."""
        return (set(self.schema.names("identifier")) - self.pseudonyms) | set(self.schema.kept_keys)

    def _for_identifiers(self) -> Iterator[tuple[Step, tuple[str, ...]]]:
        for step in self.steps:
            if "identifier" in step.default_roles:
                yield step, step.columns or self.schema.names(*step.default_roles)

    def coded(self, identifier: Variable) -> bool:
        """True if a step of the plan can leave such an identifier in a released table."""
        return any(identifier.name in names and step.coded(identifier) for step, names in self._for_identifiers())

    def as_mapping(self) -> Spec:
        """The sections from which `Plan.of` makes the same plan again, with defaults spelled out."""
        return sections_of(self)

    def as_yaml(self) -> str:
        """The plan as a file."""
        return dump_yaml(self.as_mapping())


@cache
def _adapter() -> TypeAdapter[Plan]:
    return TypeAdapter(Plan)


def read_sections(sections: Any, source: str, folder: Path) -> Plan:
    """A plan from its sections; mistakes are told with lines and columns where these are known.

    `source`: name of the plan in messages; `folder`: where files that it names are looked up.
    """
    if not isinstance(sections, Mapping):
        raise PlanError(f"{source}: a plan is a mapping with the sections {', '.join(SECTIONS)}.")
    if "tables" in sections:
        raise PlanError(f"{source}: {SEVERAL_TABLES}", [(("tables",), SEVERAL_TABLES)])
    check_nesting(sections, source)
    columns = sections.get("columns")
    context = (
        {"columns": [str(name) for name in columns if name != ALL_OTHERS]} if isinstance(columns, Mapping) else None
    )
    try:
        plan = _adapter().validate_python(plain(sections), context=context)
    except ValidationError as error:
        mistakes = mistakes_of(error, (*SECTIONS, *SETTINGS))
        raise PlanError(in_words(mistakes, sections, source), mistakes) from None
    return replace(plan, folder=folder)._in_context()
