"""Review: a release handed to a second person as one file without data, and the approval that comes back.

The file holds the plan and the public evidence and, in a section of its own, the private figures of the original. It
holds no record, no cell of the original, no row number and no seed. The reviewer comments and approves under a name;
`shoal.publish` then writes who approved what, and refuses an approval of anything else. An approval refers to a hash of
the released cells and the public evidence, so it reveals no more than these. A release that was already written is
handed over from its folder, where the evidence names its tables by the hashes of their files; `shoal.approve` then
writes the approval into the folder.

An approval is a note between people who trust each other's files; it is no signature.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import singledispatch
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, Self, cast
from unicodedata import normalize

from annotated_types import MaxLen
from pydantic import ValidationError, with_config
from typing_extensions import TypedDict

from shoal.release import LargeRelease, Release
from shoal.release.evidence_file import private_evidence, public_evidence, read_evidence
from shoal.report.evidence import LONGEST_NAME, Approval, ClassesBefore, Estimate, EvidenceFile, MeasureKind
from shoal.report.forms import CLOSED, Bound, Limits
from shoal.report.page import page
from shoal.table.files.atomic import atomic_directory, atomic_file
from shoal.table.files.checksums import sha256_of
from shoal.table.files.json_text import LARGEST_RECORD, as_json, form_of, read_record, write_json
from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError, InputError
from shoal.vocabulary.facts import Better

LONGEST_COMMENT, MOST_COMMENTS = 10_000, 1000


class Comment(TypedDict):
    """A comment, with its author and time."""

    by: Annotated[str, MaxLen(LONGEST_NAME)]
    when: str
    text: Annotated[str, MaxLen(LONGEST_COMMENT)]


class ReviewedRequirement(TypedDict):
    """The parts of a verdict that are handed over; facts are not, since they may name categories or rows."""

    requirement: str
    holds: bool
    required: float
    achieved: float | None
    sentence: str
    protects: bool
    model: str


class ReviewedFigure(TypedDict):
    """The parts of a finding that are handed over; facts and figures by column are not, for the same reason."""

    measure: str
    kind: MeasureKind
    title: str
    value: float | Bound | None
    original: float | Bound | None
    unit: str
    limits: Limits
    better: Better
    sentence: str
    reason: str
    interval: Estimate | None


PrivateFigures = TypedDict(
    "PrivateFigures",
    {
        "plan": str,
        "requirements": list[ReviewedRequirement],
        "measures": list[ReviewedFigure],
        "classes before": ClassesBefore | None,
    },
)
"""Figures of the original that the reviewer sees."""


Approved = TypedDict(
    "Approved", {"by": str, "when": str, "sha256": str, "handed over by": str, "comments": list[Comment]}
)
"""An approval of a release, with all comments; private."""


ReviewFile = TypedDict(
    "ReviewFile",
    {
        "shoal review": Literal[1],
        "by": Annotated[str, MaxLen(LONGEST_NAME)],
        "cells": list[str],
        "evidence": EvidenceFile,
        "private": PrivateFigures | None,
        "comments": Annotated[list[Comment], MaxLen(MOST_COMMENTS)],
        "approval": Approval | None,
        "rejection": NotRequired[Approval | None],
    },
)
"""Layout of the file."""
with_config(CLOSED)(ReviewFile)


@dataclass(frozen=True, kw_only=True)
class Review:
    """A release in the form that a second person reviews.

    Parameters
    ----------
    by
        Name of the person who hands it over.
    cells
        SHA-256 of the cells of each released table; empty for a release that was already written, whose evidence has
        the SHA-256 of the files.
    evidence
        The public evidence.
    private
        Figures of the original, where they are handed over.
    comments
        Comments, in the order in which they were made.
    approval
        The approval, if there is one.
    rejection
        The rejection, if there is one; its reason is the last comment at that time.
    """

    by: str
    cells: tuple[str, ...]
    evidence: EvidenceFile = field(repr=False)
    private: PrivateFigures | None = field(default=None, repr=False)
    comments: tuple[Comment, ...] = ()
    approval: Approval | None = None
    rejection: Approval | None = None

    @property
    def sha256(self) -> str:
        """Hash of the approved contents: the released cells and the public evidence, and nothing private."""
        approved = {"cells": list(self.cells), "evidence": self.evidence}
        text = json.dumps(approved, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def commented(self, by: str, text: str) -> Self:
        """The review with one more comment. Raises InputError if the comment or the name is empty or too long."""
        if not text.strip() or len(text) > LONGEST_COMMENT:
            raise InputError(f"A comment must have from 1 to {LONGEST_COMMENT} characters.")
        if len(self.comments) >= MOST_COMMENTS:
            raise InputError(f"A review can have at most {MOST_COMMENTS} comments.")
        comment: Comment = {"by": _name(by), "when": _now(), "text": text.strip()}
        return replace(self, comments=(*self.comments, comment))

    def approved(self, by: str) -> Self:
        """The review, approved.

        Raises InputError if the name is empty, or that of the person who handed it over, or the release was rejected.
        """
        self.refuse_rejected()
        return replace(self, approval=self._signed(by))

    def rejected(self, by: str, why: str) -> Self:
        """The review, rejected for a reason, which is added to the comments; an approval is withdrawn.

        Raises InputError as `commented` and `approved` do.
        """
        self.refuse_rejected()
        return replace(self.commented(by, why), approval=None, rejection=self._signed(by))

    def _signed(self, by: str) -> Approval:
        name = _name(by)
        if _alike(name, self.by):
            raise InputError("A release must be judged by somebody other than its maker. Give another name.")
        return {"by": name, "when": _now(), "sha256": self.sha256}

    def refuse_rejected(self) -> None:
        """Raise InputError if the release was rejected."""
        if self.rejection is not None:
            raise InputError(f"{self.rejection['by']} rejected this release. Make another one and have that reviewed.")

    def write(self, path: str | Path) -> Path:
        """Write it as one file, for its owner alone."""
        with atomic_file(Path(path), 0o600) as temporary:
            temporary.write_text(self.text, encoding="utf-8")
        return Path(path)

    @property
    def text(self) -> str:
        """The content of the file."""
        content = {
            "shoal review": 1,
            **{key: value for key, value in asdict(self).items() if key not in ("cells", "comments")},
            "cells": list(self.cells),
            "comments": list(self.comments),
        }
        return json.dumps(as_json(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a review from a file. Raises FileError if it is no review, or was changed after its approval."""
        text = read_text(path, "Review", largest=LARGEST_RECORD)
        return cls.of_text(text, Path(path).name)

    @classmethod
    def of_text(cls, text: str, name: str = "the file") -> Self:
        """A review from the content of a file; parameters and refusals as for `read`."""
        try:
            content = json.loads(text)
            form_of(ReviewFile).validate_python(content)
        except (ValueError, RecursionError, ValidationError):
            raise FileError(
                f"'{name}' is not a review of a release, or was written by another version of shoal."
            ) from None
        read = cls(
            by=content["by"],
            cells=tuple(content["cells"]),
            evidence=content["evidence"],
            private=content["private"],
            comments=tuple(content["comments"]),
            approval=content["approval"],
            rejection=content.get("rejection"),
        )
        for what, signed in (("approved", read.approval), ("rejected", read.rejection)):
            if signed is not None and signed["sha256"] != read.sha256:
                raise FileError(f"'{name}' was changed after it was {what}. Have it reviewed again.")
            if signed is not None and _alike(signed["by"], read.by):
                raise FileError(f"'{name}' was {what} by its maker. Have it reviewed by somebody else.")
        return read


def review(release: Release | str | Path, by: str, *, private: bool = True) -> Review:
    """A release for a second person to review: plan and evidence, without data.

    Parameters
    ----------
    release
        A release, or its directory.
    by
        Name of the person who hands it over; somebody else approves it.
    private
        Include the figures of the original, in a section of their own. Every recipient of the file sees them.

    Raises
    ------
    InputError
        If the name is empty, or the release was approved before.
    FileError
        If there is no release in the directory, or its files are not those that its evidence names.
    """
    name = _name(by)
    if isinstance(release, Release) and not isinstance(release, LargeRelease):
        cells, evidence, figures = contents(release)
        return Review(by=name, cells=cells, evidence=evidence, private=_figures(figures if private else None))
    folder = Path(release.directory if isinstance(release, LargeRelease) else release)
    evidence = read_evidence(folder / "release" / "evidence.json")
    if "approval" in evidence:
        raise InputError("The release was approved before. Protect the table anew if something is to change.")
    _check_files(folder / "release", evidence["sha256"])
    content = read_evidence(folder / "private" / "evidence.json") if private else None
    return Review(by=name, cells=(), evidence=evidence, private=_figures(content))


@singledispatch
def contents(release: Any) -> tuple[tuple[str, ...], EvidenceFile, EvidenceFile]:
    """Of a release in memory the SHA-256 of its cells, table by table, its public and its private evidence.

    A release of several tables has a form of its own, in `shoal.release.linked`.
    """
    cells = tuple(copy.fingerprint for copy in release.copies)
    return cells, public_evidence(release, files={}), private_evidence(release)


def approval_of(release: Release | str | Path, approval: Review | str | Path) -> Approved:
    """The approval of a release, with all comments; private.

    Raises InputError if it was not approved, or the approval is of another release.
    """
    reviewed = approval if isinstance(approval, Review) else Review.read(approval)
    reviewed.refuse_rejected()
    if reviewed.approval is None:
        raise InputError("The review has no approval. Have it approved, or publish without it.")
    own = review(release, reviewed.by, private=reviewed.private is not None)
    if own.sha256 != reviewed.approval["sha256"] or own.sha256 != reviewed.sha256:
        raise InputError("Another release was approved: its cells or its evidence differ from these. Review this one.")
    if own.private != reviewed.private:
        raise InputError("The private figures that were reviewed are not those of this release. Review this one.")
    return {**reviewed.approval, "handed over by": reviewed.by, "comments": list(reviewed.comments)}


def published(approved: Approved) -> Approval:
    """The public form of an approval: without its comments."""
    return {"by": approved["by"], "when": approved["when"], "sha256": approved["sha256"]}


def approve(directory: str | Path, given: Review | str | Path) -> Approved:
    """Write the approval into both folders of a release, into the private one with all comments.

    Parameters
    ----------
    directory
        The release as it was written, and handed over (`shoal.review(directory, by=...)`).
    given
        The review that a second person approved, or its file.

    Returns
    -------
    The approval, with all comments.

    Raises
    ------
    InputError
        If it was not approved, another release was approved, or this one was approved before.
    FileError
        If there is no release in the directory, or its files are not those that its evidence names.
    """
    target = Path(directory)
    approved = approval_of(target, given)
    with atomic_directory(target, overwrite=True) as temporary:
        shutil.copytree(target, temporary, symlinks=True, dirs_exist_ok=True)
        evidence = read_evidence(temporary / "release" / "evidence.json")
        evidence["approval"] = published(approved)
        write_json(temporary / "release" / "evidence.json", evidence)
        (temporary / "release" / "report.html").write_text(page(evidence), encoding="utf-8")
        record = temporary / "private" / "record.json"
        write_json(record, {**read_record(record, "a release", ("version", "plan", "seed")), "approval": approved})
    return approved


def _check_files(folder: Path, hashes: Mapping[str, str]) -> None:
    """Refuse a folder whose tables are not those that the evidence names."""
    for name, sha256 in hashes.items():
        if sha256_of(folder / name) != sha256:
            raise FileError(f"'{folder / name}' is not the table that was proved. Protect the table anew.")


def _figures(content: EvidenceFile | None) -> PrivateFigures | None:
    if content is None:
        return None
    figures = {
        "plan": content["plan"],
        "requirements": [_part(dict(row), ReviewedRequirement) for row in content["requirements"]],
        "measures": [_part(dict(row), ReviewedFigure) for row in content["measures"]],
        "classes before": content["classes before"],
    }
    return cast(PrivateFigures, figures)


def _part(row: Mapping[str, object], layout: type) -> Mapping[str, object]:
    """The entries of a mapping that a layout has."""
    return {key: row[key] for key in layout.__annotations__}


def _name(by: str) -> str:
    name = " ".join(by.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise InputError(f"A name has from 1 to {LONGEST_NAME} printable characters. Give one.")
    return name


def _alike(first_name: str, second_name: str) -> bool:
    """True if two names look alike to a reader: capitals, blanks and the encoding of accents are ignored."""
    first, second = (" ".join(normalize("NFKC", name).split()).casefold() for name in (first_name, second_name))
    return first == second


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
