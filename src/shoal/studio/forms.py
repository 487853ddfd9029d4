"""Forms without code for any method: fields made from a method's JSON schema, its docstring and its markers.

The schema has the allowed values, the marker (`shoal.vocabulary.parameters`) tells that a text is the name of a column
or a file, the docstring has the meaning. A parameter that none of the controls fits is written as YAML.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_type_hints

from pydantic.json_schema import JsonSchemaValue

from shoal.mask.profiles import Profiles
from shoal.plan.lines import plain
from shoal.plan.linked_ledger import OF_LEDGER
from shoal.plan.linked_sections import measures_over_tables
from shoal.plan.sections import LedgerRules, Output
from shoal.plan.steps import MaskStep, PartitionStep
from shoal.privacy.of_units import UnitModel
from shoal.studio.arguments import Answer
from shoal.table.schema import LEVELS, ROLES, Column, Missing
from shoal.vocabulary.glossary import TERMS
from shoal.vocabulary.parameters import (
    ColumnName,
    Columns,
    Holds,
    KeyFile,
    Method,
    Secret,
    TablePath,
    docstring_sections,
    holds,
)
from shoal.vocabulary.registry import KIND_NAMES, KINDS, Entry, registered, spec_of

GOALS = (
    ("Hide people in groups", ("partition",), r"", r"^(MDAV|V-MDAV|Refine)"),
    (
        "Make values coarser",
        ("mask",),
        r"\b(recod|generalis|coarse|intervals of|categor\w+ (of|into)|cut)",
        r"recod|generalis|^Round",
    ),
    ("Hide extreme values", ("mask",), r"\b(top|bottom|extreme|above|below)\b", r"coding$"),
    ("Take out rare combinations", ("mask",), r"\b(suppress|rare|left out|taken out)", r"suppress|recod"),
    ("Make a synthetic table", ("partition",), r"\bsynthe", r"^(All|Whole|Local)"),
    ("Add noise to numbers", ("mask",), r"\bnoise\b", r"^Noise"),
    ("Exchange values between people", ("mask",), r"\b(swap|permut|shuffl|exchang)", r"swapping$"),
    ("Change categories by chance", ("mask",), r"\b(post-randomis|transition|random)", r"PRAM"),
    ("Replace or remove identifiers", ("mask",), r"\b(identifier|pseudonym)", r"identifier|pseudonym"),
    (
        "Protect persons with several records",
        ("mask",),
        r"\b(of each person|of a person|persons by all)\b",
        r"persons|profiles",
    ),
    ("Draw a sample, or match official counts", ("mask",), r"\b(random sample|calibrat\w+)", r"^Sampl"),
    ("Differential privacy", ("mask",), r"\b(differential|epsilon)", r"noise|mechanism"),
)
"""Goals of a person, the kinds of methods that serve them, a pattern that a method's description must match, and one
that the titles of those match that come first."""

WORDS = (
    ("missing blank empty delete cells hide cells na null", r"\bsuppress"),
    ("rename merge collapse group values bands brackets bins classes categories combine", r"\b(recod|generalis)"),
    ("delete column drop remove name id", r"\bidentifier"),
    ("delete rows drop records remove records outliers", r"\b(suppression of records|drop)"),
    ("average mean cluster microaggregation k-anonymity", r"\bgroups? of\b.*\bk\b|\brecords around\b|microaggreg"),
    ("fake artificial dummy made up generate simulate", r"\bsynthe|all records are one group"),
    ("cap winsorise clip outliers maximum minimum threshold", r"\b(top|bottom)[- ]cod"),
    ("jitter perturb blur random error", r"\bnoise\b"),
    ("shuffle mix scramble exchange", r"\b(swap|permut|shuffl)"),
    ("round digits decimals nearest", r"\bround"),
    ("dates days shift time", r"\bdates?\b"),
    ("hash code number encrypt key", r"\bpseudonym"),
    ("subset part fraction draw", r"\bsampl"),
    ("population census margins totals raking weights ipf", r"\bcalibrat"),
    ("flip misclassify randomised response", r"\bpost-randomis|transition"),
)
"""What people say, and the descriptions of the methods that they mean."""

CONTROLS = {"integer": "integer", "number": "number", "boolean": "truth", "string": "text"}

SCALARS = tuple(CONTROLS)

MARKED: Mapping[type[Holds], str] = {
    ColumnName: "column",
    Columns: "columns",
    TablePath: "file",
    KeyFile: "file",
    Secret: "secret",
}


def catalogue() -> Answer:
    """All methods by kind with their fields, the goals, the fields of a column and of the output, and the glossary."""
    methods = [_described(entry) for entry in registered()]
    for method in methods:
        method["words"] = " ".join(words for words, which in WORDS if re.search(which, _description(method), re.I))
    return {
        "kinds": [{"kind": kind, "name": KIND_NAMES[kind]} for kind in KINDS],
        "methods": methods,
        "goals": [{"goal": goal[0], "methods": _reaching(methods, goal)} for goal in GOALS],
        "over_tables": [Profiles.method_name, *_of_persons(), *measures_over_tables()],
        "roles": list(ROLES),
        "levels": list(LEVELS),
        "missing": list(get_args(Missing)),
        "column": _of_model(Column),
        "output": _of_model(Output),
        "ledger": _of_model(LedgerRules),
        "ledger_over_tables": list(OF_LEDGER),
        "terms": [{"name": term.name, "meaning": term.meaning, "spelled": term.spelled} for term in TERMS],
    }


def _of_persons() -> list[str]:
    """Names of the privacy models that are judged over persons in several tables."""
    return [entry.name for entry in registered("privacy") if issubclass(entry.cls, UnitModel)]


def _reaching(methods: list[Answer], goal: tuple[str, tuple[str, ...], str, str]) -> list[str]:
    """Names of the methods that reach one of the goals, the best first."""
    _, kinds, words, best = goal
    serving = [method for method in methods if method["kind"] in kinds and re.search(words, _description(method), re.I)]
    return [m["name"] for m in sorted(serving, key=lambda m: re.search(best, m["title"], re.I) is None)]


def _description(method: Mapping[str, Any]) -> str:
    return f"{method['title']} {method['summary']} {' '.join(f['name'] for f in method['fields'])}"


def _described(entry: Entry) -> Answer:
    text, meanings, notes = docstring_sections(entry.cls.__doc__)
    first, _, rest = text.partition("\n\n")
    schema = entry.json_schema()
    meaning_of = {name.strip(): meaning for names, meaning in meanings.items() for name in names.split(",")}
    markers = holds(entry.cls)
    inputs = [
        _field(name, schema, markers[name], meaning_of.get(name, ""), default)
        for name, default in entry.parameters.items()
    ]
    return {
        "kind": entry.kind,
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "summary": _words(first),
        "help": "\n\n".join(part for part in (_words(rest), _words(notes.partition("---\n")[2])) if part),
        "fields": [*inputs, *_of_step(entry.kind)],
        "roles": list(getattr(entry.cls, "default_roles", ())),
    }


def _of_step(kind: str) -> list[Answer]:
    """Fields of a step other than its method: the columns, and for a partition the replacement."""
    step: Any = {"partition": PartitionStep, "mask": MaskStep}.get(kind)
    if step is None:
        return []
    hints = get_type_hints(step, include_extras=True)
    named = {name for name, marker in holds(step).items() if isinstance(marker, ColumnName)}
    _, sections, _ = docstring_sections(step.__doc__)
    meanings = {name.strip(): meaning for names, meaning in sections.items() for name in names.split(",")}
    inputs = []
    for f in (f for f in fields(step) if f.name != "method"):
        choices = _literals(hints[f.name])
        nested = next((m for m in getattr(hints[f.name], "__metadata__", ()) if isinstance(m, Method)), None)
        single = "column" if f.name in named else "choice"
        control = single if choices else "method" if nested else "columns"
        inputs.append(
            {
                "name": f.name,
                "label": _label(f.name),
                "help": _words(meanings.get(f.name, "")),
                "control": control,
                "required": False,
                "default": _plain(f.default),
                "choices": choices,
                "of": nested.kind if nested else "",
            }
        )
    return inputs


def _literals(hint: Any) -> list[str]:
    """Words that an annotation allows, at any depth."""
    return [word for part in get_args(hint) for word in ([part] if isinstance(part, str) else _literals(part))]


def _of_model(model: Any) -> list[Answer]:
    """The fields of a section of the plan."""
    schema = model.model_json_schema()
    _, sections, _ = docstring_sections(model.__doc__)
    meanings = {name.strip(): meaning for names, meaning in sections.items() for name in names.split(",")}
    defaults = {name: MISSING if f.is_required() else f.default for name, f in model.model_fields.items()}
    markers = holds(model)
    return [
        _field(name, schema, markers[name], meanings.get(name, ""), default)
        for name, default in defaults.items()
        if "properties" in schema and name in schema["properties"]
    ]


def _field(name: str, schema: JsonSchemaValue, marker: Holds | None, meaning: str, default: Any) -> Answer:
    allowed = _alternatives(schema["properties"].get(name, {}), schema)
    only = allowed[0] if len(allowed) == 1 else {}
    control = "method" if isinstance(marker, Method) else ("" if marker is None else MARKED.get(type(marker), ""))
    whole = all(part.get("type") == "array" for part in allowed)
    if control == "file" and any(part.get("type") == "object" for part in allowed):
        control = "yaml"
    if control == "method" and whole and allowed:
        control = "methods"
    shape = {"control": control} if control and (whole or control != "columns") else _shape(allowed, schema)
    limits: Answer = {
        key: only[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if key in only
    }
    return {
        "name": name,
        "label": _label(name),
        "help": _words(meaning),
        "required": default is MISSING,
        "default": _plain(default),
        "choices": only.get("enum", _words_of(allowed) if isinstance(marker, ColumnName) else []),
        "of": marker.kind if isinstance(marker, Method) else "",
        **limits,
        **shape,
    }


def _words_of(allowed: list[JsonSchemaValue]) -> list[Any]:
    """Words that may be given in place of something else."""
    return [word for part in allowed for word in part.get("enum", ())]


def _shape(allowed: list[JsonSchemaValue], root: JsonSchemaValue) -> Answer:
    """The control for values of a schema, with its options."""
    enums = [part for part in allowed if "enum" in part]
    numbers = [part for part in allowed if part.get("type") in ("integer", "number")]
    if len(enums) == len(allowed) > 0:
        return {"control": "choice", "choices": _words_of(enums)}
    if len(allowed) == 1 and allowed[0].get("type") in CONTROLS:
        return {"control": CONTROLS[allowed[0]["type"]]}
    if len(enums) + len(numbers) == len(allowed) and len(_words_of(enums)) > 1:
        return {"control": "choice", "choices": [*_words_of(enums), 2, 3]}  # any other number is written into the plan
    below = [part for part in allowed if isinstance(part.get("additionalProperties"), Mapping)]
    if len(below) == 1 and len(below) + len(numbers) == len(allowed):
        entry = _alternatives(below[0]["additionalProperties"], root)
        if all(part.get("type") in SCALARS for part in entry):
            return {"control": "entries", "lists": False, "alone": bool(numbers)}
        if len(entry) == 1 and _is_matrix(entry[0], root):
            return {"control": "matrix"}
        if len(entry) == 1 and _is_list(entry[0], root):
            return {"control": "entries", "lists": True, "alone": bool(numbers)}
    items = [part for part in allowed if part.get("type") == "array"]
    if len(items) == 1 and len(items) + len(enums) == len(allowed) and _is_list(items[0], root):
        of_items = _alternatives(items[0].get("items", {}), root)
        if words := _words_of(of_items):
            return {"control": "several", "choices": words}
        if all(part.get("type") in ("integer", "number") for part in of_items):
            return {"control": "list"}
    if len(items) == len(allowed) == 1 and (parts := _parts(items[0], root)):
        return {"control": "rows", "parts": parts}
    return {"control": "yaml"}


def _parts(part: Mapping[str, Any], root: JsonSchemaValue) -> list[Answer]:
    """The parts of each entry of a list: columns, or a number; empty if there are others."""
    entry = [e for e in _alternatives(part.get("items", {}), root) if "properties" in e]
    parts = []
    for name, schema in entry[0]["properties"].items() if len(entry) == 1 else ():
        shape = str(_alternatives(schema, root)[0].get("type"))
        parts.append({"name": name, "control": {"array": "columns", "integer": "integer"}.get(shape, "")})
    return parts if all(one["control"] for one in parts) else []


def _is_matrix(part: Mapping[str, Any], root: JsonSchemaValue) -> bool:
    """True for a list of lists of numbers."""
    rows = _alternatives(part.get("items", {}), root)
    return part.get("type") == "array" and len(rows) == 1 and "items" in rows[0] and _is_list(rows[0], root)


def _is_list(part: Mapping[str, Any], root: JsonSchemaValue) -> bool:
    """True for a list of numbers, words or truth values."""
    items = [part["items"]] if "items" in part else part.get("prefixItems", [])
    entries = [entry for item in items for entry in _alternatives(item, root)]
    return (
        part.get("type") == "array" and bool(entries) and all(e.get("type") in SCALARS or "enum" in e for e in entries)
    )


def _alternatives(schema: JsonSchemaValue, root: JsonSchemaValue) -> list[JsonSchemaValue]:
    """Schemas that a value may have, without None: an empty field stands for that."""
    if "$ref" in schema:
        return _alternatives(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return [alternative for part in schema["anyOf"] for alternative in _alternatives(part, root)]
    if "const" in schema:
        return [{"enum": [schema["const"]]}]
    return [] if schema.get("type") == "null" else [dict(schema)]


def _plain(default: Any) -> Any:
    if default is MISSING:
        return None
    if hasattr(default, "method_kind"):
        return plain(spec_of(default))
    return plain(default)


def _label(name: str) -> str:
    return name.replace("_", " ")


def _words(text: str) -> str:
    """Prose of a docstring, with its lines joined and its backquotes removed."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.replace("`", "").split()) for part in paragraphs)
