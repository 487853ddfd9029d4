"""Sphinx configuration: `make docs` writes docs/_build."""

project = "shoal"
author = "The shoal developers"
extensions = ["myst_parser"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "shoal"
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
