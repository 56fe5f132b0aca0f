"""The scripts and style sheets of interactive pages, which `make` builds from `web/`."""

from __future__ import annotations

from importlib import resources

from fairweir.errors import MissingExtraError


def bundle(name: str) -> str:
    """Return a built script or style sheet.

    Parameters
    ----------
    name : str, such as ``viewer.js``

    Raises
    ------
    MissingExtraError : `make` has not built it
    """
    try:
        return resources.files("fairweir.show").joinpath("bundles", name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingExtraError(f"the script `{name}` of interactive pages is not built", hint="run `make`") from None
