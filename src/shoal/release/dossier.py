"""Dossier: the evidence of a release in the order of a regulator's questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shoal.release import Release
from shoal.release.evidence_file import private_evidence, public_evidence, read_evidence
from shoal.report.display import displayed
from shoal.report.dossier_document import dossier_document
from shoal.report.dossier_page import dossier_filled, dossier_page
from shoal.report.evidence import EvidenceFile
from shoal.table.files.atomic import atomic_file
from shoal.vocabulary.errors import FileError

FORMATS: Mapping[str, Callable[[EvidenceFile, str], bytes]] = {
    ".html": lambda content, source: dossier_page(content, source).encode(),
    ".docx": dossier_document,
}
"""Makers of the file, by its ending."""


@dataclass(frozen=True, kw_only=True)
class Dossier:
    """The evidence of a release for regulators, with fields for what no program can know.

    Parameters
    ----------
    content
        Content of its evidence.json.
    source
        Name of the file to which statements refer.
    """

    content: EvidenceFile = field(repr=False)
    source: str

    def write(self, path: str | Path) -> Path:
        """Write it as a page (.html) or as an editable document (.docx, which needs python-docx).

        Raises
        ------
        FileError
            If the file has another ending.
        MissingDependency
            If python-docx is needed and not installed.
        """
        target = Path(path)
        if target.suffix.lower() not in FORMATS:
            raise FileError(f"The file of a dossier must end in .html or .docx; got '{target.name}'. Rename it.")
        document = FORMATS[target.suffix.lower()](self.content, self.source)
        with atomic_file(target, 0o600 if self.content["private"] else 0o644) as temporary:
            temporary.write_bytes(document)
        return target

    def _repr_html_(self) -> str:
        return displayed("parts/dossier.html", **dossier_filled(self.content, self.source))


def dossier(release: Release | str | Path, *, private: bool = False) -> Dossier:
    """The evidence of a release in the order of a regulator's questions.

    WP216's three questions; ISO/IEC 27559 (context, data, identifiability, governance); HIPAA expert determination;
    European Health Data Space. Every statement refers to its figure in evidence.json.

    Parameters
    ----------
    release
        A release, or its directory.
    private
        Take the exact figures of private/evidence.json, which makes the dossier private.

    Raises
    ------
    FileError
        If there is no release in the directory, or one of an earlier version.
    """
    if isinstance(release, Release):
        content = private_evidence(release) if private else public_evidence(release, files={})
        return Dossier(content=content, source="evidence.json")
    path = Path(release) / ("private" if private else "release") / "evidence.json"
    return Dossier(content=read_evidence(path), source=f"{path.parent.name}/evidence.json")
