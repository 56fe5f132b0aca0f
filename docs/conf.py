"""The site: `make docs` builds docs/_build/html from these pages, the program's help and the package's docstrings."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "fairweir"
copyright = "fairweir contributors"  # noqa: A001  (Sphinx's name)
extensions = [
    "myst_nb",  # includes myst_parser
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "api_stubs",  # before numpydoc, which reads the texts that it sets
    "numpydoc",
    "commands_page",
    "page_links",
]
exclude_patterns = ["_build"]
# Options begin with two hyphens, and `x` in a docstring is code.
smartquotes = False
default_role = "literal"

# A link to a page or an anchor that is missing is an error, and so is one to a name of the facade; types of other
# packages and of rooms inside this one are not links.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!fairweir\.)[\w.\[\], ]*"), ("py:.*", r"fairweir\.\w+\..*")]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# Notebooks are executed at each build, in an empty folder; an exception in a cell, or output on stderr, is an error.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_output_stderr = "remove-warn"

autodoc_member_order = "bysource"
autosummary_generate = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

man_pages: list[tuple[str, str, str, list[str], int]] = [
    ("reference/commands", "fairweir", "evidence for congestion control", [], 1)
]

html_theme = "pydata_sphinx_theme"
html_title = "fairweir"
# The leaderboard is sorted by the script of the page that `fairweir audit --all` writes.
html_static_path = ["_static", "../python/fairweir/show/templates/sortable.js"]
html_css_files = ["site.css"]
html_js_files = [("sortable.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
