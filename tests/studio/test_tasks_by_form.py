"""Tasks of sdcApp and ARX whose place is a form: each is clicked through, and what came of it is looked at."""

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.table.files.table import Table
from shoal.table.files.tables import read_table, write_table
from studio.pages import IN_A_BROWSER, another, go, right, run, show_plan, visit
from studio.running import Running, opened
from studio.test_stories import add, changed, fill, tick

pytestmark = IN_A_BROWSER

N = 72
TALL = {"viewport": {"width": 1600, "height": 2400}}


def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    town = ["Arles"] * 30 + ["Bonn"] * 28 + ["Cadiz"] * 13 + ["Delft"]
    return pl.DataFrame(
        {
            "file_no": [f"F{1000 + i}" for i in range(N)],
            "region": ["north", "south", "west"] * (N // 3),
            "age": rng.integers(18, 80, N),
            "town": town,
            "mayor": [{"A": "Ada", "B": "Bo", "C": "Cy", "D": "Di"}[name[0]] for name in town],
            "seen": [f"2024-0{1 + i % 9}-1{i % 7}" for i in range(N)],
            "income": rng.lognormal(8, 1, N).round(2),
            "rent": rng.lognormal(6, 0.5, N).round(2),
            "ill": [["no", "yes", "once"][i // 3 % 3] for i in range(N)],
        }
    )


@pytest.fixture(scope="module")
def desk(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder = tmp_path_factory.mktemp("by-form")
    people().write_csv(folder / "people.csv")
    pl.concat([people()] * 3).write_csv(folder / "population.csv")
    return opened(shared, folder / "people.csv")


def planned(studio: Running, roles: dict[str, Any], **sections: Any) -> None:
    """A plan with these roles, and all other columns taken out."""
    columns = {name: roles.get(name, "identifier") for name in people().columns}
    plan = {"columns": columns, "steps": [], "accept": list(roles), **sections}
    studio.act("edit", text=json.dumps(plan))


def choose(page: Any, card: Any, label: str, value: str) -> None:
    """Choose a setting, and wait until the plan has it."""
    before = page.locator(".cm-content").inner_text()
    card.get_by_label(label, exact=True).select_option(value)
    changed(page, before)


def pairs(studio: Running, number: int) -> dict[str, list[tuple[str, str | None]]]:
    """By column the cells before and after, record by record."""
    pages = [studio.ask("pairs", {"run": number, "offset": offset})[1] for offset in range(0, N, 50)]
    rows = [row["cells"] for page in pages for row in page["rows"]]
    assert len(rows) == N
    return {name: [tuple(cell) for cell in cells] for name, cells in zip(pages[0]["columns"], zip(*rows))}


def measures(studio: Running, number: int) -> dict[str, Any]:
    return {one["title"]: one for one in studio.ask("result", {"run": number})[1]["measures"]}


def test_masks_and_settings_of_a_replacement(browser: Any, desk: Running) -> None:
    """sdcApp: strata, random ids, top and bottom coding, medians and trimmed means, ghost variables."""
    keys = {"age": {"role": "quasi-identifier"}, "town": "quasi-identifier", "mayor": "quasi-identifier"}
    planned(desk, {"file_no": "other", "region": "other", **keys, "income": "confidential", "rent": "confidential"})
    with visit(browser, desk, another(desk), **TALL) as page:
        page.wait_for_selector("nav")
        show_plan(page)
        page.select_option("[aria-label='Role of region']", "stratum")
        page.wait_for_selector(".top [title='region: role stratum']", state="attached")
        go(page, "Steps")
        pseudonyms = add(page, "Steps", "Pseudonymisation by keyed hash")
        tick(page, pseudonyms, "file_no")
        fill(page, pseudonyms, "length", "12")
        for title in ("Top coding", "Bottom coding"):
            card = add(page, "Steps", title)
            tick(page, card, "income")
            for of in card.locator("[aria-label$=' of every column']").all():  # a beginning of its own makes room
                of.fill("")
                of.press("Tab")
            fill(page, card, "quantile of the other name", "0.9" if title == "Top coding" else "0.1")
        for column, middle in (("rent", "median"), ("age", "mean")):
            card = add(page, "Steps", "MDAV")
            tick(page, card, column)
            choose(page, card, "replace", "centroid")
            card.locator("summary:has-text('Settings of centroid')").click()
            choose(page, card, "continuous", middle)
        blanks = add(page, "Steps", "Local suppression")
        tick(page, blanks, "town", "mayor")
        fill(page, blanks, "k", "2")
        right(page)
        run(page, 1)
    of = pairs(desk, 1)
    assert all(len(str(code)) == 12 for _, code in of["file_no"])
    assert len({code for _, code in of["file_no"]}) == N
    incomes = [float(str(after)) for _, after in of["income"]]
    before = [float(cell) for cell, _ in of["income"]]
    assert min(before) < min(incomes) == pytest.approx(np.quantile(before, 0.1), rel=0.1)
    assert max(before) > max(incomes) == pytest.approx(np.quantile(before, 0.9), rel=0.1)
    groups: dict[Any, list[float]] = defaultdict(list)
    regions: dict[Any, set[Any]] = defaultdict(set)
    for (rent, group), (_, region) in zip(of["rent"], of["region"]):
        groups[group].append(float(rent))
        regions[group].add(region)
    assert all(len(of_one) == 1 for of_one in regions.values())  # groups stay inside their stratum
    assert all(statistics.median(rents) == pytest.approx(float(group), abs=0.01) for group, rents in groups.items())
    blanked = [(town, mayor) for (_, town), (_, mayor) in zip(of["town"], of["mayor"]) if None in (town, mayor)]
    assert blanked
    assert set(blanked) == {(None, None)}  # who the mayor is would give the town back


MEASURES = (
    "Interval disclosure",
    "Interval disclosure weighted by outlyingness",
    "Absolute change of values (IL1s)",
    "Change of the correlation matrix's eigenvalues",
    "Records unique in the population",
    "Marketer risk",
)


def test_measures_are_added_and_taken(browser: Any, desk: Running) -> None:
    """sdcApp: interval and robust risk, IL1s, eigenvalues. ARX: classification, risks, population uniques."""
    roles = {"age": "quasi-identifier", "income": "quasi-identifier", "rent": "confidential", "ill": "confidential"}
    planned(desk, roles, steps=[{"partition": "mdav", "k": 4}], requirements=[{"privacy": "k-anonymity", "k": 4}])
    with visit(browser, desk, another(desk), **TALL) as page:
        page.wait_for_selector("nav")
        show_plan(page)
        go(page, "Steps")
        for title in MEASURES:
            card = add(page, "More measures", title)
            if title == "Records unique in the population":
                fill(page, card, "population", "500")
        card = add(page, "More measures", "Train on the release, test on the original")
        choose(page, card, "target needed", "ill")
        choose(page, card, "model", "linear")
        right(page)
        page.click(".top >> text=Run")
        page.wait_for_selector("main table.measures")
        shown = page.locator("main table.measures tbody th").all_inner_texts()
    number = desk.idle()["runs"][-1]["number"]
    of = measures(desk, number)
    for title in (*MEASURES, "Train on the release, test on the original"):
        assert any(text.startswith(title) for text in shown), title
        figures = [one["value"] for name, one in of.items() if name.startswith(title)]  # settings stand behind it
        assert figures, title
        assert all(isinstance(figure, (int, float)) for figure in figures), title
    assert of["Absolute change of values (IL1s)"]["value"] > 0
    assert of["Marketer risk"]["value"] <= 1 / 4 < of["Marketer risk"]["original"]


BUILT = {
    "age": ("intervals", "10, 20", "[20, 40)"),
    "town": ("prefix", "1", "A****"),
    "seen": ("dates", "", "2024-03"),
    "ill": ("order", "2", "no to once"),
}
"""By column how its hierarchy is built, with what sizes, and a label that it then has."""


def test_hierarchies_are_built_and_climbed(browser: Any, desk: Running) -> None:
    """ARX: intervals, masking, order and dates; coding model, attribute weights, suppression limit."""
    planned(desk, dict.fromkeys(BUILT, "quasi-identifier") | {"rent": "confidential"}, requirements=[])
    with visit(browser, desk, another(desk), **TALL) as page:
        page.wait_for_selector("nav")
        show_plan(page)
        go(page, "Hierarchies")
        for column, (how, sizes, label) in BUILT.items():
            page.get_by_label("Column", exact=True).select_option(column)
            page.select_option("text=from >> xpath=..//select", how)
            if sizes:
                page.locator(".card:has(h2:text-is('Build one')) input").fill(sizes)
            page.click("button:text-is('Build')")
            page.wait_for_selector(f".levels li span:text-is('{label}')")
        go(page, "Columns")
        weigh(page, "age", "4")
        go(page, "Steps")
        with page.expect_response("**/api/beginnings"):  # which a run would end
            card = add(page, "Steps", "Generalisation")
        tick(page, card, *BUILT)
        fill(page, card, "k needed", "3")
        choose(page, card, "recoding", "local")
        fill(page, card, "suppression", "0.1")
        add(page, "Requirements", "k-anonymity")
        fill(page, page.locator(".card:has(h3 > code:text-is('k-anonymity'))"), "k needed", "3")
        right(page)
        page.click(".top >> text=Run")
        page.wait_for_selector("main .verdict:not(.fails)")
    state = desk.idle()
    step = state["tree"]["steps"][0]
    assert (step["recoding"], step["suppression"]) == ("local", 0.1)
    assert state["tree"]["columns"]["age"]["weight"] == 4
    number = state["runs"][-1]["number"]
    pages = [desk.ask("rows", {"run": number, "offset": offset})[1] for offset in range(0, N, 50)]
    rows = [row for page in pages for row in page["rows"]]
    assert N * 0.9 <= len(rows) == pages[0]["of"]
    keys = [[row[pages[0]["columns"].index(name)] for name in BUILT] for row in rows]
    assert min(keys.count(key) for key in keys) >= 3


def weigh(page: Any, column: str, weight: str) -> None:
    row = page.locator(f".column:has(.name strong:text-is('{column}'))")
    row.locator("summary:has-text('Why, and more')").click()
    fill(page, row, "weight", weight)


MODELS = {
    "k-anonymity": ("k-anonymity", {"k needed": "3"}),
    "l-diversity": ("l-diversity", {"l needed": "2"}),
    "t-closeness": ("t-closeness", {"t needed": "0.6"}),
    "delta-disclosure privacy": ("delta-disclosure", {"delta needed": "3"}),
    "beta-likeness": ("beta-likeness", {"beta needed": "3"}),
    "k-map": ("k-map", {"k needed": "3", "population": "population.csv"}),
}
"""By title the name of a model, and what is filled in."""


def test_every_privacy_model_is_required_and_proved(browser: Any, desk: Running) -> None:
    """ARX: k, l, t, delta, beta, k-map; then differential privacy of a column with noise."""
    roles = {"region": "quasi-identifier", "ill": "confidential"}
    planned(desk, roles, steps=[{"mask": "suppress", "k": 3}], requirements=[])
    with visit(browser, desk, another(desk), **TALL) as page:
        page.wait_for_selector("nav")
        show_plan(page)
        go(page, "Steps")
        for title, (name, settings) in MODELS.items():
            add(page, "Requirements", title)
            card = page.locator(f".card:has(h3 > code:text-is('{name}'))")
            for label, value in settings.items():
                if card.get_by_label(label, exact=True).input_value() != value:
                    fill(page, card, label, value)
        right(page)
        page.click(".top >> text=Run")
        page.wait_for_selector("main .verdict:not(.fails)")
        assert page.locator(".proofs li.holds").count() == len(MODELS)
        planned(desk, {"income": "confidential"}, requirements=[])
        go(page, "Steps")
        page.wait_for_selector("text=No step yet")
        with page.expect_response("**/api/beginnings"):
            noise = add(page, "Steps", "Laplace noise (differential privacy)")
        tick(page, noise, "income")
        fill(page, noise, "epsilon needed", "1")
        noise.get_by_label("bounds: another name", exact=True).fill("income")
        fill(page, noise, "bounds of the other name", "0, 60000")
        card = add(page, "Requirements", "Differential privacy")
        fill(page, card, "epsilon needed", "1")
        right(page)
        page.click(".top >> text=Run")
        page.wait_for_selector(".proofs li.holds:has-text('differential')")
    result = desk.ask("result", {"run": desk.idle()["runs"][-1]["number"]})[1]
    assert result["released"]


@pytest.mark.parametrize("ending", ["dta", "xpt", "xlsx", "parquet"])
def test_files_of_other_programs_are_opened(browser: Any, fresh: Running, tmp_path: Path, ending: str) -> None:
    """Stata, SAS, Excel and Parquet, dropped on the first screen; labels come along where the format has them."""
    table = people().select("region", "age", "rent").head(20)
    write_table(Table(frame=table, labels={"rent": "rent a month"}), tmp_path / f"people.{ending}")
    with visit(browser, fresh, another(fresh)) as page:
        page.set_input_files(".drop input", tmp_path / f"people.{ending}")
        page.wait_for_selector(".column .name strong:text-is('rent')")
        assert page.locator(".column .name strong").all_inner_texts() == table.columns
        assert (page.locator(".column >> text=rent a month").count() == 1) == (ending in ("dta", "xpt"))
    rows = fresh.ask("rows")[1]["rows"]
    assert [float(row[2]) for row in rows] == table["rent"].to_list()
    assert [row[0] for row in rows] == table["region"].to_list()


def test_a_file_of_r_comes_in_and_goes_out(browser: Any, fresh: Running, tmp_path: Path) -> None:
    """A factor, a label and a missing number, dropped as .rds; then a release as .rds, in the format of the draft."""
    frame = people().select("region", "rent").with_columns(pl.col("region").cast(pl.Categorical)).head(20)
    frame = frame.with_columns(rent=pl.when(pl.int_range(pl.len()) > 0).then("rent"))
    write_table(Table(frame=frame, labels={"rent": "rent a month"}), tmp_path / "people.rds")
    with visit(browser, fresh, another(fresh)) as page:
        page.set_input_files(".drop input", tmp_path / "people.rds")
        page.wait_for_selector(".column >> text=rent a month")
        show_plan(page)
        assert page.locator(".column .name strong").all_inner_texts() == frame.columns
        assert [row[0] for row in fresh.ask("rows")[1]["rows"]] == frame["region"].to_list()
        assert fresh.ask("state")[1]["tree"]["output"] == {"format": "rds"}
        plan = {"columns": {"region": "quasi-identifier", "rent": "identifier"}, "steps": []}
        fresh.act("edit", text=json.dumps({**plan, "requirements": [{"privacy": "k-anonymity", "k": 2}]}))
        page.wait_for_selector(""".cm-content:has-text('"rent": "identifier"')""", state="attached")
        go(page, "Steps")
        choose(page, page.locator("section:has(> h2:text-is('Output'))"), "format", "rds")
        run(page, 1)
        go(page, "Export")
        page.get_by_label("Folder to write").fill(str(tmp_path / "out"))
        page.click("text=Write the release")
        page.wait_for_selector("text=Written and proved again")
    back = read_table(tmp_path / "out" / "release" / "data.rds")
    assert back.frame["region"].dtype == pl.Categorical
    assert sorted(back.frame["region"].to_list()) == sorted(frame["region"].to_list())
