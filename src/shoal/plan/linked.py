"""A plan for several linked tables: a plan for each, the keys between them, and requirements over persons.

    tables:
      patients: {key: patient, columns: {born: quasi-identifier}}
      stays:    {key: stay, parent: patients, columns: {ward: quasi-identifier, illness: confidential}}
      drugs:    {parent: stays, columns: {drug: quasi-identifier}}
    steps: [{mask: profiles, k: 5}]
    suppress_persons: 0.1
    constraints: [stays.admission <= patients.died, repeats(stays.admission) == 0]
    requirements:
      - {privacy: k-anonymity, k: 5, knowing: all records}

The table without a parent has one row a person. What stands below a table's name is a plan of its own, with four more
keys: `file`, `key`, `parent`, and `link`, the column with the parent's key. In its steps and requirements each record
is of the person whom it hangs on.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from shoal.judges.base import Measure
from shoal.mask.profiles import Profiles
from shoal.mask.shift_dates import ShiftDates
from shoal.plan.columns_named import chosen_by_the_table
from shoal.plan.context import ContextName
from shoal.plan.lines import check_nesting, dump_yaml, load_yaml, plain
from shoal.plan.linked_explored import explored_section, read_explored
from shoal.plan.linked_keys import OF_KEYS, OF_TABLE, person_column, read_keys
from shoal.plan.linked_ledger import ledger_section, read_ledger
from shoal.plan.linked_rules import read_rules
from shoal.plan.linked_sections import copies_of, mistaken_settings, read_over_tables
from shoal.plan.mistakes import in_words
from shoal.plan.model import Plan, read_sections
from shoal.plan.sections import EditRules, LedgerRules, Output, SearchSpace
from shoal.plan.synthesis import Synthesis, faults, read_synthesis, with_synthesis
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import Gate
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.of_units import UnitModel
from shoal.risk.unique_exact_matches import UniqueExactMatches
from shoal.table.links import Keys, root_of
from shoal.table.schema import ALL_OTHERS
from shoal.vocabulary.errors import InputError, Mistake, PlanError, unknown
from shoal.vocabulary.registry import Spec, spec_of

FOR_ALL = ("release", "output", "for")
"""Sections that hold for every table."""

OF_TABLES = (
    "tables",
    "synthesis",
    "steps",
    "requirements",
    "measures",
    "constraints",
    "suppress_persons",
    "release_keys",
    "ledger",
    "explore",
    *FOR_ALL,
)
"""Sections of a plan for several tables."""

DIFFERENT_SHIFTS = (
    "shift-dates: one shift a person holds for all tables, so the step must be the same in each. Give it the same "
    "most, weeks, earliest and latest, once a table."
)


@dataclass(frozen=True, kw_only=True)
class LinkedPlan:
    """A plan for several linked tables; checked when it is made.

    Parameters
    ----------
    tables
        Plan of each table, that of persons first, every table after its parent. Each has a column with the role person.
    keys
        Keys and links of the tables.
    files
        Names of files, of the tables for which the plan names one.
    synthesis
        How persons are made up with all their rows; None where the rows of the tables are released.
    steps
        Steps that work on all tables at once, after each table's own.
    requirements
        Requirements on persons over all tables.
    bounds
        Bounds on figures over all tables.
    measures
        Measures to take over all tables.
    edit_rules
        Rules over several rows, of one table or several, that the release must obey (`shoal.constraints.of_rows`).
    suppress_persons
        Largest share of the persons who may be left out, in all tables, where a requirement fails on them.
    release_keys
        Release the keys, numbered anew by chance among the released rows (true), or no key at all (false).
    ledger
        The ledger of all releases, by the key of persons; None without one.
    explore
        Steps and ranges of parameters for `shoal.explore`; `protect` ignores them.
    copies
        Number of times that all tables are made, each time with other random numbers; each table's own plan has one.
    folder
        Folder in which files that the plan names are looked up.
    """

    tables: Mapping[str, Plan]
    keys: Keys
    files: Mapping[str, str] = field(default_factory=dict)
    synthesis: Synthesis | None = None
    steps: tuple[Profiles, ...] = ()
    requirements: tuple[UnitModel, ...] = ()
    bounds: tuple[Gate, ...] = ()
    measures: tuple[Measure, ...] = ()
    edit_rules: EditRules = field(default_factory=EditRules)
    suppress_persons: float = 0.0
    release_keys: bool = True
    ledger: LedgerRules | None = None
    explore: SearchSpace | None = None
    copies: int = 1
    context: ContextName | None = None
    folder: Path = field(default_factory=Path)

    @classmethod
    def of(cls, plan: "LinkedPlan | Mapping[str, Any] | str | Path", folder: str | Path | None = None) -> "LinkedPlan":
        """A plan from a plan, a mapping of its sections, or the path of a YAML file.

        Raises
        ------
        PlanError
            Naming every mistake.
        """
        if isinstance(plan, LinkedPlan):
            return plan if folder is None else replace(plan, folder=Path(folder))
        if isinstance(plan, Mapping):
            return read_tables(plan, "plan", Path(folder or ""))
        return read_tables(load_yaml(plan), str(plan), Path(plan).parent if folder is None else Path(folder))

    @property
    def root(self) -> str:
        """The table of persons."""
        return root_of(self.keys)

    @property
    def protects(self) -> bool:
        """True if something is required over all tables that protects persons."""
        return any(model.protects for model in (*self.requirements, *self.bounds))

    @property
    def output(self) -> Output:
        return self.tables[self.root].output

    @property
    def taken(self) -> list[Measure]:
        """The measures over all tables that are taken: named, bounded, and of made-up persons those who are copied."""
        copied = () if self.synthesis is None else (UniqueExactMatches(),)
        named = (*self.measures, *(gate.measure for gate in self.bounds), *copied)
        return [m for n, m in enumerate(named) if not any(m.same_as(other) for other in named[:n])]

    @property
    def k(self) -> int:
        """The largest k that a requirement asks of classes, over all tables or in one; 2 where none does."""
        models = (*self.requirements, *(model for plan in self.tables.values() for model in plan.requirements))
        return max((model.k for model in models if isinstance(model, KAnonymity)), default=2)

    def person_column(self, name: str) -> str:
        """The column of a table's plan that numbers persons."""
        return person_column(self.keys, name)

    def as_mapping(self) -> Spec:
        """The sections from which `LinkedPlan.of` makes the same plan again."""
        return self.sections({name: plan.as_mapping() for name, plan in self.tables.items()}, self.edit_rules.rules)

    def sections(
        self, of_tables: Mapping[str, Mapping[str, Any]], rules: Sequence[str], *, public: bool = False
    ) -> Spec:
        """The sections of the plan, with given ones of its tables, and its rules as they are to be written."""
        root = of_tables[self.root]
        sections = {
            "tables": {name: self._of_table(name, content) for name, content in of_tables.items()},
            "synthesis": None if self.synthesis is None else self.synthesis.as_mapping(),
            "steps": [_keyed(method) for method in self.steps],
            "requirements": [_keyed(model) for model in (*self.requirements, *self.bounds)],
            "measures": [_keyed(measure) for measure in self.measures],
            "constraints": {"rules": list(rules), "broken_rules": self.edit_rules.broken_rules} if rules else {},
            "suppress_persons": self.suppress_persons,
            "release_keys": self.release_keys,
            "ledger": ledger_section(self.ledger, public=public),
            "explore": explored_section(self.explore, public=public),
            **{name: root[name] for name in FOR_ALL if name in root},
        }
        if self.copies > 1:
            sections["output"] = {**root.get("output", {}), "copies": self.copies}
        unsaid: Spec = {
            "synthesis": None,
            "steps": [],
            "requirements": [],
            "measures": [],
            "constraints": {},
            "suppress_persons": 0.0,
            "release_keys": True,
            "ledger": None,
            "explore": None,
        }
        return {name: content for name, content in sections.items() if content != unsaid.get(name)}

    def as_yaml(self) -> str:
        """The plan as a file."""
        return dump_yaml(self.as_mapping())

    def _of_table(self, name: str, content: Mapping[str, Any]) -> Spec:
        key = self.keys[name]
        own = {"file": self.files.get(name), "key": key.key, "parent": key.parent, "link": key.link}
        columns = {column: of for column, of in content["columns"].items() if column != self.person_column(name)}
        kept = {section: content[section] for section in OF_TABLE if section in content}
        if self.synthesis is not None:
            kept["steps"] = kept["steps"][1:]
        return {key: value for key, value in {**own, **kept, "columns": columns}.items() if value is not None}


def read_tables(sections: Any, source: str, folder: Path) -> LinkedPlan:
    """A plan for several tables from its sections; parameters as for `read_sections`."""
    check_nesting(sections, source)
    mistakes: list[Mistake] = [
        ((str(key),), unknown("section", str(key), OF_TABLES)) for key in sections if key not in OF_TABLES
    ]
    mistakes += mistaken_settings(sections)
    keys = read_keys(sections.get("tables"), mistakes)
    synthesis = read_synthesis(sections.get("synthesis"), mistakes)
    ledger = read_ledger(sections.get("ledger"), keys, mistakes)
    explored = read_explored(sections.get("explore"), mistakes, made_up=synthesis is not None)
    if mistakes:
        raise PlanError(in_words(mistakes, sections, source), mistakes)
    released = sections.get("release_keys") is not False
    read = partial(_table, sections, keys, source=source, folder=folder, released=released)
    without = () if synthesis is None else ("for",)
    with _in_words(sections, source):
        over = read_over_tables(sections, made_up=synthesis is not None)
    tables = {name: read(name, without=without) for name in keys}
    with _in_words(sections, source):
        rules = read_rules(sections.get("constraints"), tables)
    if synthesis is not None:
        if mistakes := list(faults(tables, synthesis, keys, rules.rules)):
            raise PlanError(in_words(mistakes, sections, source), mistakes)
        first = with_synthesis(tables, synthesis)
        tables = {name: read(name, without=without, first=(step,)) for name, step in first}
    _check_shifts(tables)
    required = [model for of_table in tables.values() for model in of_table.requirements]
    if explored is not None and (mistakes := list(chosen_by_the_table(required))):
        raise PlanError(in_words(mistakes, sections, source), mistakes)
    files = {name: str(sections["tables"][name]["file"]) for name in keys if sections["tables"][name].get("file")}
    return LinkedPlan(
        tables=tables,
        keys=keys,
        files=files,
        synthesis=synthesis,
        steps=over.steps,
        requirements=over.requirements,
        bounds=over.bounds,
        measures=over.measures,
        edit_rules=rules,
        suppress_persons=float(sections.get("suppress_persons") or 0.0),
        release_keys=released,
        ledger=ledger,
        explore=explored,
        copies=copies_of(sections.get("output")),
        context=sections.get("for"),
        folder=folder,
    )


@contextmanager
def _in_words(sections: Any, source: str) -> Iterator[None]:
    """Mistakes with their lines in the plan."""
    try:
        yield
    except InputError as error:
        raise PlanError(in_words(error.mistakes, sections, source), error.mistakes) from None


def _table(
    sections: Mapping[str, Any],
    keys: Keys,
    name: str,
    *,
    source: str,
    folder: Path,
    released: bool,
    without: Sequence[str] = (),
    first: Sequence[Spec] = (),
) -> Plan:
    """The plan of one table, with a column of persons.

    `without`: sections for all tables that are left out; `first`: steps before its own.
    """
    given = sections["tables"][name]
    content = given.copy() if hasattr(given, "copy") else dict(given)
    for key in OF_KEYS:
        content.pop(key, None)
    columns = content.get("columns") or {}
    columns = columns.copy() if hasattr(columns, "copy") else dict(columns)
    columns[person_column(keys, name)] = {"role": "person", "release_key": released}
    if ALL_OTHERS in columns:
        columns[ALL_OTHERS] = columns.pop(ALL_OTHERS)
    content["columns"] = columns
    if first:
        content["steps"] = [*first, *(content.get("steps") or ())]
    for section in FOR_ALL:
        if section in sections and section not in without:
            content[section] = _without_copies(sections[section]) if section == "output" else sections[section]
    return read_sections(content, f"{source}, table '{name}'", folder)


def _without_copies(output: Any) -> Any:
    return {key: value for key, value in output.items() if key != "copies"} if isinstance(output, Mapping) else output


def _check_shifts(tables: Mapping[str, Plan]) -> None:
    """Refuse shifts of dates that differ between tables."""
    shifts = [[step.method for step in plan.steps if isinstance(step.method, ShiftDates)] for plan in tables.values()]
    if any(len(of_table) > 1 for of_table in shifts) or len({method for of in shifts for method in of}) > 1:
        raise PlanError(DIFFERENT_SHIFTS, [(("tables",), DIFFERENT_SHIFTS)])


def _keyed(model: PrivacyModel | Measure | Profiles) -> Spec:
    spec = plain(model.as_spec() if isinstance(model, Gate) else _named(model))
    return {key: value for key, value in spec.items() if value is not None}


def _named(model: PrivacyModel | Measure | Profiles) -> Spec:
    spec = spec_of(model)
    return {model.method_kind: spec.pop("method"), **spec}
