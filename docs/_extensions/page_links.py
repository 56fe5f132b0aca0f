"""Make links of the pages that a text names: ``docs/verdicts.md`` becomes a link with that page's title.

Source files, messages and pages name a page by its path, which also works where Markdown is read as text.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

#: A page by its path from the repository's root, and pages of the root that the site includes.
PAGE = re.compile(
    r"(?<![\w./])(?:docs/(?P<page>[\w/-]+)\.md|(?P<root>ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md)(?![\w/])"
)
#: A page next to the one that names it, as code.
NEAR = re.compile(r"(?P<page>[\w-]+)\.md")
#: Names in examples of names.
EXAMPLES = {"ccas/foo"}
INCLUDED = {name: f"developing/{name.lower()}" for name in ("ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")}


def target(found: re.Match[str]) -> str:
    """Return the page that a match names, from the folder of pages."""
    return found["page"] or INCLUDED[found["root"]]


def link(target: str, docname: str) -> pending_xref:
    """Return a reference to a page, which Sphinx resolves to its title or reports as missing."""
    reference: pending_xref = pending_xref(
        "", refdomain="std", reftype="doc", reftarget=f"/{target}", refexplicit=False, refwarn=True, refdoc=docname
    )
    reference += nodes.inline("", target, classes=["doc"])
    return reference


def pieces(text: str, docname: str) -> list[nodes.Node]:
    """Return a text as text and references."""
    found: list[nodes.Node] = []
    end = 0
    for match in PAGE.finditer(text):
        if match["page"] in EXAMPLES:
            continue
        found += [nodes.Text(text[end : match.start()]), link(target(match), docname)]
        end = match.end()
    return [*found, nodes.Text(text[end:])] if found else []


def connect(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the names of pages in a page."""
    docname = app.env.docname
    kept = (nodes.reference, pending_xref, nodes.literal_block, nodes.title, nodes.comment, nodes.raw)
    for text in list(doctree.findall(nodes.Text)):
        above = text.parent
        if any(isinstance(node, kept) for node in ancestors(text)):
            continue
        if isinstance(above, nodes.literal):
            match = PAGE.fullmatch(text.astext())
            near = NEAR.fullmatch(text.astext())
            folder = docname.rpartition("/")[0]
            if match and match["page"] not in EXAMPLES:
                above.replace_self(link(target(match), docname))
            elif near and (found := f"{folder}/{near['page']}".lstrip("/")) in app.env.found_docs:
                above.replace_self(link(found, docname))
        elif replaced := pieces(text.astext(), docname):
            above.replace(text, replaced)


def ancestors(node: nodes.Node) -> list[nodes.Node]:
    """Return the nodes above a node."""
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the transform with Sphinx."""
    app.connect("doctree-read", connect)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
