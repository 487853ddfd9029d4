"""A wide table by keyboard: any column, screen or action by its name; several columns changed in one of their rows."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from studio.pages import IN_A_BROWSER, another, barriers, settled, visit
from studio.running import Running, opened

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def wide(shared: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    folder = tmp_path_factory.mktemp("wide")
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({f"item {i:02}": rng.integers(0, 5 + i, 120) for i in range(1, 25)})
    frame.write_csv(folder / "wide.csv")
    return opened(shared, folder / "wide.csv")


def test_the_role_of_a_column_takes_a_handful_of_keys(browser: Any, wide: Running) -> None:
    """It was 79 tabs away."""
    with visit(browser, wide, another(wide)) as page:
        page.wait_for_selector(".exposure .big")
        page.keyboard.press("Control+k")
        page.wait_for_selector("dialog.palette [role=option]")
        page.keyboard.type("18 other")
        page.wait_for_selector("[role=option][aria-selected=true]:has-text('item 18: role other')")
        assert barriers(page) == []
        page.keyboard.press("Enter")
        page.wait_for_selector(".top [title='item 18: role other']", state="attached")
        page.keyboard.press("Control+k")
        page.keyboard.type("compare")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Compare')")
        page.keyboard.press("Control+k")
        page.keyboard.type("item 18 row")
        page.keyboard.press("Enter")
        page.wait_for_selector("[aria-label='Role of item 18']:focus")
        page.keyboard.press("Control+k")
        page.keyboard.type("no such thing")
        page.wait_for_selector("dialog >> text=Nothing is called so.")
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog.palette[open]", state="detached")


def test_several_columns_are_changed_in_one_of_their_rows(browser: Any, wide: Running) -> None:
    with visit(browser, wide, another(wide)) as page:
        page.wait_for_selector(".exposure .big")
        for name in ("item 03", "item 05", "item 07"):
            page.check(f"[aria-label='Choose {name}']")
        page.wait_for_selector("text=3 columns chosen")
        page.evaluate("scrollTo(0, 0)")  # what the bar on top covers is no target
        assert barriers(page) == []
        page.select_option("[aria-label='Level of item 05']", "ordinal")
        page.wait_for_selector(".top [title='3 columns: level ordinal']", state="attached")
        page.select_option("[aria-label='Role of item 05']", "other")
        page.wait_for_selector(".top [title='3 columns: role other']", state="attached")
        tree = wide.ask("state")[1]["tree"]["columns"]
        assert [tree[name] for name in ("item 03", "item 05", "item 07")] == [{"role": "other", "level": "ordinal"}] * 3
        page.select_option("[aria-label='Role of item 09']", "identifier")  # not chosen, so alone
        page.wait_for_selector(".top [title='item 09: role identifier']", state="attached")
        settled(page)
        row = page.locator(".column:has([aria-label='Role of item 09'])")
        assert "is taken out" in row.inner_text()
        assert page.locator(".column >> text=mdav + centroid").count() > 0  # what the plan does to the keys
