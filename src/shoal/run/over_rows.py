"""Rules over the rows of linked tables: met by the tables that came in, kept by those that are released."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from shoal.constraints.of_rows import DependentRows
from shoal.constraints.over_rows import RulesOverRows
from shoal.judges.evidence import Verdict
from shoal.plan.sections import EditRules
from shoal.run.course import Course
from shoal.table.links import Links
from shoal.table.records import Records
from shoal.vocabulary.facts import Facts

STAGE = "constraints over tables"


def admitted(edit_rules: EditRules, originals: Mapping[str, Records], links: Links) -> tuple[RulesOverRows, Facts]:
    """The rules, tied to the tables that came in, and what these break of them.

    Raises
    ------
    InputError
        If a rule does not fit the tables, or they break one and the plan says to refuse that.
    """
    rows = DependentRows(tables=originals, links=links)
    rules = RulesOverRows.parse(edit_rules.rules, rows)
    facts = rules.admit(rows, edit_rules.broken_rules) if rules.rules else {}
    return rules, facts if edit_rules.broken_rules == "report" else {}


def obeying(rules: RulesOverRows, courses: Mapping[str, Course], links: Links, stage: str) -> dict[str, Course]:
    """The tables with rows moved to the nearest that obey the rules, where that is possible.

    Parameters
    ----------
    links
        Of the rows that came in.
    stage
        Name under which it is told what was done.
    """
    if not rules.rules:
        return dict(courses)
    records = {name: course.records for name, course in courses.items()}
    rows = DependentRows(tables=records, links=links.taken({name: some.rows for name, some in records.items()}))
    after, facts = rules.repaired(rows)
    columns = rules.columns_moved(rows)
    kept = {}
    for name, course in courses.items():
        kept[name] = replace(course, records=after.tables[name])
        if name in facts:
            kept[name] = kept[name].with_account(stage, facts[name], columns.get(name, ()))
    return kept


def checked(rules: RulesOverRows, released: Mapping[str, Records], links: Links) -> list[Verdict]:
    """One verdict for each rule on released tables. `links`: of the released rows."""
    return rules.check(DependentRows(tables=released, links=links)) if rules.rules else []


def as_known(
    rules: RulesOverRows, written: Mapping[str, Records], filled: Mapping[str, Records] | None, links: Links
) -> Iterator[Mapping[str, Records]]:
    """Released tables as written, as each fills itself in, and with the cells filled in that the rules determine.

    `filled`: None where no table fills itself in.
    """
    yield written
    if filled is not None:
        yield filled
    for tables in (written, *(() if filled is None else (filled,))) if rules.rules else ():
        rows = DependentRows(tables=tables, links=links)
        if not all(records.complete_in(records.names()) for records in tables.values()):
            after = rules.deduced(rows)
            if after is not rows:
                yield after.tables
