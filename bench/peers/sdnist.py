"""k-marginal, unique exact matches and inconsistent rows beside SDNist, on published submissions for national2019.

    python bench/peers/sdnist.py --national national2019.csv --submissions FOLDER

national2019 is the excerpt of the American Community Survey of the NIST Collaborative Research Cycle. FOLDER holds
submissions to it as NAME.csv, with the names below; those that are not there are left out. Their figures are those of
SDNist 2.5 run on the same files; the inconsistent rows are those of the published reports. DENSITY goes in in SDNist's
own twelve classes, and columns that SDNist leaves out for cells out of bounds are left out.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import shoal
from shoal.table.microdata import Microdata
from shoal.table.records import Records

NUMBERS = ("AGEP", "PINCP", "POVPIP", "PWGTP", "WGTP")
DENSITY_CLASSES = np.array([0.0, 150.0, *np.logspace(1, np.log10(52_864.7 + 500), 21)[8:]])

THEIRS: dict[str, tuple[float, int, int, tuple[str, ...], int]] = {
    "aim_e_10_all": (710.34, 27159, 0, (), 7301),
    "aindo_synth": (918.16, 27159, 10, ("INDP",), 8),
    "anonos_sdk": (894.77, 27159, 5, (), 0),
    "cart_cf21": (923.71, 25774, 654, (), 0),
    "genetic_sd_e_10_simple": (828.08, 25762, 5, (), 0),
    "k_anonymity_k_6": (907.26, 14918, 7073, (), 0),
    "mostlyai_sd_platform": (917.24, 27155, 5, ("INDP", "PINCP"), 53),
    "mwem_pgm": (827.76, 27159, 0, (), 0),
    "pategan_n_iter_50_e_10_all": (544.51, 27159, 0, (), 2394),
    "pram_default": (986.58, 14918, 10160, (), 1408),
    "sarus_sdg_demographic": (947.82, 14918, 2087, (), 437),
    "sdv_ctgan_epochs1000": (684.66, 27159, 0, (), 3135),
    "smote_target_marital": (916.66, 27159, 4219, (), 323),
    "subsample_40pcnt_all": (925.93, 27159, 10860, (), 0),
    "ydata_fabric_synthesizers": (814.19, 27159, 453, (), 0),
}
"""By submission: k-marginal, unique originals, those that stand in it, columns left out, rows inconsistent by age."""

RULES = (
    *(f"AGEP < 15 -> {name} == 'N'" for name in ("DVET", "MSP", "PINCP", "PINCP_DECILE", "INDP", "INDP_CAT")),
    "AGEP < 15 -> EDU != '12'",
    *(f"AGEP > 15 -> {name} != 'N'" for name in ("MSP", "PINCP", "PINCP_DECILE", "EDU", "DPHY", "DREM")),
    "AGEP < 5 -> DPHY == 'N'",
    "AGEP < 5 -> DREM == 'N'",
    "AGEP < 5 -> EDU in ('N', '1', '2', '3', '4')",
    "AGEP < 3 -> EDU == 'N'",
)
"""What SDNist calls inconsistent by age."""


def records(frame: pl.DataFrame, columns: list[str], numbers: tuple[str, ...]) -> Records:
    """A table as SDNist reads it: 'N' is missing in numbers and a category elsewhere; 7.0 is 7."""
    cells = []
    for name in columns:
        value = pl.col(name).cast(pl.Float64, strict=False)
        if name == "DENSITY":
            inside = value.clip(0.0, DENSITY_CLASSES[-1] - 100)
            density = frame.select(inside).to_series().to_numpy()
            cells.append(pl.Series(name, np.searchsorted(DENSITY_CLASSES, density).astype(str)))
        elif name in numbers:
            cells.append(value.round())
        elif name == "PUMA":
            cells.append(pl.col(name))
        else:
            cells.append(value.round().cast(pl.Int64).cast(pl.String).fill_null(pl.col(name)))
    roles = {
        name: {"role": "quasi-identifier", "missing": "keep", "level": "continuous" if name in numbers else "nominal"}
        for name in columns
    }
    return Microdata.of(frame.select(columns).with_columns(cells), roles).records


def compare(name: str, original: pl.DataFrame, submission: pl.DataFrame) -> None:
    """One line: theirs and ours."""
    score, unique, shown, left_out, inconsistent = THEIRS[name]
    columns = [c for c in original.columns if c in submission.columns and c not in left_out]
    before, after = (records(frame, columns, NUMBERS) for frame in (original, submission))
    start = time.process_time()
    marginal = shoal.KMarginal(group="PUMA" if "PUMA" in columns else None).measure(before, after)
    spent = time.process_time() - start
    matches = shoal.UniqueExactMatches().measure(before, after).details
    present = [rule for rule in RULES if rule.split(" -> ")[1].split()[0] in submission.columns]
    every = [c for c in original.columns if c in submission.columns]
    broken = shoal.Inconsistencies(rules=present).measure(
        *(records(f, every, ("AGEP",)) for f in (original, submission))
    )
    print(
        f"{name:28s}k-marginal {score:7.2f} {marginal.value:7.2f} ({spent:.2f} CPU s); unique originals {unique:6d} "
        f"{matches['unique originals']:6d}; in the release {shown:6d} {matches['unique originals in the release']:6d}; "
        f"inconsistent by age {inconsistent:5d} {broken.details['records that break a rule']:5d}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--national", type=Path, required=True, help="national2019.csv")
    parser.add_argument("--submissions", type=Path, required=True, help="a folder of submissions, NAME.csv")
    arguments = parser.parse_args()
    present = [name for name in THEIRS if (arguments.submissions / f"{name}.csv").is_file()]
    if not present:
        sys.exit(f"{arguments.submissions} holds none of {', '.join(f'{name}.csv' for name in THEIRS)}.")
    original = pl.read_csv(arguments.national, infer_schema=False)
    print("submission; of each figure first SDNist's, then ours")
    for name in present:
        compare(name, original, pl.read_csv(arguments.submissions / f"{name}.csv", infer_schema=False))
    if absent := [name for name in THEIRS if name not in present]:
        print(f"left out, for want of their files: {', '.join(absent)}")


if __name__ == "__main__":
    main()
