"""Extras: optional groups of dependencies, and the error that names a missing extra."""

from __future__ import annotations

from importlib.util import find_spec

from fairweir.errors import MissingExtraError

#: Extra in pyproject.toml -> its modules. Of several extras with a module, the first is proposed.
MODULES = {
    "plots": ("matplotlib",),
    "formal": ("z3", "sympy", "scipy"),
    "guard": ("sklearn", "threadpoolctl", "scipy"),
    "video": ("av", "skimage"),
    "cluster": ("distributed",),
    "studio": ("starlette", "uvicorn"),
}


def missing(module: str | None, user: str, preferred: str = "") -> MissingExtraError | None:
    """Return the error that names the extra of a module that could not be imported; None if no extra has the module.

    Parameters
    ----------
    module : name of the module, as in ``ImportError.name``
    user : the command or function that needs the module, such as ``fairweir verify``
    preferred : the extra to propose if it has the module
    """
    top = (module or "").partition(".")[0]
    found = [extra for extra, modules in MODULES.items() if top in modules]
    if not found:
        return None
    extra = preferred if preferred in found else found[0]
    return MissingExtraError(f"{user} needs {top}, which is not installed", hint=f"pip install 'fairweir[{extra}]'")


def lacking(module: str, user: str) -> MissingExtraError | None:
    """Return the error for a module of an extra that is not installed, else None; the module is not imported."""
    try:
        is_there = find_spec(module) is not None
    except ValueError:  # the module is None in sys.modules
        is_there = False
    return None if is_there else missing(module, user)


def require(module: str, user: str) -> None:
    """Check, before long work, that a module of an extra is installed.

    Raises
    ------
    MissingExtraError : the module is not installed
    """
    if error := lacking(module, user):
        raise error
