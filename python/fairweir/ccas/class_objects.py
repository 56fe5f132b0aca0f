"""Name CCAs that are given as Python classes, and send the classes to other processes.

If every process can import a class, the class is named after its module (``package.module:Mine``) or its file
(``mine.py:Mine``). Other processes cannot import a class that is defined in a notebook, a script or a function. Such a
class gets a numbered name (``__main__:Mine#1``), which refers only to this class object, and the code of the class is
sent to worker processes (cloudpickle).
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

#: Name -> class, for the classes that were named in this process.
_known: dict[str, type[Any]] = {}
#: Name -> class received from another process, as pickled code; or the reason why the class could not be pickled.
_received: dict[str, bytes | str] = {}

#: The data sent to another process: name -> pickled code of the class, or the reason why the class cannot be pickled.
Parcel = dict[str, bytes | str]


def name_of(cls: type[Any]) -> str:
    """Return the name by which scenarios refer to the class `cls`.

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
    """If `name` names a class in ``__main__``, such as ``__main__:Mine``, register the class so that workers receive
    it.
    """
    where, _, attribute = name.rpartition(":")
    if where == "__main__" and "#" not in attribute:
        found = _attribute(sys.modules["__main__"], attribute)
        if isinstance(found, type):
            _known[name] = found


def find(name: str) -> type[Any] | None:
    """Return the class called `name`, or None if no class with this name is registered or was received.

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
    """Return all classes that other processes cannot import, in the form that :func:`receive` accepts there."""
    return {**_received, **{name: _pickled(cls) for name, cls in _known.items()}}


def receive(sent: Parcel) -> None:
    """Register the classes that :func:`parcel` returned in another process."""
    _received.update(sent)


def digest(name: str) -> str | None:
    """Return a hash of the code of the class `name`, or None if `name` is not a class that is sent as code."""
    cls = find(name)
    if cls is None:
        return None
    code = _pickled(cls)
    # The code of a class that cannot be pickled has no reproducible hash. Its id is used instead, so that stored runs
    # of the class are never reused.
    return hashlib.sha256(code).hexdigest() if isinstance(code, bytes) else f"{code} {id(cls)}"


def _importable_name(cls: type[Any]) -> str | None:
    """Return a name of `cls`, with its file or module, that has the same meaning in all processes; None if there is
    none.
    """
    module = sys.modules.get(cls.__module__)
    if module is None or cls.__module__ == "__main__" or _attribute(module, cls.__qualname__) is not cls:
        return None
    if hasattr(module, "__fairweir_stamp__"):
        return f"{module.__file__}:{cls.__qualname__}"
    return f"{cls.__module__}:{cls.__qualname__}" if _is_on_path(cls.__module__) else None


def _is_on_path(module: str) -> bool:
    """Return whether a new interpreter with the same search path could import `module`."""
    path: list[str] | None = None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), path)
        if spec is None:
            return False
        path = list(spec.submodule_search_locations or [])
    return True


def _attribute(module: object, dotted: str) -> object:
    """Return the attribute with a dotted name, such as ``Outer.Inner``, of a module; None if there is no such
    attribute.
    """
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
