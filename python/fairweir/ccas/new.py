"""Write skeletons of CCAs that can be run immediately."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fairweir.ccas.lookup import algorithms
from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError

#: Maximum length of a CCA's name in Linux: TCP_CA_NAME_MAX without the terminating zero.
MAX_KERNEL_NAME = 15


@dataclass(frozen=True)
class Skeleton:
    """The result of writing a skeleton: the files, and the commands to run next.

    Attributes
    ----------
    files : list of Path; the files that were written
    commands : list of str; shell commands
    """

    files: list[Path]
    commands: list[str]


def write_cca(name: str, directory: Path, *, is_c: bool = False) -> Skeleton:
    """Write the skeleton of a CCA, and a scenario that runs the CCA.

    Parameters
    ----------
    name : str; lower-case words joined by underscores
    directory : Path of an existing directory
    is_c : whether the CCA is written in kernel C instead of Python

    Raises
    ------
    ConfigError : the name is invalid, or a file already exists
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        raise ConfigError(
            f"not a name for a controller: `{name}`",
            hint="lower case, digits and underscores, such as `my_cca`; at most 32",
        )
    if is_c and len(name) > MAX_KERNEL_NAME:
        raise ConfigError(f"too long for the kernel: `{name}`", hint=f"at most {MAX_KERNEL_NAME} characters")
    if name in algorithms():
        raise ConfigError(f"a controller `{name}` already exists", hint="choose another name")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    source = directory / (f"{name}.bpf.c" if is_c else f"{name}.py")
    cca = source.name if is_c else f"{source.name}:{class_name}"
    words = {"@name@": name, "@NAME@": name.upper(), "@Class@": class_name, "@cca@": cca}
    scenario = directory / f"{name}.toml"
    for path in (source, scenario):
        if path.exists():
            raise ConfigError(f"the file `{path}` already exists", hint="choose another name or --dir")
    try:
        write_text(source, fill("cca.bpf.c.in" if is_c else "cca.py.in", words))
        write_text(scenario, fill("cca.toml.in", words))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"skeleton cannot be written: {reason}", source=str(directory)) from error
    return Skeleton([source, scenario], [f"fairweir run {scenario}", f"fairweir audit {directory / cca} --quick"])


def fill(template: str, words: Mapping[str, str], room: str = "ccas") -> str:
    """Return a template with its placeholders replaced.

    Parameters
    ----------
    template : str, name of a file in a folder `skeletons`
    words : placeholder -> the text that replaces it
    room : str, the subpackage of fairweir that contains the folder
    """
    text = shipped.skeleton(template, room)
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text
