"""codebook.json: the released columns, in the words of the plan that described them."""

from shoal.table.files.json_text import Record
from shoal.table.files.missing_codes import still_missing
from shoal.table.files.table import Table
from shoal.table.schema import Column, Schema
from shoal.vocabulary.parameters import docstring_sections

OF_PLAN = ("role", "level", "label", "decimals")
"""Facts about a column that its readers need and the plan states."""

OF_FILE = {
    "name": "The column's name in the file.",
    "type": "The type of its cells.",
    "values": "Codes that stand in the file, and what they mean.",
    "missing codes": "Codes that SPSS takes for missing, single ones and ranges.",
    "measure": "The level of measurement in SPSS: nominal, ordinal or scale.",
}
"""Facts about a column that the file itself states, each with its meaning."""


def codebook(schema: Schema, table: Table, records: int, version: int) -> Record:
    """The content of codebook.json.

    Parameters
    ----------
    table
        A table with the released columns, and all of their records or none.
    records
        Number of released records.
    version
        Version of the layout of a release.
    """
    missing = still_missing(table.frame, table.missing_codes)
    return {
        "version": version,
        "title": table.title or None,
        "records": records,
        "keys": {**OF_FILE, **of_the_model()},
        "columns": [
            {
                "name": name,
                "type": str(table.frame[name].dtype),
                "values": {str(code): text for code, text in table.value_labels.get(name, {}).items()} or None,
                "missing codes": missing.get(name),
                "measure": table.measures.get(name),
                **schema.columns[name].model_dump(include=set(OF_PLAN)),
                "label": table.labels.get(name),
            }
            for name in table.frame.columns
        ],
    }


def of_the_model() -> dict[str, str]:
    """The meaning of each key of `OF_PLAN`, from the docstring of the plan's own model."""
    meanings = docstring_sections(Column.__doc__)[1]
    return {key: " ".join(meanings[key].split()) for key in OF_PLAN}
