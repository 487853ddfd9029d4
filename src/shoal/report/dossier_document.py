"""The dossier as an editable document (Office Open XML)."""

from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from shoal.report.dossier_parts import DossierQuestion, dossier_parts
from shoal.report.evidence import EvidenceFile
from shoal.vocabulary.errors import MissingDependency

MADE = datetime(1980, 1, 1)
"""Date of every part of the file, the earliest that its format allows: equal dossiers are equal bytes."""

FILL_IN = "To be filled in: "


def dossier_document(content: EvidenceFile, source: str) -> bytes:
    """The bytes of a .docx file; parameters as for `dossier_page`.

    Raises MissingDependency if python-docx is not installed.
    """
    try:
        from docx import Document
    except ImportError:
        raise MissingDependency("A dossier as an editable document", "python-docx", "documents") from None
    document = Document()
    title = content["release"].get("title", "Dossier of a release")
    document.core_properties.title, document.core_properties.author = title, content["release"].get("owner", "")
    document.core_properties.created = document.core_properties.modified = MADE
    document.add_heading(title, 0)
    if content["private"]:
        document.add_paragraph("Private: not to leave the building.").runs[0].bold = True
    document.add_paragraph(
        "The evidence on this release in the order of a regulator's questions. Every statement is followed by the "
        f"place of its figure in {source}. What no program can know is left as a field. Whether the data count as "
        "personal is a finding of law, which is not made here."
    )
    for number, part in enumerate(dossier_parts(content), 1):
        document.add_heading(f"{number}. {part.title}", 1)
        document.add_paragraph(part.source).runs[0].italic = True
        for place, question in enumerate(part.questions, 1):
            document.add_heading(f"{number}.{place} {question.title}", 2)
            _add(document, question)
    return _bytes_of(document)


def _add(document: Any, question: DossierQuestion) -> None:
    for statement in question.statements:
        paragraph = document.add_paragraph(f"{statement.text} ", style="List Bullet")
        paragraph.add_run(f"[{', '.join(statement.sources)}]").italic = True
    for field in question.fields:
        table = document.add_table(rows=2, cols=1, style="Table Grid")
        table.cell(0, 0).paragraphs[0].add_run(f"{FILL_IN}{field}").bold = True
        document.add_paragraph()


def _bytes_of(document: Any) -> bytes:
    """The bytes of the file, with the date `MADE` on all its parts."""
    written, dated = BytesIO(), BytesIO()
    document.save(written)
    with ZipFile(written) as parts, ZipFile(dated, "w") as out:
        for name in parts.namelist():
            information = ZipInfo(name, MADE.timetuple()[:6])
            information.compress_type = ZIP_DEFLATED
            out.writestr(information, parts.read(name))
    return dated.getvalue()
