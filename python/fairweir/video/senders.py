"""Parse video senders as command lines name them: ``gcc``, ``fixed:2.7Mbps``, ``tree:published``,
``search:conference``.

A controller file has a decision tree for a sender; a query defines the decisions and the objective for which a sender
searches while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Self

from fairweir import _core
from fairweir.documents import shipped
from fairweir.documents.suggestions import did_you_mean
from fairweir.documents.toml import read_document
from fairweir.errors import ConfigError

#: Sender -> description and default of the argument, which follows the colon.
ARGUMENTS: Final = {
    "fixed": ("a rate", "2.75Mbps"),
    "tree": ("a controller file, or a name (list controllers)", "published"),
    "search": ("a query, or a name (list queries)", "conference"),
}
#: Maximum rate of the sender `fixed`, bytes/s.
FASTEST_BYTES_PER_S: Final = 10**12 // 8
#: Maximum size of a controller file, bytes.
LARGEST_BYTES: Final = 4 << 20
#: Keys of a query that the sender `search` reads; the other keys are for the training of decision trees.
GAME_KEYS: Final = (
    "name",
    "description",
    "kind",
    "step",
    "points",
    "depth",
    "probe_period",
    "encoder",
    "model",
    "actions",
    "shield",
    "objective",
)


@cache
def senders() -> dict[str, str]:
    """Return a dict from the name of each sender to a summary."""
    return dict(_core.video_senders())


@dataclass(frozen=True)
class Sender:
    """A sender with its argument.

    Attributes
    ----------
    name : a name that :func:`senders` returns
    argument : the text after the colon, or the default; empty if the sender has no argument
    """

    name: str
    argument: str = ""

    @classmethod
    def parse(cls, word: str) -> Self:
        """Return the sender that ``name`` or ``name:argument`` means; a path that ends in ``.json`` means a controller
        file.

        Raises
        ------
        ConfigError : the sender does not exist, has no argument, or its argument is invalid
        """
        if word.endswith(".json") and not word.startswith("tree:"):
            return cls("tree", word)
        name, colon, argument = word.partition(":")
        if name not in senders():
            raise ConfigError(f"unknown sender `{name}`", key="--sender", hint=did_you_mean(name, senders()))
        if name not in ARGUMENTS:
            if colon:
                raise ConfigError(f"sender `{name}` takes no argument: `{argument}`", key="--sender")
            return cls(name)
        parsed = cls(name, argument or ARGUMENTS[name][1])
        try:
            parsed.base()
        except ConfigError as error:
            if error.source is None and error.key is None:
                error.key = "--sender"
            raise
        return parsed

    def __str__(self) -> str:
        is_default = self.name in ARGUMENTS and self.argument == ARGUMENTS[self.name][1] and self.name != "tree"
        return self.name if not self.argument or is_default else f"{self.name}:{Path(self.argument).name}"

    @property
    def is_file(self) -> bool:
        """Whether the argument names a file."""
        return self.name in ("tree", "search")

    def base(self) -> dict[str, Any]:
        """Return the sender as ``crates/video`` expects it.

        Raises
        ------
        ConfigError : the argument is invalid
        """
        import json

        if self.name == "fixed":
            rate = _core.parse_rate(self.argument)
            if not 1 <= rate <= FASTEST_BYTES_PER_S:
                raise ConfigError(f"rate must be 8bps to 1Tbps: `{self.argument}`", hint='such as "fixed:2.75Mbps"')
            return {"kind": "fixed", "rate": rate}
        if self.name == "tree":
            from fairweir.ccas.controller_file import require_own_proofs

            path = shipped.find("controllers", self.argument)
            text = _read(path)
            # crates/video validates controllers; its errors name the invalid key.
            try:
                document = json.loads(text)
            except (ValueError, RecursionError):
                document = None
            require_own_proofs(document, str(path))
            return {"kind": "tree", "controller": text}
        if self.name == "search":
            document = read_document(shipped.find("game-queries", self.argument), noun="query")
            return {"kind": "search", "query": json.dumps({k: v for k, v in document.items() if k in GAME_KEYS})}
        return {"kind": self.name}


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
        text = raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not a text file").lower()
        raise ConfigError(f"controller cannot be read: {reason}", source=str(path)) from None
    if len(raw) > LARGEST_BYTES:
        raise ConfigError("controller is too large", source=str(path), hint="a controller has some hundred nodes")
    return text
