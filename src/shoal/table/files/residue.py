"""Residue in a file beside its cells: names of categories and of codes that no cell has.

A diagnosis whose only record was suppressed may stand in the dictionary of its column still, in plain bytes, where no
reader of cells shows it; so may the value label of a code in SPSS and Stata files. Such a file gives away what the
release withholds. Three ways in, each looked at:

- the categories of an Enum are its type, written whatever the cells are;
- those of a Categorical belong to a pool that columns share, of which a writer should store those in use: what it
  stores is measured in the page of the dictionary itself;
- a label is written with its code, whether or not a cell has the code.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import polars as pl

from shoal.table.files.value_labels import NONE, code_text
from shoal.vocabulary.errors import Refused, quoted


def refuse_residue(
    frame: pl.DataFrame,
    value_labels: Mapping[str, Mapping[Any, str]],
    ending: str,
    reasons: Mapping[str, pl.Series] = NONE,
) -> None:
    """Refuse a table whose file would hold names that none of its cells has.

    `frame`: the cells to be written. `value_labels`: for a column, what its codes mean. `ending`: of the file:
    "parquet" has dictionaries, "sav" and "dta" have value labels, the others cells alone. `reasons`: codes that say why
    a cell is missing, which are written too (`Table.reasons`). Raises Refused naming the columns, and never the names
    that were left.
    """
    columns: list[str] = []
    if ending == "parquet":
        enums = ((c, c.dtype) for c in frame if isinstance(c.dtype, pl.Enum))
        columns = [c.name for c, kind in enums if len(kind.categories) > c.drop_nulls().n_unique()]
        columns += [c.name for c in frame if c.dtype == pl.Categorical and _stored_beside_cells(c)]
    elif ending in ("sav", "dta"):
        labelled = {name: set(map(code_text, labels)) for name, labels in value_labels.items()}
        columns = [name for name, codes in labelled.items() if codes - codes_of(frame[name], reasons.get(name))]
    if columns:
        raise Refused(
            f"The file would hold names that no record has (any more) in {quoted(columns)}. "
            "Drop the unused categories and labels, or make the columns text. Nothing is released."
        )


def codes_of(column: pl.Series, reasons: pl.Series | None) -> set[str]:
    """Contents of a column in a file, as text: cells, and codes that say why they are missing."""
    columns = [column] if reasons is None else [column, reasons]
    return {code_text(code) for codes in columns for code in codes.drop_nulls().unique().to_list()}


def _stored_beside_cells(column: pl.Series) -> bool:
    """True if the dictionary that is written of a Categorical is longer than the names of its cells.

    A page of a dictionary is every name after its length in four bytes (Apache Parquet, Encodings, PLAIN), and its
    header begins with the kind of page, 2, and the page's size, as compact Thrift: 0x15 and a number for each.
    """
    names = column.drop_nulls().unique().cast(pl.String)
    stored = BytesIO()
    column.to_frame().write_parquet(stored, compression="uncompressed", row_group_size=max(len(column), 1))
    written = stored.getvalue()
    if not written.startswith(b"PAR1\x15\x04\x15"):  # no dictionary
        return False
    return _number(written, 7) > int(names.str.len_bytes().sum()) + 4 * len(names)


def _number(written: bytes, start: int) -> int:
    """A whole number as compact Thrift writes it, seven bits a byte and doubled where it is not negative."""
    number = 0
    for place, byte in enumerate(written[start : start + 5]):
        number |= (byte & 127) << (7 * place)
        if byte < 128:
            break
    return number >> 1
