"""Everything to which a source, a page or a report refers is in the repository."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUFFIXES = {".md", ".py", ".pyi", ".rs", ".c", ".cpp", ".h", ".toml", ".j2", ".js", ".css", ".sh", ".service", ""}
#: Top folders of this repository and of its drafts; a path into one of them must exist.
FOLDERS = "benches bpf crates docs fuzz packaging policies python queries rules scenarios specs tests papers findings"
PATH = re.compile(rf"(?<![\w./~<>-])(?:{'|'.join(FOLDERS.split())})/[\w./*{{}},<>@-]*[\w}}*>]")
LINK = re.compile(r"\]\(([^)\s]+)\)")
#: Placeholders for names that the reader chooses.
PLACEHOLDER = re.compile(r"[<>{}*]|\bfoo\b|\bmine\b|\bNAME\b|\bID\b|\.\.\.")
#: What `make docs` writes.
BUILT = ("docs/_build", "fuzz/target")
#: A command with a typo, which a test gives; a path below /sys/fs.
DELIBERATE = {"scenarios/three-rtprop.toml", "bpf/fw_test_fails/link", "docs/a.md", "docs/page.md"}


def tracked() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    assert listed.returncode == 0, "the tests run in a git checkout"
    return [name for name in listed.stdout.decode().split("\0") if name]


def texts() -> Iterator[tuple[str, str]]:
    for name in tracked():
        path = ROOT / name
        if path.suffix in SUFFIXES and path.is_file() and not path.is_symlink():
            try:
                yield name, path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue


def exists(reference: str, page: Path) -> bool:
    """Return whether a path exists, relative to the root or to the text; a placeholder must match some path."""
    if PLACEHOLDER.search(reference):
        pattern = re.sub(r"<[^>]*>|\{[^}]*\}|\bfoo\b|\bmine\b|\bNAME\b|\bID\b|\.\.\.", "*", reference)
        return any(ROOT.glob(pattern))
    return (ROOT / reference).exists() or (page.parent / reference).exists()


def test_paths_in_sources_and_pages_exist() -> None:
    missing = []
    for name, text in texts():
        if name == "tests/docs/test_references.py":
            continue
        for found in PATH.finditer(text):
            reference = found[0].rstrip(".")
            if reference not in DELIBERATE and not reference.startswith(BUILT) and not exists(reference, ROOT / name):
                line = text.count("\n", 0, found.start()) + 1
                missing.append(f"{name}:{line}: {reference}")
    assert not missing, "\n".join(missing)


def test_links_between_pages_lead_somewhere() -> None:
    missing = []
    for name, text in texts():
        if not name.endswith(".md"):
            continue
        for target in LINK.findall(text):
            path, _, _ = target.partition("#")
            if path and "://" not in path and not ((ROOT / name).parent / path).exists():
                missing.append(f"{name}: {target}")
    assert not missing, "\n".join(missing)


def test_the_check_finds_what_is_missing() -> None:
    here = ROOT / "docs" / "verdicts.md"
    assert exists("docs/derivations.md", here)
    assert exists("crates/cca/src/foo.rs", here)
    assert not exists("specs/frcc.md", here)
    assert not exists("docs/none-of-this-name.md", here)
    assert PATH.findall('source="FRCC theorem 6.2; specs/frcc.md section 2"') == ["specs/frcc.md"]
