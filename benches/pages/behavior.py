"""Compute the hash of the simulator's behavior, with which generated pages are stamped.

The recorded tables of the tests are the behavior of the simulator and its controllers: a fixed scenario for each
controller (``golden``), and the numbers of the law tests (``laws``); those of ``hosts`` are of Linux's hosts with all
mechanisms. These tests pass complete configurations to the simulator. The defaults of scenario files are Python's, and
change results without changing a table; therefore the hash includes the configuration of a scenario that states only
the required keys, and each element and queue with its defaults.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from fairweir.scenario.elements import Element, Surroundings, Table
from fairweir.scenario.model import Scenario
from fairweir.scenario.resolve import resolve

ROOT: Final = Path(__file__).parents[2]
TABLES: Final = (ROOT / "crates" / "sim" / "tests" / "golden", ROOT / "crates" / "sim" / "tests" / "laws")
#: Number of hexadecimal digits of the hash.
DIGITS: Final = 8
#: A scenario with the required keys only. The access link has no kind, and is part of the flow.
SHORTEST: Final[dict[str, Any]] = {
    "duration": "60s",
    "link": {"bottleneck": {"rate": "48Mbps"}},
    "flow": [{"cca": "reno", "rtprop": "40ms", "access": {"rate": "1Gbps"}}],
}
#: The path of the elements and queues: 1500 B per packet, 6 MB/s (48 Mbps), 40 ms.
PATH: Final = Surroundings(packet_bytes=1_500, bdp_bytes=240_000, rate=6_000_000, rtprop_ns=40_000_000)


def behavior(*folders: Path) -> str:
    """Return the hash of the simulator's behavior: the first digits of a SHA-256.

    Parameters
    ----------
    folders : folders of recorded tables (``*.snap``); default :data:`TABLES`
    """
    parts = [*sorted(_tables(folders or TABLES)), json.dumps(_defaults(), sort_keys=True)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:DIGITS]


def _tables(folders: tuple[Path, ...]) -> list[str]:
    """Return the recorded tables. Names of tests and files are not behavior.

    Raises
    ------
    FileNotFoundError : a folder has no table
    """
    found = []
    for folder in folders:
        texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.snap")]
        if not texts:
            raise FileNotFoundError(f"no recorded tables in {folder}")
        # The header of a table names the test; it ends at the second line of hyphens.
        found += [text.split("---\n", 2)[2] for text in texts]
    return found


def _defaults() -> list[dict[str, Any]]:
    """Return what keys that a scenario does not state mean to the simulator, in base units."""
    queues = [kind for kind in Table.__subclasses__() if "kind" in kind.model_fields and hasattr(kind, "base")]
    return [
        resolve(Scenario.from_dict(SHORTEST)),
        *(_shortest(kind).base(PATH) for kind in Element.__subclasses__() if "base" in vars(kind)),
        *(_shortest(kind).base(PATH.bdp_bytes, PATH.packet_bytes, PATH.bdp_bytes, PATH.rate) for kind in queues),
    ]


def _shortest(kind: type[BaseModel]) -> Any:
    """Return a table with its required keys only, which have the values of the keys' examples."""
    fields = kind.model_fields
    examples = {name: field.examples[0] for name, field in fields.items() if field.is_required() and field.examples}
    table = {name: tomllib.loads(f"value = {example}")["value"] for name, example in examples.items()}
    if "kind" in fields:
        (table["kind"],) = fields["kind"].annotation.__args__  # type: ignore[union-attr]
    return kind.model_validate(table)
