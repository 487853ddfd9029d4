"""The JSON schema of plan files, for one table or for several linked ones."""

from typing import Any

from pydantic.json_schema import JsonSchemaValue

from shoal.mask.profiles import Profiles
from shoal.plan.linked import FOR_ALL
from shoal.plan.linked_keys import NAME, OF_TABLE
from shoal.plan.linked_ledger import OF_LEDGER
from shoal.plan.linked_sections import KINDS, measures_over_tables
from shoal.plan.model import Plan
from shoal.plan.sections import LedgerRules
from shoal.privacy.of_units import UnitModel
from shoal.replace.persons import Method
from shoal.vocabulary.registry import registered

MEANINGS: dict[str, str] = {
    "file": "File of the table, in the folder that is protected.",
    "key": "Column with a value of its own in each row.",
    "parent": "Table above; the table of persons has none.",
    "link": "Column with the key of the table above, if it has another name here.",
}
"""Descriptions of the keys that link a table."""


def plan_schema() -> JsonSchemaValue:
    """The JSON schema of any plan file: what stands below a table's name is described as in a plan for one table."""
    one = Plan.json_schema()
    dialect, definitions = one.pop("$schema"), one.pop("$defs")
    definitions |= {"OneTable": one, "SeveralTables": _several(one), "TableOfSeveral": _table(one)}
    return {
        "$schema": dialect,
        "title": one["title"],
        "anyOf": [{"$ref": "#/$defs/OneTable"}, {"$ref": "#/$defs/SeveralTables"}],
        "$defs": definitions,
    }


def _several(one: JsonSchemaValue) -> JsonSchemaValue:
    """The sections of a plan for several tables."""
    tables = {"$ref": "#/$defs/TableOfSeveral"}
    names = {"pattern": f"^{NAME.pattern}$"}
    properties = {
        "tables": {"type": "object", "minProperties": 1, "propertyNames": names, "additionalProperties": tables},
        "synthesis": _synthesis(),
        "steps": {"type": "array", "items": _on_all(one)},
        "requirements": {"type": "array", "items": _of_persons(one)},
        "measures": {"type": "array", "items": {"anyOf": _measures(one, "measures")}},
        "constraints": one["properties"]["constraints"],
        "suppress_persons": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
        "release_keys": {"type": "boolean", "default": True},
        "ledger": _ledger(),
        "explore": one["properties"]["explore"],
        **{section: one["properties"][section] for section in FOR_ALL},
    }
    return _closed("shoal plan for several tables", properties, "tables")


def _table(one: JsonSchemaValue) -> JsonSchemaValue:
    """The sections and the links of one of several tables."""
    links = {key: {"type": "string", "description": meaning} for key, meaning in MEANINGS.items()}
    return _closed("table", links | {section: one["properties"][section] for section in OF_TABLE})


def _on_all(one: JsonSchemaValue) -> JsonSchemaValue:
    """The steps that work on all tables, as a plan for one table describes them."""
    return {"$ref": _alternatives(one, "steps", "mask")[Profiles.method_name]}


def _of_persons(one: JsonSchemaValue) -> JsonSchemaValue:
    """The requirements that are judged over all tables, as a plan for one table describes them."""
    named = _alternatives(one, "requirements", "privacy")
    names = [entry.name for entry in registered("privacy") if issubclass(entry.cls, UnitModel)]
    models = [{"$ref": named[name]} for name in names]
    return {"anyOf": [*models, {"enum": names}, *_measures(one, "requirements")]}


def _measures(one: JsonSchemaValue, section: str) -> list[JsonSchemaValue]:
    """The measures that are taken over all tables, as a section of a plan for one table describes them."""
    named = {name: ref for kind in KINDS for name, ref in _alternatives(one, section, kind).items()}
    return [{"$ref": named[name]} for name in measures_over_tables()]


def _alternatives(one: JsonSchemaValue, section: str, kind: str) -> dict[str, str]:
    """Where the methods of a kind are described, by their names, that a section may list."""
    described = (of.get("discriminator", {}) for of in one["properties"][section]["items"]["anyOf"])
    mapping: dict[str, str] = next(of["mapping"] for of in described if of.get("propertyName") == kind)
    return mapping


def _synthesis() -> JsonSchemaValue:
    """The section by which persons are made up with their rows."""
    trees = [entry.name for entry in registered("replace") if issubclass(entry.cls, Method)]
    named = {"type": "object", "properties": {"method": {"enum": trees}}, "required": ["method"]}
    properties = {
        "replace": {"anyOf": [{"enum": trees}, named], "description": "Method that columns are drawn by."},
        "order": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "By table, the column by which rows are in order.",
        },
    }
    return _closed("synthesis", properties, "replace")


def _ledger() -> JsonSchemaValue:
    """The section of the ledger, as a plan for one table describes its keys."""
    described = f"#/$defs/{LedgerRules.__name__}/properties"
    return _closed("ledger", {key: {"$ref": f"{described}/{key}"} for key in OF_LEDGER})


def _closed(title: str, properties: dict[str, Any], *required: str) -> JsonSchemaValue:
    return {
        "type": "object",
        "title": title,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
