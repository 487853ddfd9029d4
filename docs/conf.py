"""Sphinx configuration: `make docs` writes docs/_build."""

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "shoal"
author = "The shoal developers"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "shoal"
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3


def setup(app: Sphinx) -> None:
    """Show blocks of CSV as they stand."""
    app.add_lexer("csv", TextLexer)
