"""Validate the arguments of public functions when they are called, before long work begins."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import wraps
from operator import index
from typing import Any, ParamSpec, SupportsIndex, TypeVar

from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=StrEnum)

_MANY = ("Sequence[", "Iterable[", "list[", "tuple[")


def member(kind: type[E], value: Any, name: str) -> E:
    """Return a member of the enum `kind`, given the member itself or its text.

    Raises
    ------
    ConfigError : the value is neither; the error names the argument and the most similar member
    """
    try:
        return kind(value)
    except ValueError:
        words = [str(one) for one in kind]
        raise ConfigError(f"{name} cannot be `{value}`", hint=did_you_mean(str(value), words)) from None


def one_of(known: Iterable[str], value: object, name: str) -> None:
    """Raise a ConfigError, which names the argument, unless `value` is in `known`."""
    words = list(known)
    if value not in words:
        raise ConfigError(f"{name} cannot be `{value}`", hint=did_you_mean(str(value), words))


def text(value: object, name: str) -> str:
    """Return `value` if it is a string.

    Raises
    ------
    ConfigError : the value is not a string; the error names the argument
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a text: `{value!r:.60}`", key=name)
    return value


def count(value: object, name: str, minimum: int = 1) -> int:
    """Return `value` if it is an integer of at least `minimum`.

    Raises
    ------
    ConfigError : the value is less than `minimum` or not an integer; the error names the argument
    """
    if isinstance(value, bool) or not isinstance(value, SupportsIndex) or index(value) < minimum:
        expected = "positive" if minimum == 1 else f"at least {minimum}"
        raise ConfigError(f"{name} must be a whole number, {expected}: `{value!r:.60}`", key=name)
    return index(value)


def text_with_unit(value: object, name: str, example: str) -> str:
    """Return `value` if it is a string.

    Raises
    ------
    ConfigError : the value is not a string, such as a bare number; the error names the argument and shows `example`
    """
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be a text with a unit: `{value}`", hint=f'write "{example}"')
    return value


def words_for_enums(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate `function` so that callers may pass the text of an enum's member instead of the member.

    This applies to all parameters that are annotated with a StrEnum or a sequence of a StrEnum. A member equals its
    text, but the text has no attribute ``value`` and no methods. Without the conversion, a text would therefore fail
    late, after part of the work.

    Raises
    ------
    ConfigError : raised by the decorated function if an argument is neither a member nor a member's text
    """
    kinds: dict[str, tuple[type[StrEnum], bool]] | None = None
    names = list(inspect.signature(function).parameters)

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        nonlocal kinds
        if kinds is None:
            kinds = enum_parameters(function)
        given: list[Any] = list(args)
        named: dict[str, Any] = dict(kwargs)
        for name, (kind, is_many) in kinds.items():
            at = names.index(name)
            place: Any = (given, at) if at < len(given) else (named, name)
            if place[0] is given or name in named:
                place[0][place[1]] = _members(kind, place[0][place[1]], name, is_many=is_many)
        return function(*given, **named)

    return checked


def _members(kind: type[StrEnum], value: Any, name: str, *, is_many: bool) -> Any:
    if value is None or isinstance(value, kind):
        return value
    if not is_many:
        return member(kind, value, name)
    if isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    return [member(kind, one, name) for one in value]


def enum_parameters(function: Callable[..., Any]) -> dict[str, tuple[type[StrEnum], bool]]:
    """Return the parameters of `function` that are annotated with a StrEnum: name -> the enum, and whether it is a
    sequence.
    """
    space: Mapping[str, Any] = inspect.unwrap(function).__globals__
    found = {}
    for name, annotation in function.__annotations__.items():
        if name == "return":
            continue
        words = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
        if words.startswith(("Callable[", "Mapping[", "dict[")):
            continue
        kinds = [space[word] for word in re.findall(r"\w+", words) if _is_enum(space.get(word))]
        if kinds:
            found[name] = (kinds[0], words.startswith(_MANY))
    return found


def _is_enum(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, StrEnum)
