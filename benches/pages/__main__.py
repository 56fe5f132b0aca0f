"""Generate the pages of the documentation that have results, and stamp them with the simulator's behavior.

Usage: .venv/bin/python -m benches.pages [--try DIR] [PAGE...]

Finished pages are recorded in ``results/pages``, and each command stores its finished runs in ``results``: after Ctrl-C
the same command continues. With ``--try DIR``, shorter commands write to a copy of the pages in DIR.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

from benches.pages.behavior import ROOT, behavior
from benches.pages.catalogue import PAGES, Page
from benches.pages.stamp import COMMAND, stamped

from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.documents.store import Store, fingerprint, to_json
from fairweir.errors import ConfigError

INTERRUPTED: Final = 130
BAD_INPUT: Final = 2
#: A command that a signal ended has this exit code plus the signal's number.
SIGNALLED: Final = 128
#: Exit codes of a command that finished: no claim fails, a claim fails.
FINISHED: Final = (0, 1)


def generate(page: Page, root: Path, *, is_try: bool = False) -> int:
    """Run the commands of a page below `root`, and stamp the page; return the exit code of the last command.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C; what had finished is stored
    ConfigError : the simulator changed meanwhile, so that the page has no stamp
    """
    code, key = 0, key_of(page, is_try=is_try)
    for command in page.short if is_try else page.commands:
        say(f"fairweir {command}")
        code = run([sys.executable, "-m", "fairweir", *shlex.split(command)], root)
        if code >= SIGNALLED:
            raise KeyboardInterrupt
        if code not in FINISHED:
            return code
    path = root / page.path
    text = path.read_text(encoding="utf-8") if page.compose is None else page.compose(root)
    if key_of(page, is_try=is_try) != key:
        raise ConfigError(f"fairweir changed while `{page.path}` was generated", hint="run the same command again")
    write_text(path, stamped(text, behavior()))
    return code


def run(words: list[str], folder: Path) -> int:
    """Run a program in `folder`, and return its exit code.

    The program is a process group of its own, which gets one SIGINT if this program is interrupted: whether a terminal
    sent Ctrl-C to all processes or another program sent a signal to this one.

    Raises
    ------
    KeyboardInterrupt : Ctrl-C; the program has ended
    """
    with subprocess.Popen(words, cwd=folder, process_group=0) as process:
        try:
            return process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise


def key_of(page: Page, *, is_try: bool = False) -> str:
    """Return the fingerprint of all that a page depends on, as it is on disk now."""
    digest = hashlib.sha256()
    package = Path(str(files("fairweir")))
    inputs = [path for suffix in ("*.py", "*.toml", "*.so") for path in package.rglob(suffix)]
    for folder in {shipped.folder(kind) for kind in shipped.KINDS}:
        inputs += folder.rglob("*")
    for path in sorted({path.resolve() for path in inputs if path.is_file()}):
        digest.update(path.read_bytes())
    return fingerprint(behavior(), digest.hexdigest(), page.short if is_try else page.commands)


def digests(page: Page, root: Path) -> dict[str, str]:
    """Return a digest of each of the page's files that exist."""
    paths = (page.path, *page.files)
    return {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in paths if (root / path).is_file()}


def say(text: str) -> None:
    """Print a line on stderr."""
    print(text, file=sys.stderr, flush=True)


def generate_all(pages: list[Page], root: Path, *, is_try: bool = False) -> int:
    """Generate the pages that are not finished, and return the exit code: 0, or 2 if a page could not be generated."""
    finished = Store(root / "results" / "pages", to_json, lambda content: dict(json.loads(content)))
    failed = []
    for number, page in enumerate(pages, 1):
        key = key_of(page, is_try=is_try)
        label = f"[{number}/{len(pages)}] {page.path}"
        if (before := finished.get(key)) is not None and before == digests(page, root):
            say(f"{label}: finished before, with this behavior of the simulator")
            continue
        say(label)
        try:
            code = generate(page, root, is_try=is_try)
        except ConfigError as error:
            failed.append(page.path)
            say(error.render())
            continue
        if code in FINISHED:
            finished.put(key, digests(page, root))
            say(f"{label}: written, behavior {behavior()}" + ("; a claim fails, see above" if code else ""))
        else:
            failed.append(page.path)
            say(f"{label}: left as it is: exit code {code}")
    return BAD_INPUT if failed else 0


def copy_pages(pages: list[Page], root: Path) -> None:
    """Copy the pages of the repository that `root` does not have."""
    for page in pages:
        target = root / page.path
        target.parent.mkdir(parents=True, exist_ok=True)
        for folder in {Path(path).parent for path in page.files}:
            (root / folder).mkdir(parents=True, exist_ok=True)
        if (ROOT / page.path).is_file() and not target.exists():
            shutil.copyfile(ROOT / page.path, target)


def _end(signum: int, frame: object) -> None:
    """End as after Ctrl-C."""
    raise KeyboardInterrupt


def main(words: list[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    names = {page.name: page for page in PAGES}
    parser = argparse.ArgumentParser(prog=COMMAND, description="Generate the pages with results.")
    parser.add_argument("pages", metavar="PAGE", nargs="*", help=f"{', '.join(names)}; default all")
    parser.add_argument("--try", dest="folder", metavar="DIR", type=Path, help="short commands, on a copy of the pages")
    given = parser.parse_args(words)
    if unknown := [name for name in given.pages if name not in names]:
        parser.error(f"no generated page `{unknown[0]}`; the pages are {', '.join(names)}")
    pages = [page for name, page in names.items() if not given.pages or name in given.pages]
    signal.signal(signal.SIGTERM, _end)
    try:
        if given.folder is None:
            return generate_all(pages, ROOT)
        copy_pages(pages, given.folder)
        return generate_all(pages, given.folder, is_try=True)
    except KeyboardInterrupt:
        say("interrupted: finished work is stored; run the same command to continue")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
