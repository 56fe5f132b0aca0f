"""No text uses a phrase for which the field has a term: `phrases.toml` lists them."""

import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Comments and strings of Rust and C, a line at a time.
TEXT = re.compile(r'(?:(?:^|\s)(?://|/\*)|^\s*\*\s).*|"(?:[^"\\]|\\.)*"')
#: Files with the phrases on purpose: the style table, entries of the past, and the list itself.
EXEMPT = re.compile(r"^CONTRIBUTING\.md$|^CHANGELOG\.md$|/phrases\.toml$")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield texts with line numbers: comments and strings of code, all lines of pages and TOML files."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING):
                yield from enumerate(token.string.split("\n"), token.start[0])
        return
    for number, line in enumerate(source.split("\n"), 1):
        yield number, line if path.suffix in (".md", ".toml") else " ".join(TEXT.findall(line))


def test_no_phrase_is_used_for_which_the_field_has_a_term() -> None:
    listed_terms = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))
    terms = [(re.compile(pattern), term) for pattern, term in listed_terms.items()]
    kinds = ["*.md", "*.py", "*.rs", "*.c", "*.cpp", "*.h", "*.toml"]
    listed = subprocess.check_output(["git", "ls-files", *kinds], cwd=ROOT, text=True)
    found = []
    for name in (name for name in listed.split() if not EXEMPT.search(name) and (ROOT / name).is_file()):
        for number, text in texts(ROOT / name):
            words = re.sub(r"`[^`]*`", "", text)
            hits = ((pattern.search(words), term) for pattern, term in terms if words)
            found += [f"{name}:{number}: {hit[0]!r}; use: {term}" for hit, term in hits if hit]
    assert not found, "\n".join(["", *found])


def test_items_of_a_list_have_lines_of_their_own() -> None:
    pages = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).split()
    joined = re.compile(r"[a-z)][.;:] - [A-Z\[]|; - [a-z]")
    lines = ((name, number, text) for name in pages for number, text in texts(ROOT / name))
    assert [f"{name}:{number}" for name, number, text in lines if joined.search(re.sub(r"`[^`]*`", "", text))] == []
