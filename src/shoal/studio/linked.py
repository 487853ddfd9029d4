"""Several linked tables in the studio: what is shown of them, their links as the plan has them, and a run on all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.desk.assess import assess
from shoal.desk.frontier.of_tables import linked_unprotected
from shoal.desk.linked import protect_linked
from shoal.desk.preparing import in_words
from shoal.plan import Plan
from shoal.plan.draft import described_columns, key_text
from shoal.plan.guess import guess
from shoal.plan.linked import LinkedPlan
from shoal.plan.linked_draft import linked_plan_text
from shoal.plan.linked_guess import Hanging, guess_links
from shoal.release.evidence_file import private_evidence
from shoal.release.linked import LinkedRelease
from shoal.report.became import became
from shoal.report.evidence import EvidenceFile
from shoal.report.headlines import main_measure
from shoal.run.linked import links_of, with_persons
from shoal.studio import profile
from shoal.studio.arguments import Answer
from shoal.studio.beginnings import SEED
from shoal.studio.kept import Kept
from shoal.studio.plans import Place, Problem, ReadPlan
from shoal.studio.worker import Report
from shoal.table.files.table import Table
from shoal.table.links import Links
from shoal.vocabulary.errors import DataError, InputError, printable, quoted

Tables = Mapping[str, Table]
"""Tables by name; one that is alone has the empty name."""

Link = Mapping[str, str | None]
"""What links a table: `key`, `parent` and `link`."""

ALONE = "A plan for one table has no section 'tables'. Open all files at once, or their folder."

OF_SEVERAL = "Several tables are open, so the plan needs the section 'tables'. Undo, or open one table alone."


def facts_and_draft(
    tables: Tables, source: str, files: Mapping[str, str], preparations: Sequence[Answer] = ()
) -> Answer:
    """Facts about several tables and the guessed plan for them.

    Where no links are seen that make all tables hang on one, the plan has none, and says what to do.

    Parameters
    ----------
    files
        Name of the file of each table.
    preparations
        What was done to the tables since they were read (`shoal.desk.preparing`).
    """
    guessed, apart = _guessed(tables)
    text = _without_links(tables, files, apart) if apart else linked_plan_text(tables, files)
    each = {name: profile.facts(table, files[name]) for name, table in tables.items()}
    facts = {
        "rows": sum(of["rows"] for of in each.values()),
        "source": source,
        "notes": [],
        "columns": [],
        "tables": each,
        "prepared": list(preparations),
        "prepared in words": [in_words(each) for each in preparations],
        **guessed,
    }
    return {"facts": facts, "text": text}


def look(tables: Tables, source: str, files: Mapping[str, str]) -> Answer:
    """Several tables before they are opened: of each its columns and first rows, and how they seem to hang together."""
    guessed, apart = _guessed(tables)
    each = {name: {"file": files[name], **profile.look(table)} for name, table in tables.items()}
    return {"source": source, "tables": each, "apart": apart, **guessed}


def _guessed(tables: Tables) -> tuple[Answer, str]:
    """The links that are guessed between tables, with reasons; and why none are, where they do not hang together."""
    try:
        hanging, apart = guess_links({name: table.frame for name, table in tables.items()}), ""
    except DataError as error:
        hanging, apart = Hanging(tables={}, left_out={}), str(error)
    links = {name: one.key for name, one in hanging.tables.items()}
    return {
        "reasons": {name: one.reason for name, one in hanging.tables.items()},
        "left out": dict(hanging.left_out),
        "guessed": {name: {"key": one.key, "parent": one.parent, "link": one.link} for name, one in links.items()},
    }, apart


def _without_links(tables: Tables, files: Mapping[str, str], why: str) -> str:
    """The text of a plan for tables between which no links are seen."""
    lines = [f"# {printable(why)}", "tables:"]
    for name, table in tables.items():
        lines += [f"  {key_text(name)}:", f"    file: {key_text(files[name])}", "    columns:"]
        lines += [f"    {line}" for line in described_columns(guess(table))]
    return "\n".join([*lines, ""])


def for_open_tables(read: ReadPlan, names: list[str]) -> ReadPlan:
    """A plan that was read, with a mistake if it is not for the tables that are open.

    `names`: of several open tables; empty for one that is alone.
    """
    place: Place = ("tables",)
    if read.plan is not None and names:
        return replace(read, plan=None, mistakes=(Problem(sentence=OF_SEVERAL),))
    if read.linked is None:
        return read
    if not names:
        return replace(read, linked=None, mistakes=(Problem(sentence=ALONE, place=place),))
    if absent := [name for name in read.linked.keys if name not in names]:
        sentence = f"tables: {quoted(absent)} {'is' if len(absent) == 1 else 'are'} not open; open are {quoted(names)}."
        return replace(read, linked=None, mistakes=(Problem(sentence=sentence, place=(*place, absent[0])),))
    return read


MOST_PERSONS = 150
"""Persons, at most, on whom a step of the whole plan is tried."""


class LinkedTables:
    """Several tables whose rows hang together as a plan says; what links them is kept."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._links: Kept[Links] = Kept()

    def links(self, plan: LinkedPlan) -> Links:
        """The links between the tables of a plan. Raises DataError if they do not hang together."""
        return self._links.of((), plan.keys, lambda: links_of({name: self.tables[name] for name in plan.keys}, plan))

    def counted(self, plan: LinkedPlan) -> Answer:
        """By table of a plan its rows, and the persons whom they are of; or why the tables do not hang together."""
        try:
            links = self.links(plan)
        except DataError as error:
            return {"refused": str(error)}
        persons = {name: len(np.unique(numbers)) for name, numbers in links.persons.items()}
        return {"tables": {name: {"rows": size, "persons": persons[name]} for name, size in links.sizes.items()}}

    def of_persons(self, plan: LinkedPlan, name: str) -> tuple[Table, Plan]:
        """One of the tables with the number of each row's person in place of its keys, and its own plan."""
        if name not in plan.keys or name not in self.tables:
            raise InputError(f"Table '{name}' is not in the plan. Give it a place there, or look at another one.")
        _refuse_made_up(plan)
        table: Table = with_persons(self.tables[name], plan, self.links(plan), name)
        return table, plan.tables[name]

    def of_some_persons(self, plan: LinkedPlan, most: int) -> dict[str, Table]:
        """The tables of a plan with all rows of some of the persons."""
        _refuse_made_up(plan)
        links = self.links(plan)
        people = pl.int_range(links.sizes[plan.root], eager=True)
        drawn = people.sample(min(most, len(people)), seed=SEED).to_numpy()
        frames = {name: self.tables[name].frame.filter(np.isin(links.persons[name], drawn)) for name in plan.keys}
        return {name: replace(self.tables[name], frame=frame) for name, frame in frames.items()}


def _refuse_made_up(plan: LinkedPlan) -> None:
    if plan.synthesis is not None:
        raise InputError(
            "Persons are made up with all their rows, so that no row stands for one. Result has the risks."
        )


def exposed(tables: Tables, plan: LinkedPlan) -> Answer:
    """How exposed persons are by all their rows if nothing is done: how many there are, are alone, and are guessed."""
    some = {name: tables[name] for name in plan.keys}
    shares = _figures(some, linked_unprotected(_measuring(plan, "sample-uniques")).plan)
    persons = len(some[plan.root].frame)
    return {"persons": persons, "unique": shares.get("sample-uniques"), "guessed": shares.get("marketer")}


def persons_previewed(tables: LinkedTables, plan: LinkedPlan, step: int) -> Answer:
    """What the steps of the whole plan do to persons, up to one of them, after the steps of each table.

    The share of the persons who are alone by all their rows, before and after, and the information kept, of some
    persons with all their rows, so that the answer comes at once.

    Raises InputError if the plan has no such step, makes persons up, or cannot be carried out.
    """
    if not 0 <= step < len(plan.steps):
        raise InputError("The plan has no such step.")
    some = tables.of_some_persons(plan, MOST_PERSONS)
    only = _measuring(replace(plan, steps=plan.steps[: step + 1]), "sample-uniques", "information-kept")
    after = _figures(some, only)
    return {
        "persons": len(some[plan.root].frame),
        "of": len(tables.tables[plan.root].frame),
        "unique": [exposed(some, plan)["unique"], after.get("sample-uniques")],
        "kept": after.get("information-kept"),
    }


def _measuring(plan: LinkedPlan, risk: str, utility: str = "") -> LinkedPlan:
    """A plan that requires nothing and takes some measures over all tables."""
    mapping = plan.as_mapping()
    for section in ("explore", "requirements", "for", "synthesis", "ledger", "constraints"):
        mapping.pop(section, None)
    taken = [{"risk": risk}, *([{"utility": utility}] if utility else [])]
    return LinkedPlan.of({**mapping, "measures": taken}, plan.folder)


def _figures(tables: Tables, plan: Plan | LinkedPlan) -> dict[str, float]:
    """The shares that a plan measures over all tables, by measure."""
    findings = assess(tables, plan, seed=0).findings
    return {one.measure: one.value for one in findings if isinstance(one.value, float)}


def relinked(tree: Mapping[str, Any], facts: Mapping[str, Any], name: str, own: Link) -> list[tuple[Place, Any]]:
    """Changes of a plan that give a table another key, parent and link, each a place and its value.

    Columns that are keys now are described no more, and those that are keys no longer are described as guessed.

    Raises InputError if a column or the table is not there.
    """
    before = tree.get("tables")
    described = before.values() if isinstance(before, Mapping) else [None]
    readable = all(isinstance(of, Mapping) and isinstance(of.get("columns") or {}, Mapping) for of in described)
    if not isinstance(before, Mapping) or not readable or name not in before or name not in facts["tables"]:
        raise InputError("The plan's text describes no such table; undo, and look at its text.")
    columns = [column["name"] for column in facts["tables"][name]["columns"]]
    if any(own.get(word) not in (None, *columns) for word in ("key", "link")):
        raise InputError(f"Table '{name}' has no column of that name. Choose one of its columns.")
    changed = [word for word in ("key", "parent", "link") if before[name].get(word) != own.get(word)]
    changes: list[tuple[Place, Any]] = [(("tables", name, word), own.get(word)) for word in changed]
    tables = {**before, name: {**before[name], **own}}
    for table, of in tables.items():
        keys, given = _key_columns(tables, table), of.get("columns") or {}
        guessed = {column["name"]: column for column in facts["tables"].get(table, {"columns": []})["columns"]}
        changes += [(("tables", table, "columns", column), None) for column in given if column in keys]
        for column in guessed.keys() - given.keys() - keys:
            role = {"role": guessed[column]["guess"], "level": guessed[column]["level"]}
            changes.append((("tables", table, "columns", column), role))
    return changes


def _key_columns(tables: Mapping[str, Mapping[str, Any]], name: str) -> set[str]:
    """Columns that a plan takes for keys in a table: its link, its key, and the keys of all tables above."""
    keys, seen, above = {tables[name].get("link")}, [], name
    while above in tables and above not in seen:
        seen.append(above)
        keys.add(tables[above].get("key"))
        above = tables[above].get("parent") or ""
    return {str(key) for key in keys if key is not None}


def run(tables: Tables, plan: LinkedPlan, seed: int, report: Report, after: Sequence[str]) -> LinkedRelease:
    """Carry a plan out on its tables, after earlier releases whose ledger it carries on."""
    return protect_linked({name: tables[name] for name in plan.keys}, plan, seed=seed, stage=report, after=after)


def evidence_of_each(release: LinkedRelease, tables: Tables) -> dict[str, EvidenceFile]:
    """The evidence of each released table."""
    return {
        name: private_evidence(of, labels=tables[name].value_labels, titles=tables[name].labels)
        for name, of in release.tables.items()
    }


def shown(of_each: Mapping[str, EvidenceFile]) -> list[Answer]:
    """What is shown of each released table."""
    return [
        {
            "name": name,
            "records": content["records"],
            "columns": content["columns"],
            "became": {one.name: one.words for one in became(content, main_measure(content, "utility"))},
            "measures": content["measures"],
            "requirements": content["requirements"],
        }
        for name, content in of_each.items()
    ]
