"""What the documentation says of local synthesis is what the bench wrote last."""

import json
from pathlib import Path
from typing import Any

import pytest

HYBRID, DEFAULT = "Hybrid, paper", "Hybrid, default"
RANKS, VALUES, PRODUCTS, TREE = "rank, order 3", "raw, order 3", "raw, products", "tree, as written"

ROWS = {
    HYBRID: "Hybrid, 6 groups VVV from the hierarchical start | 23.07",
    "Hybrid, range": "the same six groups inside the observed range |",
    "Hybrid, BIC": "Hybrid, groups by our BIC (9, VVE) |",
    DEFAULT: "Hybrid, the default: inside the observed range |",
    "Hybrid, group": "Hybrid, inside the range of each group |",
    "HybridMicro": "HybridMicro | 106.70",
    "Noise": "Noise | 301.11",
    "Synthetic": "Synthetic | 565.56",
    "Micro": "Micro | 276.11",
}

MIXED = {HYBRID: "Hybrid, 6 groups VVV, 6 classes | 121", DEFAULT: "Hybrid, the default: 9 groups, 9 classes |"}


@pytest.fixture
def figures(project: Path) -> dict[str, Any]:
    return json.loads((project / "bench/published/s0.json").read_text(encoding="utf-8"))


def page(project: Path, name: str) -> str:
    return " ".join((project / f"docs/explanation/{name}.md").read_text(encoding="utf-8").replace("*", "").split())


@pytest.fixture
def text(project: Path) -> str:
    return page(project, "synthesis")


@pytest.mark.parametrize("name", ROWS)
def test_how_hard_each_method_is_to_tell_apart(name: str, figures: dict[str, Any], text: str) -> None:
    recorded = figures["distinguished"][name]
    cells = f"{recorded[RANKS]:.1f} | {recorded[VALUES]:.1f} | {recorded[PRODUCTS]:.1f} | {recorded[TREE]:.0f}"
    assert f"| {ROWS[name]} | {cells} |" in text
    law, sample = figures["nothing to tell"]
    assert f"| nothing to tell: true law / independent sample | | {law} / {sample} | {law} / {sample} |" in text


def test_the_groups_and_their_number(figures: dict[str, Any], text: str, project: Path) -> None:
    six, chosen = figures["groups"][HYBRID], figures["groups"]["Hybrid, BIC"]
    assert f"({', '.join(map(str, six['sizes']))} records; printed 708, 440, 325, 232, 179, 63)" in text
    assert f"our BIC ({len(chosen['sizes'])}, {chosen['covariance model']})" in text
    mixtures = page(project, "mixtures")
    *first, last = map(str, six["sizes"])
    assert f"a log-likelihood of −{-six['log-likelihood']:.3f} with {', '.join(first)} and {last} records" in mixtures
    assert f"it is −{-six['BIC']:.1f} for six groups" in mixtures


def test_pairs_of_realisations_in_which_hybrid_is_lower(figures: dict[str, Any], text: str) -> None:
    six, default = (figures["Hybrid below Noise"][name] for name in (HYBRID, DEFAULT))
    assert six[RANKS] == [900, 900]
    assert f"lower one in {six[VALUES][0]} (order 3) and {six[PRODUCTS][0]} (products), and on ranks in all 900" in text
    assert f"is lower in {default[VALUES][0]} and {default[PRODUCTS][0]}.)" in text


def test_other_groups(figures: dict[str, Any], text: str) -> None:
    of = figures["other groups"]
    two, four, more, micro = (
        of[name] for name in ("Hybrid, k = 200", "Hybrid, k = 400", "Hybrid, VVV by BIC", "HybridMicro, k = 60")
    )
    assert (
        f"the default Hybrid has {two[RANKS]} and {four[RANKS]} on ranks (printed 77 and 95), {two[VALUES]} and "
        f"{four[VALUES]} on values, {two[TREE]:.0f} and {four[TREE]:.0f} by the tree" in text
    )
    assert f"has {micro[RANKS]} on ranks (printed about 40) and {micro[TREE]:.0f} by the tree" in text
    assert f"but {micro[VALUES]} on values" in text
    assert (
        f"with these {more[RANKS]} on ranks, {more[VALUES]} on values, {more[PRODUCTS]} by products and "
        f"{more[TREE]:.0f} by the tree" in text
    )


def test_moments_about_zero(figures: dict[str, Any], text: str) -> None:
    six, default, micro = (figures["moments about zero"][name] for name in (HYBRID, DEFAULT, "HybridMicro"))
    medians = [" and ".join(f"{value:.1f}".lstrip("0") for value in one["median"]) for one in (six, micro, default)]
    means = [" and ".join(f"{value:.1f}".lstrip("0") for value in one["mean"]) for one in (six, micro, default)]
    assert f"medians {medians[0]} %, {medians[1]} %, and means {means[0]} %, {means[1]} %" in text
    assert f"(the default Hybrid: medians {medians[2]} %, means {means[2]} %)" in text


@pytest.mark.parametrize("name", MIXED)
def test_mixed_thyroid(name: str, figures: dict[str, Any], text: str) -> None:
    facts = figures["mixed"]["distinguished"]
    models = [f"{scale}, order {order}" for scale in ("rank", "raw") for order in (2, 3)]
    assert f"| {MIXED[name]} | {' | '.join(f'{facts[name][model]:.1f}' for model in models)} |" in text
    factors = [
        ", ".join(f"{facts['Synthetic'][model] / facts[one][model]:.1f}" for one in (HYBRID, DEFAULT))
        for model in models
    ]
    assert f"| Synthetic over Hybrid (six groups, default) | 5.71 | {' | '.join(factors)} |" in text
    weak, more = facts["Synthetic"]["raw, order 2"], facts["Hybrid, 16"]["raw, order 2"]
    assert f"help a little (16: {more:.1f}, a factor of {weak / more:.1f})" in text
