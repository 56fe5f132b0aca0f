"""The stamp of a generated page: the version of fairweir and the hash of the simulator's behavior that generated it."""

from __future__ import annotations

import re
from typing import Final

from fairweir import __version__

#: A line below the title of a page. A page without a hash was generated before pages had stamps.
STAMP: Final = re.compile(r"^Behavior of the simulator: (?:`([0-9a-f]+)`, |not recorded).*\n\n", re.MULTILINE)
COMMAND: Final = "make results"
NOT_RECORDED: Final = (
    "Behavior of the simulator: not recorded; this page is older than the stamps of pages, and its numbers may differ "
    f"from today's. `{COMMAND}` generates it again."
)


def stamped(text: str, behavior: str) -> str:
    """Return a page with the stamp of today's version and `behavior` below its title, instead of its earlier stamp."""
    line = f"Behavior of the simulator: `{behavior}`, fairweir {__version__}. `{COMMAND}` generates this page again."
    title, _, rest = STAMP.sub("", text, count=1).partition("\n\n")
    return f"{title}\n\n{line}\n\n{rest}"


def behavior_of(text: str) -> str | None:
    """Return the hash in a page's stamp, None if it is not recorded.

    Raises
    ------
    ValueError : the page has no stamp
    """
    found = STAMP.search(text)
    if found is None:
        raise ValueError("no stamp")
    return found[1]
