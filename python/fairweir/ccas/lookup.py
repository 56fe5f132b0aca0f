"""Find the Python class, rule or file that the name of a CCA refers to.

A rule is a CCA as data (a TOML file); a controller file (JSON) has a decision tree found by decision synthesis; a
plug-in is a shared library; a kernel C source is compiled for Linux. A built-in CCA is part of fairweir or of a QUIC
stack.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from fairweir import _core
from fairweir.ccas import class_objects
from fairweir.ccas.cca import Cca
from fairweir.ccas.controller_file import Controller, Kind
from fairweir.documents import shipped
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import CcaError, describe_exception

#: The QUIC stacks whose CCAs are named `STACK/NAME`.
QUIC_STACKS: Final = frozenset({"quinn", "noq", "quiche"})
#: CCA of a QUIC stack -> the CCA of fairweir that implements the same algorithm. BBRv2, which s2n-quic and quiche have,
#: is not in fairweir.
COUNTERPARTS: Final = {
    "quinn/cubic": "cubic",
    "s2n-quic/cubic": "cubic",
    "noq/cubic": "cubic",
    "quinn/newreno": "reno",
    "noq/newreno": "reno",
    "quinn/bbr": "bbr",
    "noq/bbr3": "bbr3",
    "quiche/reno": "reno",
    "quiche/cubic": "cubic",
}
#: The reason why the Linux kernel cannot run a controller file, and a hint.
_NO_CONTROLLER_FILES: Final = (
    "its beliefs need floating point, which BPF programs cannot use; omit `--on kernel` (docs/writing-a-cca.md)"
)


@dataclass(frozen=True)
class Algorithm:
    """A built-in CCA.

    Attributes
    ----------
    name : str, as scenarios and the command line use it
    summary : str, a description in one line
    defaults : dict from each parameter to its default
    version : str or None; the version of the QUIC stack that contains the CCA, None for a CCA of fairweir
    """

    name: str
    summary: str
    defaults: dict[str, Any]
    version: str | None


@cache
def algorithms() -> dict[str, Algorithm]:
    """Return the built-in CCAs by name."""
    rows = (
        Algorithm(name, summary, json.loads(defaults) or {}, version)
        for name, summary, defaults, version in _core.algorithms()
    )
    return {row.name: row for row in rows}


def stack_version(name: str) -> str | None:
    """Return the version of the QUIC stack that contains the CCA `name`; None for any other CCA."""
    row = algorithms().get(name)
    return row.version if row is not None else None


def is_python(name: str) -> bool:
    """Return whether `name` refers to a Python class: ``mine.py:MyCca`` or ``pkg.mod:MyCca``."""
    return ":" in name


def is_stack(name: str) -> bool:
    """Return whether `name` is a CCA of a QUIC stack, such as ``quinn/cubic``."""
    return name.partition("/")[0] in QUIC_STACKS and "/" in name and not is_python(name)


def is_of_stack(name: str) -> bool:
    """Return whether `name` is a CCA of a QUIC stack, in the simulator or in a whole stack."""
    return stack_version(name) is not None or is_stack(name)


def is_bpf_source(name: str) -> bool:
    """Return whether `name` is the path of a kernel C source."""
    return name.endswith(".bpf.c")


def is_plugin(name: str) -> bool:
    """Return whether `name` is the path of a plug-in: a shared library with the interface of ``fairweir_cc.h`` or
    ``fairweir_endpoint.h``.
    """
    return name.endswith(".so")


def is_native(name: str) -> bool:
    """Return whether `name` is a user's machine code (kernel C or a plug-in), which can crash or loop."""
    return is_bpf_source(name) or is_plugin(name)


def is_rule(name: str) -> bool:
    """Return whether `name` is the path of a rule, or the name of a shipped rule that is not also a built-in CCA."""
    return name.endswith(".toml") or (name not in algorithms() and name in shipped.by_name("rules"))


def is_controller_file(name: str) -> bool:
    """Return whether `name` is the path of a controller file, or the name of a shipped one."""
    if name.endswith(".json"):
        return True
    return name in shipped.by_name("controllers") and name not in algorithms() and not is_rule(name)


@cache
def rate_controllers() -> dict[str, Path]:
    """Return the shipped controller files that decide only on a rate, by name; the others also decide on video
    frames.
    """
    files = shipped.by_name("controllers")
    return {name: file for name, file in files.items() if json.loads(file.read_bytes())["kind"] == "rate"}


def why_not_on_the_kernel(name: str) -> tuple[str, str] | None:
    """Return the kind of the CCA `name` and a hint if the Linux kernel cannot run it, and None if the kernel can."""
    if is_python(name):
        return "a Python class", "write it in kernel C (`fairweir new cca NAME --c`), or leave out `--on kernel`"
    if is_plugin(name):
        return "a plug-in", "write it in kernel C (`fairweir new cca NAME --c`), or leave out `--on kernel`"
    if is_controller_file(name):
        return "a controller file", _NO_CONTROLLER_FILES
    return None


def check(name: str, *, base: Path | None = None) -> None:
    """Raise an error unless `name` is a CCA that can run.

    Parameters
    ----------
    name : str; the name of a built-in CCA, ``file.py:Class``, ``module:Class``, ``path.bpf.c``, ``path.so``,
        ``rule.toml`` or ``controller.json``
    base : Path; the scenario's folder. A relative path is searched in the working directory and then in this folder

    Raises
    ------
    CcaError : the CCA does not exist, or decides on video frames
    ConfigError : the file is not a valid rule or controller file
    """
    if is_python(name):
        _refuse_class_of_no_module(name)
        load_class(name, base=base)
    elif is_native(name):
        locate(name, base=base)
    elif is_rule(name):
        kernel_c(name, base=base)
    elif is_controller_file(name):
        _check_controller_file(name, locate(name, base=base))
    elif name not in algorithms() and not _is_unlisted(name):
        known = sorted({*algorithms(), *shipped.by_name("rules"), *rate_controllers()})
        otherwise = f"known are {', '.join(known)}; or name a class as `mine.py:MyCca`"
        hint = did_you_mean(name, known, otherwise=otherwise)
        if name.endswith(".py"):
            hint = f"name the class too: `{name}:MyCca`"
        raise CcaError(f"no congestion controller `{name}`", hint=hint, cca=name)


def _is_unlisted(name: str) -> bool:
    """Return whether `name` may be a controller of a stack whose controllers only its program knows."""
    stack = name.partition("/")[0]
    return is_stack(name) and not any(known.startswith(f"{stack}/") for known in algorithms())


def _check_controller_file(name: str, path: Path) -> None:
    if Controller.load(path).kind is not Kind.RATE:
        raise CcaError(
            f"`{name}` decides on video frames; a congestion controller decides only on a rate",
            hint=f'a congestion controller has "kind": "rate"; `fairweir video run --sender {path}` plays this one',
            cca=name,
        )


def _refuse_class_of_no_module(name: str) -> None:
    """Raise a CcaError if a name contains a colon but cannot be a Python class."""
    where, _, attribute = name.rpartition(":")
    hint = None
    if is_bpf_source(where):
        hint = f"kernel C has no classes: write `{where}`"
    elif is_plugin(where):
        hint = f"a plug-in has no classes: write `{where}`"
    elif where.endswith(".toml"):
        hint = f"a rule has no classes: write `{where}`"
    elif where.endswith(".json"):
        hint = f"a controller file has no classes: write `{where}`"
    elif "=" in attribute:
        hint = f"parameters go in braces: `{where}{{{attribute}}}`"
    elif where in algorithms():
        hint = f"`{where}` is a built-in controller: write only its name"
    if hint is not None:
        raise CcaError(f"not a congestion controller: `{name}`", hint=hint, cca=name)


def locate(file: str, *, base: Path | None = None) -> Path:
    """Return the path of `file`, which is searched in the working directory and then in the scenario's folder `base`.

    Raises
    ------
    CcaError : the file does not exist
    """
    named = {**shipped.by_name("controllers"), **shipped.by_name("rules")}.get(file)
    if named is not None:
        return named
    candidates = [Path(file)] + ([base / file] if base else [])
    for candidate in candidates:
        if candidate.is_file():
            return candidate.resolve()
    raise CcaError(f"no such file: `{file}`", hint="write the path relative to the working directory", cca=file)


def kernel_c(name: str, *, base: Path | None = None) -> Path:
    """Return the path of the kernel C for a ``path.bpf.c`` or a rule. For a rule, kernel C is generated and written to
    a cache.

    Raises
    ------
    CcaError : no such file
    ConfigError : the file is not a valid rule
    """
    path = locate(name, base=base)
    if not is_rule(name):
        return path
    from fairweir.ccas.generate import write_controller
    from fairweir.ccas.rule import Rule

    return write_controller(Rule.load(path))


def source_digest(name: str, *, base: Path | None = None) -> str | None:
    """Return a hash of the code that defines the CCA `name`, or None for a built-in CCA.

    Raises
    ------
    CcaError : no such file or module
    ConfigError : the file cannot be read
    """
    if is_python(name) and (known := class_objects.digest(name)) is not None:
        return known
    where = name.rpartition(":")[0] if is_python(name) else name
    if where.endswith(".py") or is_native(where) or is_rule(where) or is_controller_file(where):
        file: str | Path | None = locate(where, base=base)
    else:
        file = getattr(_load_module(where), "__file__", None) if is_python(name) else None
    if not file:
        return None
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    _digests[str(Path(file).resolve())] = digest
    return digest


#: Path of a file with code of a CCA -> its last digest.
_digests: dict[str, str] = {}


def known_digests() -> dict[str, str]:
    """Return the last digest of each file for which this process called :func:`source_digest`, by its path."""
    return dict(_digests)


def other_files(digests: Mapping[str, str]) -> list[str]:
    """Return the paths at which there are files with other digests; missing files do not count."""

    def is_other(path: Path, digest: str) -> bool:
        return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != digest

    return [path for path, digest in digests.items() if is_other(Path(path), digest)]


def load_module(name: str, *, base: Path | None = None) -> tuple[str, str, ModuleType]:
    """Load the module of ``file.py:Name`` or ``module:Name``.

    The result is the file or module as written, the text after the colon, and the module object.

    Raises
    ------
    CcaError : there is no such file or module, or its code raises an exception
    """
    where, _, attribute = name.rpartition(":")
    return where, attribute, _load_file(locate(where, base=base)) if where.endswith(".py") else _load_module(where)


def load_class(name: str, *, base: Path | None = None) -> type[Cca]:
    """Return the class that ``file.py:Class`` or ``module:Class`` refers to, or the class object with a generated name.

    Raises
    ------
    CcaError : the file, module or class does not exist, its code raises an exception, or the class is not a
        :class:`Cca`
    """
    known = class_objects.find(name)
    if known is not None:
        return known
    where, attribute, module = load_module(name, base=base)
    found: object = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Cca)]
    classes = [key for key in classes if key != "Cca"]
    if found is None:
        hint = f"it has {', '.join(f'`{c}`' for c in classes)}" if classes else "define `class MyCca(fairweir.Cca):`"
        raise CcaError(f"no class `{attribute}` in `{where}`", hint=hint, cca=name)
    if not (isinstance(found, type) and issubclass(found, Cca)):
        raise CcaError(
            f"`{attribute}` in `{where}` is not a congestion controller",
            hint=f"derive it: `class {attribute}(fairweir.Cca):`",
            cca=name,
        )
    return found


def _load_file(path: Path) -> ModuleType:
    key = f"fairweir_user_{path.stem}_{abs(hash(path)):x}"
    stamp = path.stat().st_mtime_ns
    loaded = sys.modules.get(key)
    if loaded is not None and getattr(loaded, "__fairweir_stamp__", None) == stamp:
        return loaded
    spec = importlib.util.spec_from_file_location(key, path)
    if spec is None or spec.loader is None:
        raise CcaError(f"not a Python file: `{path}`", cca=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[key] = module
    try:
        # Output that the module prints goes to stderr, because stdout may be the JSON result of a command.
        with redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[key]
        raise CcaError(f"`{path.name}` does not run: {_blame(error, path)}", cca=str(path)) from error
    vars(module)["__fairweir_stamp__"] = stamp
    return module


def _blame(error: Exception | SystemExit, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{type(error).__name__}: {error.msg} ({path.name}, line {error.lineno})"
    return describe_exception(error)


def _load_module(name: str) -> ModuleType:
    try:
        with redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            hint = "for a file write its path with `.py`: `mine.py:MyCca`"
            raise CcaError(f"no Python module `{name}`", hint=hint, cca=name) from error
        raise CcaError(f"module `{name}` cannot be imported: {describe_exception(error)}", cca=name) from error
    except (Exception, SystemExit) as error:
        raise CcaError(
            f"module `{name}` cannot be imported: {describe_exception(error)}",
            hint="for a file write its path with `.py`: `mine.py:MyCca`",
            cca=name,
        ) from error
