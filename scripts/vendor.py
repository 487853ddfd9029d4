"""Renew and check the JavaScript libraries that the studio serves: `python scripts/vendor.py [--check]`.

Each is a file of a package of the npm registry, at the version below, fetched by npm itself. A browser takes ES modules
as they are; only the bare names in their imports become file names here, so there is no build step. vendor.json lists
version, licence and SHA-256 of every file; `--check` compares the files with it and needs no network.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
STUDIO = ROOT / "src" / "shoal" / "studio" / "static" / "vendor"
TESTS = ROOT / "tests" / "studio" / "vendor"

PACKAGES = {
    "preact": ("11.2.0", {"dist/preact.mjs": "preact", "hooks/dist/hooks.mjs": "preact/hooks"}),
    "htm": ("3.1.1", {"dist/htm.mjs": "htm"}),
    "@codemirror/state": ("6.7.6", {"dist/index.js": "@codemirror/state"}),
    "@codemirror/view": ("6.43.15", {"dist/index.js": "@codemirror/view"}),
    "@codemirror/language": ("6.13.1", {"dist/index.js": "@codemirror/language"}),
    "@codemirror/streamparser": ("6.0.0", {"dist/index.js": "@codemirror/streamparser"}),
    "@codemirror/commands": ("6.11.1", {"dist/index.js": "@codemirror/commands"}),
    "@codemirror/lang-yaml": ("6.1.3", {"dist/index.js": "@codemirror/lang-yaml"}),
    "@lezer/common": ("1.5.5", {"dist/index.js": "@lezer/common"}),
    "@lezer/highlight": ("1.2.5", {"dist/index.js": "@lezer/highlight"}),
    "@lezer/lr": ("1.4.12", {"dist/index.js": "@lezer/lr"}),
    "@lezer/yaml": ("1.0.4", {"dist/index.js": "@lezer/yaml"}),
    "style-mod": ("4.1.4", {"src/style-mod.js": "style-mod"}),
    "w3c-keyname": ("2.2.8", {"index.js": "w3c-keyname"}),
    "crelt": ("1.0.7", {"index.js": "crelt"}),
    "@marijn/find-cluster-break": ("1.0.4", {"src/index.js": "@marijn/find-cluster-break"}),
}
"""By package: its version, and the name under which each file of it is imported."""

FOR_TESTS = {"axe-core": ("4.14.1", {"axe.min.js": "axe"})}
"""What only the tests use; not part of the package."""

IMPORTED = re.compile(r"""(?P<before>\bfrom\s*)(?P<quote>['"])(?P<name>[@\w][\w@/.-]*)(?P=quote)""")


def file_name(imported: str) -> str:
    """`@codemirror/view` as a file: codemirror-view.js."""
    return imported.removeprefix("@").replace("/", "-") + ".js"


def with_file_names(text: str, known: set[str]) -> str:
    """A module whose imports name files beside it, without a pointer to a source map that is not served."""
    text = re.sub(r"\n?//# sourceMappingURL=\S+\s*$", "\n", text)

    def named(match: re.Match[str]) -> str:
        if match["name"] not in known:
            return match[0]
        return f"{match['before']}{match['quote']}./{file_name(match['name'])}{match['quote']}"

    return IMPORTED.sub(named, text)


def renew(packages: dict[str, tuple[str, dict[str, str]]], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    known = {name for _, files in packages.values() for name in files.values()}
    listed = []
    for package, (version, files) in packages.items():
        with TemporaryDirectory() as scratch:
            packed = subprocess.run(
                ["npm", "pack", "--silent", f"{package}@{version}"],
                cwd=scratch, capture_output=True, text=True, check=True,
            ).stdout.split()[-1]  # fmt: skip
            with tarfile.open(Path(scratch) / packed) as archive:
                archive.extractall(scratch, filter="data")
            root = Path(scratch) / "package"
            licence = json.loads((root / "package.json").read_text())["license"]
            (folder / f"{file_name(package)[:-3]}.LICENSE").write_bytes((root / "LICENSE").read_bytes())
            for source, imported in files.items():
                target = folder / file_name(imported)
                target.write_text(with_file_names((root / source).read_text(encoding="utf-8"), known), encoding="utf-8")
                digest = hashlib.sha256(target.read_bytes()).hexdigest()
                listed.append(
                    {"file": target.name, "package": package, "version": version, "licence": licence, "sha256": digest}
                )
    (folder / "vendor.json").write_text(json.dumps(listed, indent=2) + "\n")


def differing(folder: Path) -> list[str]:
    """Files that are not those that vendor.json lists, or that it does not list."""
    listed = {one["file"]: one["sha256"] for one in json.loads((folder / "vendor.json").read_text())}
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.js")}
    return sorted(name for name in listed.keys() | there.keys() if listed.get(name) != there.get(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare the files with vendor.json, and change nothing")
    if not parser.parse_args().check:
        renew(PACKAGES, STUDIO)
        renew(FOR_TESTS, TESTS)
    if wrong := [name for folder in (STUDIO, TESTS) for name in differing(folder)]:
        sys.exit(f"not as vendor.json says: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
