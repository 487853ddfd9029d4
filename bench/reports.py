"""Reports to be looked at: six releases as people make them, and a refusal, under light, dark, narrow, paper and grey.

    python bench/reports.py FOLDER [NAME ...]

Writes `FOLDER/NAME/` for each release, the refusal's page and a dossier, and, where Playwright and Chromium are there,
pictures `FOLDER/NAME-*.png` and `FOLDER/NAME.pdf` of both reports.
"""

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import shoal
from shoal.release import NotProved
from shoal.table.examples import PLAN
from shoal.table.files.table import Table

Made = tuple[pl.DataFrame, dict[str, Any], Table | None]
ABOUT = {"owner": "Department of statistics", "date": "2026-11-22", "valid_until": "2031-12-31"}
SCREENS = {
    "wide-light": (1200, "light"),
    "wide-dark": (1200, "dark"),
    "narrow": (360, "light"),
    "middle": (500, "dark"),
}


def household_survey() -> Made:
    """Persons in households, with weights, coded answers and their labels; cells suppressed."""
    rng = np.random.default_rng(11)
    homes = np.repeat(np.arange(1_200), rng.integers(1, 6, 1_200))
    n = len(homes)
    frame = pl.DataFrame(
        {
            "household": homes,
            "weight": np.round(rng.uniform(80, 420, n), 1),
            "region": rng.integers(1, 9, 1_200)[homes],
            "size": np.bincount(homes)[homes],
            "sex": rng.integers(1, 3, n),
            "age": np.clip(rng.integers(0, 10, n) + rng.integers(0, 8, n), 0, 15),
            "status": rng.choice([1, 2, 3, 4, 5], n, p=[0.45, 0.2, 0.2, 0.1, 0.05]),
            "tenure": rng.choice([1, 2, 3], 1_200, p=[0.5, 0.4, 0.1])[homes],
            "income": np.round(rng.lognormal(7.4, 0.6, n), 0),
        }
    )
    labels = {
        "sex": {1: "male", 2: "female"},
        "status": {
            1: "employed",
            2: "unemployed or looking for a first job",
            3: "retired",
            4: "in education",
            5: "other",
        },
        "tenure": {1: "owner", 2: "tenant or subtenant, at the market's price", 3: "free of charge"},
    }
    keys = ("region", "size", "sex", "age", "status", "tenure")
    plan = {
        "columns": {
            "household": "household",
            "weight": "weight",
            **{name: {"role": "quasi-identifier", "level": "nominal"} for name in keys},
            "income": {"role": "confidential", "label": "net income a month"},
        },
        "steps": [{"mask": "suppress", "k": 3, "importance": {"age": 3, "region": 2}}],
        "requirements": [{"privacy": "k-anonymity", "k": 3, "missing": "wildcard"}],
        "release": {
            "title": "Household survey 2026, scientific use",
            "audience": "researchers under contract",
            **ABOUT,
        },
    }
    return frame, plan, Table(frame=frame, labels={"age": "age in bands of five years"}, value_labels=labels)


def synthetic_hospital() -> Made:
    """A hospital's discharges, drawn anew from a model in groups of forty."""
    columns = {name: role for name, role in PLAN["columns"].items() if name in ("age", "sex", "los", "charge", "crp")}
    plan = {
        "columns": {**columns, "los": "quasi-identifier"},
        "steps": [{"partition": "whole", "columns": list(columns), "replace": "cart"}],
        "release": {
            "title": "Discharges 2025, synthetic",
            "audience": "teaching",
            "purpose": "To teach with.",
            **ABOUT,
        },
    }
    return shoal.example("hospital", n=1_500, seed=4).select(*plan["columns"]), plan, None


def public_use_file() -> Made:
    """A file for everybody: recoded, generalised, and sampled; with limits on risk and loss, all of which hold."""
    frame = shoal.example("hospital", n=4_000, seed=5).select("age", "sex", "area", "diagnosis", "payer", "los")
    columns = {name: PLAN["columns"][name] for name in ("area", "diagnosis")}
    known = {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20, 40]}},
        "sex": {"role": "quasi-identifier", "hierarchy": {"nested": {"any": ["female", "male"]}}},
        "payer": {"role": "quasi-identifier", "hierarchy": {"nested": {"any": ["statutory", "private", "self"]}}},
    }
    plan = {
        "columns": {**columns, **known, "los": "confidential"},
        "steps": [
            {"mask": "sample", "fraction": 0.5},
            {"mask": "recode", "columns": ["los"], "cuts": [2, 5, 10, 20]},
            {"mask": "generalise", "columns": ["age", "sex", "area", "payer"], "k": 10, "suppression": 0.02},
        ],
        "requirements": [
            {"privacy": "k-anonymity", "k": 10},
            {"privacy": "l-diversity", "l": 2},
            {"risk": "prosecutor", "at most": 0.1},
            {"risk": "distance-linkage", "at most": 0.05},
            {"utility": "label-loss", "at most": 0.5},
        ],
        "release": {"title": "Public use file of discharges", "audience": "the public", **ABOUT},
    }
    return frame, plan, None


def twelve_records() -> Made:
    """As few records as a club has."""
    frame = pl.DataFrame({"age": [23, 25, 31, 34, 36, 41, 44, 47, 52, 58, 63, 71], "fee": [20, 35, 30, 45] * 3})
    plan = {
        "columns": {"age": {"role": "quasi-identifier", "decimals": 0}, "fee": "confidential"},
        "steps": [{"partition": "mdav", "k": 3, "replace": "centroid"}],
        "requirements": [{"privacy": "k-anonymity", "k": 3}],
    }
    return frame, plan, None


def million_records() -> Made:
    """Five measurements of a million."""
    rng = np.random.default_rng(6)
    base = rng.normal(size=1_000_000)
    frame = pl.DataFrame({name: base * w + rng.normal(size=1_000_000) for name, w in zip("abcde", (1, 0.5, 0.2, 0, 2))})
    plan = {
        "columns": {**dict.fromkeys("abc", "quasi-identifier"), **dict.fromkeys("de", "confidential")},
        "steps": [{"partition": "mdav", "k": 10, "block_size": 50_000}],
        "requirements": [{"privacy": "k-anonymity", "k": 10}],
        "release": {"title": "A million measurements", **ABOUT},
    }
    return frame, plan, None


def refused() -> Made:
    """A plan whose step does not reach what it requires."""
    plan = {**PLAN, "requirements": [{"privacy": "k-anonymity", "k": 12}, {"privacy": "t-closeness", "t": 0.2}]}
    return shoal.example("hospital", n=1_000, seed=1), {**plan, "release": {"title": "Discharges 2025", **ABOUT}}, None


RELEASES: Mapping[str, Callable[[], Made]] = {
    "survey": household_survey,
    "synthetic": synthetic_hospital,
    "puf": public_use_file,
    "twelve": twelve_records,
    "million": million_records,
    "refused": refused,
}


def written(name: str, folder: Path) -> Iterator[Path]:
    """The pages of one of the releases."""
    frame, plan, labels = RELEASES[name]()
    try:
        release = shoal.protect(frame, plan, seed=1 << 70)
    except NotProved as refusal:
        page = folder / f"{name}.html"
        page.write_text(refusal.page(), encoding="utf-8")
        yield page
        return
    out = release.write(folder / name, overwrite=True, labels=labels, unproved=True)
    shoal.dossier(out).write(folder / f"{name}-dossier.docx")
    yield from (out / part / "report.html" for part in ("release", "private"))
    yield shoal.dossier(out).write(folder / f"{name}-dossier.html")


def photographed(pages: list[Path], folder: Path) -> None:
    """Pictures of pages as screens and paper show them."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for page in pages:
            stem = "-".join(page.relative_to(folder).with_suffix("").parts)
            for screen, (width, scheme) in SCREENS.items():
                view = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
                view.goto(page.resolve().as_uri())
                view.screenshot(path=folder / f"{stem}-{screen}.png", full_page=True)
                if screen == "wide-light":
                    view.pdf(path=folder / f"{stem}.pdf", format="A4")
                    view.emulate_media(media="print")
                    view.set_viewport_size({"width": 794, "height": 1123})
                    view.add_style_tag(content="html { filter: grayscale(1) }")
                    view.screenshot(path=folder / f"{stem}-grey.png", full_page=True)
                view.close()
        browser.close()


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or list(RELEASES):
        pages = list(written(name, folder))
        print(name, *pages)
        photographed(pages, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
