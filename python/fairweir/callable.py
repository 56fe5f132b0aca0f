"""Packages that are functions, too: ``fairweir.audit`` has modules, and ``fairweir.audit("bbr")`` runs an audit.

Importing a module of a package sets the package as an attribute of ``fairweir``, so the facade cannot have a function
of that name next to it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from inspect import Signature, signature
from types import ModuleType
from typing import Any


def make_callable(package: str, home: str, name: str) -> None:
    """Make a package that is being imported callable.

    Parameters
    ----------
    package : str, ``__name__`` of the package
    home, name : str; the module with the function, which is imported when it is first called, and the function
    """

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(home), name)(*args, **kwargs)

        @property
        def __signature__(self) -> Signature:
            return signature(getattr(import_module(home), name))

    sys.modules[package].__class__ = CallablePackage
