"""Extras: installed packages in addition to the core, and the error that names a missing extra."""

from __future__ import annotations

from importlib.util import find_spec

from fairweir.errors import MissingExtraError

#: Modules of each extra of pyproject.toml; the first that has a module is proposed for it.
MODULES = {
    "plots": ("matplotlib",),
    "formal": ("z3", "sympy", "scipy"),
    "guard": ("sklearn", "threadpoolctl", "scipy"),
    "video": ("av", "skimage"),
    "cluster": ("distributed",),
}


def missing(module: str | None, user: str, preferred: str = "") -> MissingExtraError | None:
    """Return the error that says which extra has a module that could not be imported, None if none has.

    Parameters
    ----------
    module : name of the module, as ``ImportError.name`` has it
    user : what needs it, as ``fairweir verify``
    preferred : the extra that is proposed if it has the module
    """
    top = (module or "").partition(".")[0]
    found = [extra for extra, modules in MODULES.items() if top in modules]
    if not found:
        return None
    extra = preferred if preferred in found else found[0]
    return MissingExtraError(f"{user} needs {top}, which is not installed", hint=f"pip install 'fairweir[{extra}]'")


def lacking(module: str, user: str) -> MissingExtraError | None:
    """Return the error that a module of an extra is not installed, None if it is: without the time to import it."""
    try:
        is_there = find_spec(module) is not None
    except ValueError:  # it is None in sys.modules
        is_there = False
    return None if is_there else missing(module, user)


def require(module: str, user: str) -> None:
    """Check before long work that a module of an extra is there.

    Raises
    ------
    MissingExtraError : it is not installed
    """
    if error := lacking(module, user):
        raise error
