"""Excel workbooks: the cells of a sheet, and for a judged table every difference that the XML records.

A reader of cells sees one 5 whether the workbook has the number 5, the text "5", 5 as a formula's result, or 5 shown as
a date; TRUE for the truth value and for a number 1; and nothing for a missing cell and for #N/A. The workbook keeps
these apart (ECMA-376, part 1, 18.3.1.4, cells), so a judged table is read from there.
"""

import logging
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from shoal.table.files.clock import NO_TIME
from shoal.table.files.csv_text import escape_formulas, with_stamps
from shoal.table.files.doubts import doubts
from shoal.table.files.spelling import spellings
from shoal.table.files.table import ReadOptions, Table, library, unreadable
from shoal.vocabulary.errors import FileError, quoted, unknown

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
LINKED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
MOST_BYTES = 1 << 33
"""Largest size of a workbook's XML; a small file may be compressed so that it expands without end."""


def read_excel(path: Path, options: ReadOptions) -> Table:
    """Read the named sheet of a workbook, by default the first."""
    fastexcel = library("fastexcel", "Excel")
    try:
        sheets = fastexcel.read_excel(path).sheet_names
        if options.judged:
            _check_judged(path, len(sheets))
        sheet = options.sheet or sheets[0]
        if sheet not in sheets:
            raise FileError(f"File '{path}': {unknown('sheet', sheet, sheets)}")
        with _quiet():  # every cell counts for a column's type, or some would be lost
            frame = pl.read_excel(path, sheet_name=sheet, infer_schema_length=None)
    except fastexcel.FastExcelError as error:
        raise unreadable(path, "Excel", error) from None
    others = f"File '{path}' has {len(sheets)} sheets: {quoted(sheets)}; '{sheet}' is read."
    return Table(
        frame=frame,
        described=f"Excel, sheet '{sheet}'",
        types_from_cells=True,
        notes=doubts(frame) | ({"": others} if len(sheets) > 1 and options.sheet is None else {}),
        spellings=spellings(frame, _as_written(path, frame)) if options.judged else {},
    )


def _check_judged(path: Path, sheets: int) -> None:
    if path.suffix.lower() != ".xlsx":
        raise FileError(f"File '{path}' is of an old kind, whose cells cannot all be told apart. Save it as .xlsx.")
    if sheets > 1:
        raise FileError(
            f"File '{path}' has {sheets} sheets, of which only one could be judged. Put each into a file of its own."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the warning of fastexcel about a column without any value."""
    logger = logging.getLogger("fastexcel")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _as_written(path: Path, frame: pl.DataFrame) -> pl.DataFrame:
    """The cells of a workbook's only sheet as its XML has them; null where nothing is written.

    Raises FileError if the XML has other records than were read, because rows or columns that hold no value are not
    empty.
    """
    with zipfile.ZipFile(path) as book:
        if sum(part.file_size for part in book.infolist()) > MOST_BYTES:
            raise FileError(f"File '{path}' unfolds to more than {MOST_BYTES >> 30} GiB. Save it as csv or parquet.")
        shared, formats = _shared_texts(book), _number_formats(book)
        with book.open(_sheet_of(book)) as sheet:
            header, *records = _rows(sheet, shared, formats)
    if len(records) != len(frame) or len(header) != frame.width:
        raise FileError(
            f"File '{path}' has rows or columns that hold no value but are not empty (errors, as #N/A), so its records "
            f"cannot be told from one another. Clear them, or save the table as csv or parquet."
        )
    columns = {name: [record.get(place) for record in records] for name, place in zip(frame.columns, header)}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _parsed(book: zipfile.ZipFile, part: str) -> ElementTree.Element:
    """A part of a workbook; the parser limits the expansion of entities and fetches none from elsewhere."""
    return ElementTree.fromstring(book.read(part))  # noqa: S314


def _sheet_of(book: zipfile.ZipFile) -> str:
    """The path of the first sheet's XML."""
    workbook = _parsed(book, "xl/workbook.xml")
    sheet = next(workbook.iter(f"{MAIN}sheet"))
    links = _parsed(book, "xl/_rels/workbook.xml.rels")
    target = next(link.get("Target", "") for link in links if link.get("Id") == sheet.get(LINKED))
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _shared_texts(book: zipfile.ZipFile) -> list[str]:
    """The texts that cells refer to by number, with font markup included."""
    if "xl/sharedStrings.xml" not in book.namelist():
        return []
    return [ElementTree.tostring(text, "unicode") for text in _parsed(book, "xl/sharedStrings.xml")]


def _number_formats(book: zipfile.ZipFile) -> list[str]:
    """The number format of each cell style: 0 for the general one, 14 for a date, and so on."""
    if "xl/styles.xml" not in book.namelist():
        return []
    styles = _parsed(book, "xl/styles.xml").find(f"{MAIN}cellXfs")
    return [] if styles is None else [style.get("numFmtId", "0") for style in styles]


def _rows(sheet: Any, shared: list[str], formats: list[str]) -> Iterator[dict[str, str]]:
    """Each row with a cell as a mapping from column letters to kind, format and content."""
    for _, row in ElementTree.iterparse(sheet):  # noqa: S314 - as in `_parsed`
        if row.tag != f"{MAIN}row":
            continue
        cells = {}
        for cell in row:
            value, inline = cell.find(f"{MAIN}v"), cell.find(f"{MAIN}is")
            text = value.text if value is not None else None
            if inline is not None:
                text = ElementTree.tostring(inline, "unicode")
            if text is None:
                continue
            kind, style = cell.get("t", "n"), int(cell.get("s", "0"))
            content = shared[int(text)] if kind == "s" else text
            shown = formats[style] if style < len(formats) else "0"
            computed = "=" if cell.find(f"{MAIN}f") is not None else ""
            cells[re.sub(r"\d", "", cell.get("r", ""))] = f"{kind} {shown} {computed}{content}"
        if cells:
            yield cells
        row.clear()


def write_excel(table: Table, path: Path, guard: bool) -> None:
    """Write a workbook with one sheet and a fixed time of creation."""
    library("xlsxwriter", "Excel")
    from xlsxwriter import Workbook

    content = BytesIO()  # in memory, so that a full disk is met by us, and not by the library in its own files
    with Workbook(content, {"in_memory": True}) as workbook:
        workbook.set_properties({"created": NO_TIME})
        frame = with_stamps(table.frame, only_in_utc=True)  # a cell of Excel has no time zone
        (escape_formulas(frame) if guard else frame).write_excel(workbook, autofit=True)
    path.write_bytes(content.getvalue())
