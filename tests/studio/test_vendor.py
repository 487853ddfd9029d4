"""Libraries of others: the files that vendor.json lists, each with its licence, importing nothing from elsewhere."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

import shoal

STATIC = Path(shoal.__file__).parent / "studio" / "static"
VENDORED = STATIC / "vendor"
FREE = {"MIT", "Apache-2.0"}
IMPORT = re.compile(r"""^\s*(?:import|export)\b[^;'"]*?\bfrom\s*["']([^"']+)["']""", re.M)


@pytest.mark.parametrize("folder", [VENDORED, Path(__file__).parent / "vendor"], ids=["studio", "tests"])
def test_every_file_is_the_one_that_is_listed(project: Path, folder: Path) -> None:
    spec = importlib.util.spec_from_file_location("vendor", project / "scripts" / "vendor.py")
    assert spec is not None
    assert spec.loader is not None
    vendor = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(vendor)
    assert vendor.differing(folder) == []


def test_every_library_of_the_package_has_a_free_licence_beside_it() -> None:
    for one in json.loads((VENDORED / "vendor.json").read_text()):
        assert one["licence"] in FREE, one["package"]
        name = one["package"].removeprefix("@").replace("/", "-")
        assert (VENDORED / f"{name}.LICENSE").is_file()


@pytest.mark.parametrize("path", sorted(STATIC.rglob("*.js")), ids=lambda p: p.name)
def test_every_import_is_a_file_of_the_studio(path: Path) -> None:
    for imported in IMPORT.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / imported).is_file(), imported


def test_the_whole_page_is_small() -> None:
    sizes = {kind: sum(path.stat().st_size for path in STATIC.rglob(f"*{kind}")) for kind in (".js", ".css")}
    assert sizes[".js"] < 1_300_000
    assert sizes[".css"] < 40_000
