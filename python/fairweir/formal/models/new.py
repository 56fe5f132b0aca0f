"""``fairweir new model``: write a Python file with an example of a network model, which the user then changes."""

from __future__ import annotations

import re
from pathlib import Path

from fairweir.ccas.new import Skeleton, fill
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError
from fairweir.formal.models import MODELS


def write_model(name: str, directory: Path) -> Skeleton:
    """Write a file with an example of a network model that ``fairweir verify`` accepts.

    Parameters
    ----------
    name : str, words in lower case joined by underscores
    directory : Path, an existing directory

    Raises
    ------
    ConfigError : the name is invalid, or the file already exists
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name):
        hint = "lower case, digits and underscores, such as `my_link`; at most 32"
        raise ConfigError(f"not a name for a model: `{name}`", hint=hint)
    own = name.replace("_", "-")
    if own in MODELS:
        raise ConfigError(f"a model `{own}` already exists", hint="choose another name")
    path = directory / f"{name}.py"
    if path.exists():
        raise ConfigError(f"the file `{path}` already exists", hint="choose another name or --dir")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    try:
        write_text(path, fill("model.py.in", {"@name@": own, "@Class@": class_name}, room="formal/models"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"skeleton cannot be written: {reason}", source=str(directory)) from error
    return Skeleton([path], [f"fairweir verify cc_qdel --model {path}:{class_name}"])
