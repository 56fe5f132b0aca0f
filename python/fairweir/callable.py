"""Callable packages: ``fairweir.audit`` contains modules, and ``fairweir.audit("bbr")`` runs an audit.

When a module of a package is imported, Python sets the package as an attribute of ``fairweir``. The facade therefore
cannot have a function with the package's name; the package itself must be callable.
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
    home, name : str; the function's module, which is imported at the first call, and the function's name
    """

    class CallablePackage(ModuleType):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return getattr(import_module(home), name)(*args, **kwargs)

        @property
        def __signature__(self) -> Signature:
            return signature(getattr(import_module(home), name))

    sys.modules[package].__class__ = CallablePackage
