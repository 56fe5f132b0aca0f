"""Convert pydantic's validation errors to errors that state the message, value, file, key and a hint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fairweir.documents.quantities import show
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError

#: Type of a pydantic error -> the kind of TOML value that is required.
_KINDS = {
    "model_type": "a table",
    "model_attributes_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "a text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
}


def explain(error: ValidationError, model: type[BaseModel], raw: Any, source: str | None) -> ConfigError:
    """Return the first error as a ConfigError, with the other errors in its attribute ``others``.

    Parameters
    ----------
    error : ValidationError
    model : the pydantic model against which `raw` was validated
    raw : the document; a part of pydantic's location that is not among the document's keys was not written by the user
    source : str, the file's name
    """
    errors = error.errors(include_url=False)
    # A misspelled key is reported first, because it explains why the correct key is missing.
    errors.sort(key=lambda e: e["type"] != "extra_forbidden")
    problems = [_problem(e, model, raw, source) for e in errors]
    first = problems[0]
    first.others = tuple(problems[1:])
    return first


def _problem(error: ErrorDetails, model: type[BaseModel], raw: Any, source: str | None) -> ConfigError:
    path = _user_path(error["loc"], raw, names_absent=error["type"] == "missing")
    context = error.get("ctx", {})
    kind, found = error["type"], error["input"]
    noun = noun_of(path)
    key = ".".join(map(str, path))
    message, hint = "", None
    if kind == "fairweir":
        message, hint, key = context["problem"].replace("{noun}", noun), context["hint"], context["key"] or key
        message += f": `{context['shown']}`" if context["shown"] else ""
    elif kind == "extra_forbidden":
        known = _known_keys(error["loc"][:-1], model, raw)
        message, hint = f"unknown key `{path[-1]}`", did_you_mean(str(path[-1]), sorted(known))
    elif kind == "missing":
        message, hint = f"{noun} is missing", _example(error["loc"], model)
    elif kind == "union_tag_invalid":
        known = [tag.strip().strip("'") for tag in context["expected_tags"].split(",")]
        message, hint = f"{noun} has an unknown kind: `{context['tag']}`", did_you_mean(context["tag"], sorted(known))
        key += ".kind"
    elif kind == "union_tag_not_found":
        message, hint = f"{noun} needs a kind", 'write it as { kind = "...", ... }'
    elif kind in {"greater_than_equal", "greater_than", "less_than_equal", "less_than"}:
        words = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}
        bound = next(f"{words[k]} {v}" for k, v in context.items() if k in words)
        message = f"{noun} must be {bound}: `{show(found)}`"
    elif kind in {"literal_error", "enum"}:
        message, hint = f"{noun} cannot be `{show(found)}`", f"write {context['expected']}"
    elif kind in {"too_short", "too_long"}:
        message = f"{noun} has the wrong length: `{show(found)}`"
    elif kind in _KINDS:
        message = f"{noun} must be {_KINDS[kind]}: `{show(found)}`"
        hint = _example_table(error["loc"], model) if _KINDS[kind] == "a table" else None
    else:
        message = f"{noun}: {error['msg'].lower()}: `{show(found)}`"
    return ConfigError(message, hint=hint or None, source=source, key=key)


def noun_of(path: Sequence[str | int]) -> str:
    """Return a key in words, such as "link rate" for ``("link", "bottleneck", "rate")``."""
    words = [str(part) for i, part in enumerate(path) if isinstance(part, str) and not (i == 1 and path[0] == "link")]
    return " ".join(words[-2:]) if words else "scenario"


def _user_path(loc: Sequence[str | int], raw: Any, *, names_absent: bool) -> list[str | int]:
    """Return a location without the parts that pydantic adds: tags of unions, and the index of a single table."""
    path: list[str | int] = []
    here: Any = raw
    for i, part in enumerate(loc):
        is_last = i == len(loc) - 1
        if isinstance(here, dict) and part in here:
            here = here[part]
        elif isinstance(here, (list, tuple)) and isinstance(part, int) and part < len(here):
            here = here[part]
        elif not (names_absent and is_last):
            continue
        path.append(part)
    return path


def _known_keys(loc: Sequence[str | int], model: type[BaseModel], raw: Any) -> list[str]:
    owner = _model_at(loc, model)
    return [field.alias or name for name, field in owner.model_fields.items()] if owner else []


def _example(loc: Sequence[str | int], model: type[BaseModel]) -> str | None:
    owner = _model_at(loc[:-1], model)
    field = owner.model_fields.get(str(loc[-1])) if owner else None
    if field is None or not field.examples:
        return None
    return f"write {loc[-1]} = {field.examples[0]}"


def _example_table(loc: Sequence[str | int], model: type[BaseModel]) -> str | None:
    """Return a hint with an example of the table at `loc`: its kind, if there are several kinds, and its required
    keys.
    """
    end = max((i for i, part in enumerate(loc) if isinstance(part, str)), default=0)
    key = str(loc[end])
    owner = _model_at(loc[:end], model)
    field = owner.model_fields.get(key) if owner else None
    table = next(iter(_models_in(field.annotation)), None) if field else None
    if table is None:
        return None
    rows = [f'kind = "{tag}"' for tag in _tags(table)[:1]]
    needed = ((name, one) for name, one in table.model_fields.items() if one.examples and one.is_required())
    rows += [f"{name} = {one.examples[0]}" for name, one in needed if one.examples]
    return f"write it as {key} = {{ {', '.join(rows)} }}" if rows else None


def _model_at(loc: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the pydantic model at a location, which consists of names, indices and tags of unions; None if there is
    none.
    """
    here: list[type[BaseModel]] = [model]
    for part in loc:
        step: list[type[BaseModel]] = []
        for owner in here:
            if isinstance(part, str) and part in owner.model_fields:
                step += _models_in(owner.model_fields[part].annotation)
        tagged = [owner for owner in here if part in _tags(owner)]
        here = step or tagged or here
    return here[0] if here else None


def _tags(model: type[BaseModel]) -> tuple[Any, ...]:
    field = model.model_fields.get("kind")
    return getattr(field.annotation, "__args__", ()) if field else ()


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for arg in getattr(annotation, "__args__", ()) for found in _models_in(arg)]
