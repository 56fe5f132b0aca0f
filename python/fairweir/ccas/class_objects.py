"""Controllers given as class objects: their names, and how they are sent to other processes.

The name of a class that every process can import has its module (``package.module:Mine``) or its file
(``mine.py:Mine``). Other processes cannot import a class that is defined in a notebook, a script or a function. Such a
class gets a numbered name (``__main__:Mine#1``) that refers to this object only, and it is sent to workers as code
(cloudpickle).
"""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import PathFinder
from operator import attrgetter
from typing import Any

from fairweir.ccas.cca import Cca
from fairweir.errors import CcaError

_HINT = "define the class in a file and give its path and name: `mine.py:Mine`"

#: Name -> class, for the classes of this process.
_known: dict[str, type[Any]] = {}
#: Name -> class received from another process: pickled code, or the reason why it could not be pickled.
_received: dict[str, bytes | str] = {}

#: What is sent to another process: name -> pickled code, or the reason why the class cannot be pickled.
Parcel = dict[str, bytes | str]


def name_of(cls: type[Any]) -> str:
    """Return the name with which scenarios refer to the class `cls`.

    Raises
    ------
    CcaError : `cls` is not a subclass of :class:`fairweir.Cca`
    """
    if not issubclass(cls, Cca) or cls is Cca:
        hint = f"derive it: `class {cls.__name__}(fairweir.Cca):`"
        raise CcaError(f"`{cls.__name__}` is not a congestion controller", hint=hint, cca=cls.__qualname__)
    if (name := _importable_name(cls)) is not None:
        return name
    stem = f"{cls.__module__}:{cls.__qualname__}"
    taken = (f"{stem}#{number}" for number in range(1, len(_known) + 2))
    name = next(name for name in taken if _known.get(name, cls) is cls)
    _known[name] = cls
    return name


def offer(name: str) -> None:
    """Register the class that a string such as ``__main__:Mine`` names, so that workers have it; ignore other names."""
    where, _, attribute = name.rpartition(":")
    if where == "__main__" and "#" not in attribute:
        found = _attribute(sys.modules["__main__"], attribute)
        if isinstance(found, type):
            _known[name] = found


def find(name: str) -> type[Any] | None:
    """Return the class object called `name`; None if there is none.

    Raises
    ------
    CcaError : the class was defined in another process or session and could not be sent
    """
    if name in _known:
        return _known[name]
    sent = _received.get(name)
    if isinstance(sent, str):
        raise CcaError(f"class `{name}` cannot be sent to another process: {sent}", hint=_HINT, cca=name)
    if sent is not None:
        import cloudpickle

        _known[name] = cloudpickle.loads(sent)
        return _known[name]
    if "#" in name:
        raise CcaError(f"`{name}` was defined in another session", hint=_HINT, cca=name)
    return None


def parcel() -> Parcel:
    """Return all classes that other processes cannot import, as the argument for :func:`receive` in those processes."""
    return {**_received, **{name: _pickled(cls) for name, cls in _known.items()}}


def receive(sent: Parcel) -> None:
    """Register classes that :func:`parcel` returned in another process."""
    _received.update(sent)


def digest(name: str) -> str | None:
    """Return a hash of the code of a class that is sent as code; None if `name` is not such a class."""
    cls = find(name)
    if cls is None:
        return None
    code = _pickled(cls)
    # A class that cannot be pickled has no reproducible hash; with its id, its stored runs are never reused.
    return hashlib.sha256(code).hexdigest() if isinstance(code, bytes) else f"{code} {id(cls)}"


def _importable_name(cls: type[Any]) -> str | None:
    """Return a name that refers to `cls` in all processes, with its file or its module; None if there is none."""
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or _attribute(module, cls.__qualname__) is not cls:
        return None
    if hasattr(module, "__fairweir_stamp__"):
        return f"{module.__file__}:{cls.__qualname__}"
    return f"{cls.__module__}:{cls.__qualname__}" if _is_on_path(cls.__module__) else None


def _is_on_path(module: str) -> bool:
    """Return whether an interpreter with the same path would find `module` if it were not loaded."""
    path: list[str] | None = None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), path)
        if spec is None:
            return False
        path = list(spec.submodule_search_locations or [])
    return True


def _attribute(module: object, dotted: str) -> object:
    """Return ``Outer.Inner`` of a module; None if there is no such attribute."""
    try:
        found: object = attrgetter(dotted)(module)
    except AttributeError:
        return None
    return found


def _pickled(cls: type[Any]) -> bytes | str:
    import cloudpickle

    module = sys.modules.get(cls.__module__)
    by_value = module is not None and cls.__module__ != "__main__" and not _is_on_path(cls.__module__)
    if by_value:
        cloudpickle.register_pickle_by_value(module)
    try:
        return bytes(cloudpickle.dumps(cls))
    except Exception as error:  # noqa: BLE001 - a user's class may refer to anything
        return f"{type(error).__name__}: {error}"
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
