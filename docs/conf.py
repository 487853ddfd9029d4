"""Sphinx configuration: `make docs` writes docs/_build, whose pages load nothing from the network."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

project = "shoal"
author = "The shoal developers"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "shoal"
myst_enable_extensions = ["dollarmath", "deflist"]
html_math_renderer = "mathml"
myst_heading_anchors = 3


def setup(app: Sphinx) -> None:
    """Show blocks of CSV as they stand, and formulas as MathML, which browsers draw by themselves."""
    app.add_lexer("csv", TextLexer)
    app.add_html_math_renderer("mathml", inline_renderers=(inline_formula, None), block_renderers=(formula, None))


def inline_formula(page: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a sentence."""
    page.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def formula(page: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands by itself; a wide one scrolls, and not the page."""
    page.body.append(f'<div class="math" style="overflow-x: auto">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode
