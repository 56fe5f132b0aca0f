"""No text uses a phrase of phrases.toml, for which the field has a term."""

import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PHRASES = {re.compile(p): term for p, term in tomllib.loads((HERE / "phrases.toml").read_text("utf-8")).items()}
#: Comments and string literals of Rust and C, a line at a time.
_TEXT = re.compile(r'(?:^|\s)(?://|/\*|\*\s).*|"(?:[^"\\]|\\.)*"')


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts: comments and strings of code, every line of other files."""
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in (
                tokenize.COMMENT,
                tokenize.STRING,
                tokenize.FSTRING_MIDDLE if hasattr(tokenize, "FSTRING_MIDDLE") else -1,
            ):
                yield from enumerate(token.string.split("\n"), token.start[0])
    else:
        for number, line in enumerate(source.split("\n"), 1):
            yield from ((number, line),) if path.suffix == ".md" else ((number, m) for m in _TEXT.findall(line))


def test_phrases_with_a_term_of_the_field_are_not_used() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.rs", "*.c", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    found = [
        f"{name}:{number}: {hit[0]!r}; use: {term}"
        for name in listed.stdout.split()
        if (ROOT / name).is_file() and name != "CHANGELOG.md"
        for number, text in _texts(ROOT / name)
        for pattern, term in PHRASES.items()
        if (hit := pattern.search(re.sub(r"`[^`]*`", "", text)))
    ]
    assert not found, "\n" + "\n".join(found)
