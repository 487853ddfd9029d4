"""Columns before and after a release, in words that need no manual."""

from collections.abc import Iterator
from dataclasses import dataclass

from shoal.report.evidence import ColumnBefore, EvidenceFile, ReleasedColumn, ReportedFigure
from shoal.report.forms import is_share, share

AS_IT_WAS = "as it was"
ONE_VALUE = "one value for all"

LEAST_SHIFT = 0.005
"""Changes of a mean or a spread below this share are not worth a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """A column of the original in the release.

    Parameters
    ----------
    kept
        Share of its information that is kept; None if that is private or was not measured.
    """

    name: str
    words: str
    kept: float | None


def became(content: EvidenceFile, kept_by: ReportedFigure | None) -> list[Became]:
    """All columns, with the figures by column of a measure that counts what is kept."""
    by_column = (kept_by["by_column"] or {}) if kept_by and counts_kept(kept_by) else {}
    shares = {name: value for name, value in by_column.items() if isinstance(value, float)}
    released = [_became(c, content, shares.get(c["name"])) for c in content["columns"]]
    absent = [name for name in content["not released"] if name in shares]
    return released + [Became(name=name, words="gone: not released", kept=shares[name]) for name in absent]


def _became(column: ReleasedColumn, content: EvidenceFile, kept: float | None) -> Became:
    words = _words(column, content)
    if words == AS_IT_WAS and kept is not None and kept < 1:
        words += " in the records that are left"
    return Became(name=column["name"], words=words, kept=kept)


def counts_kept(measure: ReportedFigure) -> bool:
    """True if a measure's figure is a share of what is kept."""
    return is_share(measure) and measure["better"] == "higher" and measure["unchanged"] == 1


def with_one_value(content: EvidenceFile) -> list[str]:
    """Released columns in which every record has the same value, though the original is not known to be so."""
    return [c["name"] for c in content["columns"] if _has_one_value(c, content)]


def _has_one_value(column: ReleasedColumn, content: EvidenceFile) -> bool:
    before = column["original"]
    varied = column["name"] not in content["left as they came"] if before is None else before["distinct"] > 1
    return content["records"] > 1 and column["distinct"] is not None and column["distinct"] <= 1 and varied


def _words(column: ReleasedColumn, content: EvidenceFile) -> str:
    if _has_one_value(column, content):
        return ONE_VALUE if column["original"] is None else f"gone: {ONE_VALUE}"
    if column["name"] in content["made anew"]:
        return "made anew"
    before = column["original"]
    if before is None:
        came = column["name"] in content["left as they came"]
        return "as it came" if came else ", ".join(_of_release(column, content["records"])) or "not counted"
    return ", ".join(_of_both(column, before, content["records"])) or AS_IT_WAS


def _of_release(column: ReleasedColumn, records: int) -> Iterator[str]:
    if column["distinct"] is not None:
        yield f"{column['distinct']:,} values"
    if column["missing"] and records:
        yield f"{share(column['missing'] / records)} empty"


def _of_both(column: ReleasedColumn, before: ColumnBefore, records: int) -> Iterator[str]:
    after = column["distinct"]
    if before["changed"] and after is not None and after < before["distinct"]:
        yield f"{before['distinct']:,} values become {after:,}"
    elif before["changed"]:
        yield f"{share(before['changed'])} of the cells changed"
    blanked = (column["missing"] or 0) - before["missing"]
    if blanked > 0:
        yield f"{share(blanked / records)} blanked"
    mean, spread = before["mean"], before["spread"]
    if mean is not None and abs(mean) >= LEAST_SHIFT:
        yield f"mean {mean:+.2g} standard deviations"
    if spread is not None and abs(spread) >= LEAST_SHIFT:
        yield f"spread {100 * spread:+.2g} %"
