"""The dossier as a page: statements with their figures, and fields to fill in, in the browser or by hand."""

from shoal.report.dossier_parts import dossier_parts
from shoal.report.evidence import EvidenceFile
from shoal.report.page import Filled, render


def dossier_page(content: EvidenceFile, source: str) -> str:
    """One self-contained page; it loads nothing and runs no script.

    Parameters
    ----------
    content
        Content of evidence.json. The page is as safe to publish as that file.
    source
        Name, for readers, of the file to which statements refer.
    """
    return render("dossier.html", **dossier_filled(content, source))


def dossier_filled(content: EvidenceFile, source: str) -> Filled:
    """Values that fill the template."""
    return {"content": content, "private": content["private"], "source": source, "parts": dossier_parts(content)}
