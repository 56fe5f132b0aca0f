"""The documentation builds without warnings, works without network access, and all its pages are reachable."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser
from tests.report.test_browser import TIMEOUT_MS

import fairweir
from fairweir.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
#: Pages that are opened in a browser: of each kind, and those with the widest tables and blocks.
OPENED = ("index", "tutorials/engineer", "reference/commands", "reference/python", "gallery", "formal/game", "outcomes")
NOTEBOOKS = ("notebooks/audit-my-cca", "notebooks/read-a-capture", "notebooks/grid-and-heat-map")
#: Attributes by which a page loads something, by element.
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
REMOTE_STYLE = re.compile(r"(url\(|@import)\s*[\"']?(https?:)?//[^)\s]*")
#: Pages of Sphinx itself.
GENERATED = {"genindex", "search", "py-modindex"}


class Reader(HTMLParser):
    """Collects a page's links, anchors and loaded resources."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.navigation: list[str] = []
        self.anchors: set[str] = {""}
        self.loads: list[str] = []
        self._in_navigation = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(str(found["id"]))
        if tag == "nav":
            self._in_navigation += 1
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
            if self._in_navigation:
                self.navigation.append(str(found["href"]))
        if tag in LOADS and found.get(LOADS[tag]) and found.get("rel") not in {"canonical", "next", "prev"}:
            self.loads.append(str(found[LOADS[tag]]))

    def handle_endtag(self, tag: str) -> None:
        self._in_navigation -= tag == "nav"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    words = ["-W", "--keep-going", "-q", "-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    built = subprocess.run([sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Reader]:
    return {path: Reader(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}


def target(page: Path, link: str) -> tuple[Path, str] | None:
    """Return the file and the anchor of a link's target; None if the target is on another site."""
    path, _, anchor = link.partition("#")
    if "://" in path or path.startswith("mailto:"):
        return None
    return (page.parent / unquote(path)).resolve() if path else page, unquote(anchor)


def test_every_link_within_the_site_leads_to_a_page_and_an_anchor(pages: dict[Path, Reader]) -> None:
    missing = []
    for page, reader in pages.items():
        for link in reader.links:
            found = target(page, link)
            if found is None:
                continue
            path, anchor = found
            if not path.exists() or (path in pages and anchor not in pages[path].anchors):
                missing.append(f"{page.name}: {link}")
    assert not missing, "\n".join(missing)


def test_every_page_is_reachable_by_the_navigation(site: Path, pages: dict[Path, Reader]) -> None:
    start = site / "index.html"
    seen, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        for found in (target(page, link) for link in pages[page].navigation):
            if found is not None and found[0] in pages and found[0] not in seen:
                seen.add(found[0])
                waiting.append(found[0])
    unreachable = {str(page.relative_to(site)) for page in set(pages) - seen} - {f"{name}.html" for name in GENERATED}
    assert not unreachable
    sources = {
        p.relative_to(ROOT / "docs").with_suffix("") for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts
    }
    assert {page.relative_to(site).with_suffix("") for page in pages} >= sources


def test_pages_load_nothing_from_the_network(site: Path, pages: dict[Path, Reader]) -> None:
    remote = {load for reader in pages.values() for load in reader.loads if "//" in load}
    assert not remote
    styles = [path.read_text(encoding="utf-8") for path in (site / "_static").rglob("*.css")]
    assert styles
    assert not [found[0] for style in styles for found in REMOTE_STYLE.finditer(style)]


def test_the_references_have_every_command_and_every_name_of_the_facade(site: Path, pages: dict[Path, Reader]) -> None:
    commands = pages[site / "reference" / "commands.html"].anchors
    assert commands >= {f"fairweir-{name}" for name in COMMANDS}
    names = pages[site / "reference" / "python.html"].anchors
    assert names >= {f"fairweir.{name}" for name in fairweir.__all__ if name != "__version__"}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_pages_open_without_a_message_and_within_their_window(
    site: Path, scheme: Literal["light", "dark"], width: int, browser: Browser
) -> None:
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    for name in (*OPENED, *NOTEBOOKS):
        page.goto((site / f"{name}.html").as_uri(), timeout=TIMEOUT_MS)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name


def test_the_man_page_has_every_command(site: Path) -> None:
    doctrees, out = site.parent / "doctrees", site.parent / "man"
    words = ["-W", "-q", "-b", "man", "-d", str(doctrees), str(ROOT / "docs"), str(out)]
    built = subprocess.run([sys.executable, "-m", "sphinx", *words], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    text = (out / "fairweir.1").read_text(encoding="utf-8")
    headings = set(re.findall(r"^\.SH FAIRWEIR ([A-Z]+)$", text, re.MULTILINE))
    assert headings == {name.upper() for name in COMMANDS}
