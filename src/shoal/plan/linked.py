"""A plan for several linked tables: a plan for each, the keys between them, and requirements over persons.

    tables:
      patients: {key: patient, columns: {born: quasi-identifier}}
      stays:    {key: stay, parent: patients, columns: {ward: quasi-identifier, illness: confidential}}
      drugs:    {parent: stays, columns: {drug: quasi-identifier}}
    suppress_persons: 0.1
    constraints: [stays.admission <= patients.died, repeats(stays.admission) == 0]
    requirements:
      - {privacy: k-anonymity, k: 5, knowing: all records}

The table without a parent has one row a person. What stands below a table's name is a plan of its own, with four more
keys: `file`, `key`, `parent`, and `link`, the column with the parent's key. In its steps and requirements each record
is of the person whom it hangs on.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.judges.base import Measure
from shoal.mask.shift_dates import ShiftDates
from shoal.plan.context import CONTEXTS, ContextName
from shoal.plan.lines import check_nesting, dump_yaml, load_yaml, plain
from shoal.plan.linked_measures import check_bound, read_measures
from shoal.plan.linked_rules import read_rules
from shoal.plan.mistakes import in_words
from shoal.plan.model import Plan, read_sections
from shoal.plan.named import read_requirement
from shoal.plan.sections import EditRules, Output
from shoal.privacy.base import PrivacyModel
from shoal.privacy.gate import Gate
from shoal.privacy.k_anonymity import KAnonymity
from shoal.privacy.of_units import UnitModel
from shoal.table.links import Key, Keys, chain, root_of
from shoal.table.schema import ALL_OTHERS, UNITS
from shoal.vocabulary.errors import InputError, Mistake, PlanError, quoted, unknown
from shoal.vocabulary.registry import Spec, spec_of

OF_KEYS = ("file", "key", "parent", "link")
OF_TABLE = ("columns", "steps", "requirements", "measures", "constraints", "publish", "accept")
"""Keys of a table in a plan: those that link it, and sections of a plan."""

FOR_ALL = ("release", "output", "for")
"""Sections that hold for every table."""

OF_TABLES = ("tables", "requirements", "measures", "constraints", "suppress_persons", "release_keys", *FOR_ALL)
"""Sections of a plan for several tables."""

NAME = re.compile(r"[^\W_][\w-]*")

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
    folder
        Folder in which files that the plan names are looked up.
    """

    tables: Mapping[str, Plan]
    keys: Keys
    files: Mapping[str, str] = field(default_factory=dict)
    requirements: tuple[UnitModel, ...] = ()
    bounds: tuple[Gate, ...] = ()
    measures: tuple[Measure, ...] = ()
    edit_rules: EditRules = field(default_factory=EditRules)
    suppress_persons: float = 0.0
    release_keys: bool = True
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
            return _read(plan, "plan", Path(folder or ""))
        return _read(load_yaml(plan), str(plan), Path(plan).parent if folder is None else Path(folder))

    @property
    def root(self) -> str:
        """The table of persons."""
        return root_of(self.keys)

    @property
    def output(self) -> Output:
        return self.tables[self.root].output

    def person_column(self, name: str) -> str:
        """The column of a table's plan that numbers persons."""
        return person_column(self.keys, name)

    def as_mapping(self) -> Spec:
        """The sections from which `LinkedPlan.of` makes the same plan again."""
        return self.sections({name: plan.as_mapping() for name, plan in self.tables.items()}, self.edit_rules.rules)

    def sections(self, of_tables: Mapping[str, Mapping[str, Any]], rules: Sequence[str]) -> Spec:
        """The sections of the plan, with given ones of its tables, and its rules as they are to be written."""
        root = of_tables[self.root]
        sections = {
            "tables": {name: self._of_table(name, content) for name, content in of_tables.items()},
            "requirements": [_keyed(model) for model in (*self.requirements, *self.bounds)],
            "measures": [_keyed(measure) for measure in self.measures],
            "constraints": {"rules": list(rules), "broken_rules": self.edit_rules.broken_rules} if rules else {},
            "suppress_persons": self.suppress_persons,
            "release_keys": self.release_keys,
            **{name: root[name] for name in FOR_ALL if name in root},
        }
        unsaid = {"requirements": [], "measures": [], "constraints": {}, "suppress_persons": 0.0, "release_keys": True}
        return {name: content for name, content in sections.items() if content != unsaid.get(name)}

    def as_yaml(self) -> str:
        """The plan as a file."""
        return dump_yaml(self.as_mapping())

    def _of_table(self, name: str, content: Mapping[str, Any]) -> Spec:
        key = self.keys[name]
        own = {"file": self.files.get(name), "key": key.key, "parent": key.parent, "link": key.link}
        columns = {column: of for column, of in content["columns"].items() if column != self.person_column(name)}
        kept = {section: content[section] for section in OF_TABLE if section in content}
        return {key: value for key, value in {**own, **kept, "columns": columns}.items() if value is not None}


def is_linked(plan: Any) -> bool:
    """True for a plan for several tables."""
    return isinstance(plan, LinkedPlan) or (isinstance(plan, Mapping) and "tables" in plan)


def any_plan(plan: Any, folder: str | Path | None = None) -> Plan | LinkedPlan:
    """A plan for one table or for several."""
    if isinstance(plan, (str, Path)):
        content, folder = load_yaml(plan), Path(plan).parent if folder is None else Path(folder)
        return _read(content, str(plan), folder) if is_linked(content) else Plan.of(plan, folder)
    return LinkedPlan.of(plan, folder) if is_linked(plan) else Plan.of(plan, folder)


def person_column(keys: Keys, name: str) -> str:
    """The column that numbers the persons of a table: the key of persons, as the table calls it."""
    key = keys[name]
    return str(key.link if key.parent == root_of(keys) else keys[root_of(keys)].key)


def _read(sections: Any, source: str, folder: Path) -> LinkedPlan:
    check_nesting(sections, source)
    mistakes: list[Mistake] = [
        ((str(key),), unknown("section", str(key), OF_TABLES)) for key in sections if key not in OF_TABLES
    ]
    mistakes += _of_settings(sections)
    keys = _keys(sections.get("tables"), mistakes)
    if mistakes:
        raise PlanError(in_words(mistakes, sections, source), mistakes)
    try:
        required = tuple(_requirements(sections))
        measures = tuple(read_measures(sections.get("measures")))
    except InputError as error:
        raise PlanError(in_words(error.mistakes, sections, source), error.mistakes) from None
    released = sections.get("release_keys") is not False
    tables = {name: _table(sections, keys, name, source, folder, released=released) for name in keys}
    _check_shifts(tables)
    try:
        rules = read_rules(sections.get("constraints"), tables)
    except PlanError as error:
        raise PlanError(in_words(error.mistakes, sections, source), error.mistakes) from None
    files = {name: str(sections["tables"][name]["file"]) for name in keys if sections["tables"][name].get("file")}
    return LinkedPlan(
        tables=tables,
        keys=keys,
        files=files,
        requirements=tuple(model for model in required if isinstance(model, UnitModel)),
        bounds=tuple(model for model in required if isinstance(model, Gate)),
        measures=measures,
        edit_rules=rules,
        suppress_persons=float(sections.get("suppress_persons") or 0.0),
        release_keys=released,
        context=sections.get("for"),
        folder=folder,
    )


def _of_settings(sections: Mapping[str, Any]) -> Iterator[Mistake]:
    share, released, output = (sections.get(name) for name in ("suppress_persons", "release_keys", "output"))
    if share is not None and (isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1):
        yield ("suppress_persons",), f"suppress_persons must be a share of the persons, from 0 to 1; got {share!r}."
    if not isinstance(released, (bool, type(None))):
        yield ("release_keys",), f"release_keys must be true or false; got {released!r}."
    if isinstance(output, Mapping) and output.get("copies", 1) != 1:
        yield ("output", "copies"), "output: copies must be 1 for several tables."
    if isinstance(output, Mapping) and output.get("shuffle") is False and released is False:
        yield (
            ("output", "shuffle"),
            "output: shuffle must be true where no key is released, or the order of the rows links the tables.",
        )


def _keys(tables: Any, mistakes: list[Mistake]) -> dict[str, Key]:
    """The keys of the tables, each after its parent; mistakes are added to those that there are."""
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        mistakes.append(
            (("tables",), "tables must be a mapping of tables, as in {patients: {key: id, columns: {...}}}.")
        )
        return {}
    for name, table in tables.items():
        if not NAME.fullmatch(str(name)):
            mistakes.append((("tables", name), f"table '{name}': a name is of letters, digits, - and _, for its file."))
        known = (*OF_KEYS, *OF_TABLE)
        mistakes += [
            (("tables", name, k), f"table '{name}': {unknown('key', str(k), known)}") for k in table if k not in known
        ]
    roots = [name for name, table in tables.items() if table.get("parent") is None]
    if len(roots) != 1:
        named = f"{quoted(roots)} have none" if roots else "all have one"
        mistakes.append((("tables",), f"tables: exactly one, that of persons, has no parent; {named}."))
    for name, table in tables.items():
        mistakes += _of_key(tables, str(name), table)
    return {} if mistakes else _ordered(tables, roots[0], mistakes)


def _of_key(tables: Mapping[str, Any], name: str, table: Mapping[str, Any]) -> Iterator[Mistake]:
    parent, place = table.get("parent"), ("tables", name)
    if not isinstance(table.get("columns"), (Mapping, type(None))):
        yield (*place, "columns"), f"table '{name}': columns must be a mapping, with a role for every column."
    if parent is not None and parent not in list(tables):
        yield (*place, "parent"), f"table '{name}': {unknown('table', str(parent), tables)}"
    lower = [other for other, described in tables.items() if described.get("parent") == name]
    if table.get("key") is None and (lower or parent is None):
        why = f"{quoted(lower)} hang on it" if lower else "its rows are persons"
        yield place, f"table '{name}' needs a key, a column with a value of its own in each row, for {why}."
    if parent is None and table.get("link") is not None:
        yield (*place, "link"), f"table '{name}': link is for a table with a parent. Name the parent, or leave it out."


def _ordered(tables: Mapping[str, Any], root: str, mistakes: list[Mistake]) -> dict[str, Key]:
    """Keys of the tables, from the persons downwards."""
    keys: dict[str, Key] = {}
    names = [root]
    while names:
        name = names.pop(0)
        table, parent = tables[name], tables[name].get("parent")
        link = None if parent is None else str(table.get("link") or tables[parent]["key"])
        key = table.get("key")
        keys[name] = Key(key=None if key is None else str(key), parent=parent, link=link)
        names += [other for other, described in tables.items() if described.get("parent") == name]
    if circle := [str(name) for name in tables if name not in keys]:
        mistakes.append((("tables",), f"tables: {quoted(circle)} are parents of each other, and hang on no person."))
    for name, own in keys.items():
        columns = tables[name].get("columns") or {}
        above = [keys[upper].key for upper in chain(keys, name)]
        for column in map(str, {own.key, own.link, person_column(keys, name), *above} & set(columns)):
            sentence = f"table '{name}': '{column}' is a key, which the plan numbers anew. Leave it out of columns."
            mistakes.append((("tables", name, "columns", column), sentence))
    return keys


def _requirements(sections: Mapping[str, Any]) -> Iterator[UnitModel | Gate]:
    """The requirements on persons. Raises PlanError naming the place of a mistake."""
    context, named = sections.get("for"), set()
    if context is not None and context not in list(CONTEXTS):
        raise _mistake(("for",), unknown("value of for", str(context), list(CONTEXTS)))
    listed = sections.get("requirements") or ()
    if not isinstance(listed, (list, tuple)):
        raise _mistake(("requirements",), "the section 'requirements' must be a list.")
    for number, item in enumerate(listed):
        try:
            model = _of_persons(read_requirement(item))
        except InputError as error:
            raise _mistake(("requirements", number), f"requirements {number + 1}: {error}") from None
        named.add(model.method_name)
        yield model
    if context is not None and "k-anonymity" not in named:
        yield KAnonymity(k=CONTEXTS[context].k, unit="person")


def _mistake(place: tuple[str | int, ...], sentence: str) -> PlanError:
    return PlanError(sentence, [(place, sentence)])


def _of_persons(model: PrivacyModel) -> UnitModel | Gate:
    """The requirement on persons over several tables, or bound on a figure. Raises PlanError if it is none."""
    if isinstance(model, Gate):
        return check_bound(model)
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


def _table(sections: Mapping[str, Any], keys: Keys, name: str, source: str, folder: Path, *, released: bool) -> Plan:
    """The plan of one table, with a column of persons."""
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
    for section in FOR_ALL:
        if section in sections:
            content[section] = sections[section]
    return read_sections(content, f"{source}, table '{name}'", folder)


def _check_shifts(tables: Mapping[str, Plan]) -> None:
    """Refuse shifts of dates that differ between tables."""
    shifts = [[step.method for step in plan.steps if isinstance(step.method, ShiftDates)] for plan in tables.values()]
    if any(len(of_table) > 1 for of_table in shifts) or len({method for of in shifts for method in of}) > 1:
        raise PlanError(DIFFERENT_SHIFTS, [(("tables",), DIFFERENT_SHIFTS)])


def _keyed(model: PrivacyModel | Measure) -> Spec:
    if isinstance(model, Gate):
        return {**_keyed(model.measure), **model.as_mapping()}
    spec = spec_of(model)
    return {
        model.method_kind: spec.pop("method"),
        **{key: value for key, value in plain(spec).items() if value is not None},
    }
