"""``fairweir new plugin`` writes the folder of a new plug-in.

A plug-in is a shared library with a CCA, written in C, C++, Rust or Go, or with a whole transport, written in C. The
folder contains a skeleton of the source, a Makefile that builds the library, and a scenario that runs it. The source
and the Makefile are made from templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from fairweir.ccas.new import Skeleton, fill
from fairweir.documents import shipped
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError

#: The C header that declares the interface between fairweir and a controller.
HEADER: Final = "fairweir_cc.h"
#: The C header that declares the interface between fairweir and a whole stack.
ENDPOINT_HEADER: Final = "fairweir_endpoint.h"
#: The crate ``fairweir-plugin``, in a clone of the repository.
_CRATE: Final = shipped.folder("rules").parent / "crates" / "plugin"


class Language(StrEnum):
    """The languages for which there is a skeleton."""

    C = "c"
    CPP = "c++"
    RUST = "rust"
    GO = "go"


class Kind(StrEnum):
    """Contents of a plug-in: a congestion controller, or both ends of a transport."""

    CONTROLLER = "controller"
    ENDPOINT = "endpoint"


@dataclass(frozen=True)
class _Recipe:
    """The files of a plug-in in one language, and the command that builds it.

    Attributes
    ----------
    templates : dict from the path of a file of the plug-in to the template with its text
    command : str, shell command that builds ``@name@.so`` from these files

    In paths and in the command, ``@name@`` stands for the plug-in's name.
    """

    templates: Mapping[str, str]
    command: str


_RECIPES: Final = {
    Language.C: _Recipe(
        {"@name@.c": "plugin.c.in"},
        "$(CC) -std=c99 -O2 -Wall -Wextra -fPIC -shared -o $@ @name@.c",
    ),
    Language.CPP: _Recipe(
        {"@name@.cpp": "plugin.cpp.in"},
        "$(CXX) -std=c++17 -O2 -Wall -Wextra -fPIC -shared -o $@ @name@.cpp",
    ),
    Language.RUST: _Recipe(
        {"src/lib.rs": "plugin.rs.in", "Cargo.toml": "plugin-cargo.toml.in"},
        "cargo build --release --target-dir target && cp target/release/lib@name@.so $@",
    ),
    Language.GO: _Recipe(
        {"@name@.go": "plugin.go.in", "table.c": "plugin-table.c.in", "go.mod": "plugin-go.mod.in"},
        "CGO_ENABLED=1 go build -buildmode=c-shared -o $@ .",
    ),
}
_ENDPOINT: Final = _Recipe({"@name@.c": "endpoint.c.in"}, _RECIPES[Language.C].command)


@words_for_enums
def write_plugin(name: str, directory: Path, language: Language, kind: Kind = Kind.CONTROLLER) -> Skeleton:
    """Write the folder ``directory/name`` with a plug-in, a Makefile and a scenario that runs it.

    Parameters
    ----------
    name : str; lower-case words joined by underscores, at most 32 characters
    directory : Path, an existing folder
    language : Language, in which the plug-in is written
    kind : Kind; the skeleton of a whole stack exists in C

    Raises
    ------
    ConfigError : the name is invalid, the folder exists already, there is no such skeleton, or the plug-in is in Rust
        and fairweir's sources are missing
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        hint = "lower case, digits and underscores, such as `my_cc`; at most 32"
        raise ConfigError(f"not a name for a plug-in: `{name}`", hint=hint)
    folder = directory / name
    if folder.exists():
        raise ConfigError(f"`{folder}` already exists", hint="choose another name or --dir")
    is_endpoint = kind is Kind.ENDPOINT
    if is_endpoint and language is not Language.C:
        hint = "omit --lang; other languages can export the functions of include/fairweir_endpoint.h"
        raise ConfigError(f"there is no skeleton of a whole stack in {language}", hint=hint, key="--lang")
    recipe = _ENDPOINT if is_endpoint else _RECIPES[language]
    words = {
        "@name@": name,
        "@Class@": "".join(word.capitalize() for word in name.split("_")),
        "@cca@": f"./{name}.so",
        "@command@": recipe.command.replace("@name@", name),
        "@sources@": " ".join(file.replace("@name@", name) for file in recipe.templates),
    }
    if language is Language.RUST:
        words["@plugin@"] = str(_crate())
    texts = {file.replace("@name@", name): fill(template, words) for file, template in recipe.templates.items()}
    texts |= {"Makefile": fill("plugin-makefile.in", words), f"{name}.toml": fill("cca.toml.in", words)}
    if language is not Language.RUST:
        header = ENDPOINT_HEADER if is_endpoint else HEADER
        texts[header] = shipped.header(header)
    try:
        folder.mkdir()
        for file, text in texts.items():
            (folder / file).parent.mkdir(exist_ok=True)
            write_text(folder / file, text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"skeleton cannot be written: {reason}", source=str(folder)) from error
    library = folder / f"{name}.so"
    world = " --on quic" if is_endpoint else ""
    commands = [
        f"make -C {folder}",
        f"fairweir run {folder / name}.toml{world}",
        f"fairweir audit {library} --quick{world}",
    ]
    return Skeleton([folder / file for file in texts], commands)


def _crate() -> Path:
    """Return the folder of the crate ``fairweir-plugin``.

    Raises
    ------
    ConfigError : fairweir is installed from a wheel, which has no Rust sources
    """
    if not (_CRATE / "Cargo.toml").is_file():
        hint = "run it from a clone of fairweir's repository, or use --lang c"
        raise ConfigError("a plug-in in Rust needs fairweir's sources, which a wheel does not have", hint=hint)
    return _CRATE
