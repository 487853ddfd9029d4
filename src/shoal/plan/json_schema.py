"""The JSON schema of plan files."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from shoal.data.schema import Column
from shoal.methods import registered
from shoal.plan.model import POLICIES
from shoal.plan.steps import FORMATS


def json_schema() -> dict[str, Any]:
    """The JSON schema of plan files, for editors that complete and check."""
    column = Column.model_json_schema(ref_template="#/$defs/{model}")
    defs: dict[str, Any] = column.pop("$defs", {})
    names = {"type": "array", "items": {"type": "string"}}
    replaceable = {"type": ["string", "object"]}
    step = {"columns": names}
    in_groups = {**step, "by": names, "replace": replaceable, "small_strata": {"enum": ["refuse", "merge"]}}
    rules = {"type": "array", "items": {"type": "string"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "shoal plan",
        "type": "object",
        "required": ["columns"],
        "additionalProperties": False,
        "properties": {
            "columns": {"type": "object", "additionalProperties": {"anyOf": [column["properties"]["role"], column]}},
            "steps": {
                "type": "array",
                "items": {"anyOf": _methods("partition", defs, in_groups) + _methods("mask", defs, step)},
            },
            "requirements": {"type": "array", "items": {"anyOf": _methods("privacy", defs)}},
            "measures": {"type": "array", "items": {"anyOf": _methods("risk", defs) + _methods("utility", defs)}},
            "constraints": {
                "anyOf": [
                    rules,
                    {
                        "type": "object",
                        "properties": {"rules": rules, "broken_rules": {"enum": list(POLICIES)}},
                        "additionalProperties": False,
                    },
                ]
            },
            "output": {
                "type": "object",
                "properties": {
                    "format": {"enum": list(FORMATS)},
                    "shuffle": {"type": "boolean"},
                    "guard_formulas": {"type": "boolean"},
                },
                "additionalProperties": False,
            },
            "explore": {
                "type": "object",
                "properties": {
                    "method": {"type": ["array", "object"]},
                    "risk": {"enum": [entry.name for entry in registered("risk")]},
                    "utility": {"enum": [entry.name for entry in registered("utility")]},
                },
                "required": ["method"],
            },
        },
        "$defs": defs,
    }


def _methods(kind: str, defs: dict[str, Any], extra: Mapping[str, Any] = MappingProxyType({})) -> list[dict[str, Any]]:
    """A schema for each method of a kind, with further keys of its step; definitions are added to `defs`."""
    found = []
    for entry in registered(kind):
        schema = entry.json_schema()
        defs.update(schema.pop("$defs", {}))
        found.append(
            {
                "title": entry.title,
                "description": entry.source,
                "type": "object",
                "properties": {kind: {"const": entry.name}, **schema.get("properties", {}), **extra},
                "required": [kind, *schema.get("required", [])],
                "additionalProperties": False,
            }
        )
    return found
