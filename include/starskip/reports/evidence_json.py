"""Write evidence as JSON text and read it back."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from starskip.errors import SourceError, printable
from starskip.reports.evidence import SCHEMA_VERSION, Evidence

# Valid JSON still, and nothing in it can start a tag, an entity or a code fence, wherever the text is pasted.
_HARMLESS = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&`\x7f"})


def evidence_to_json(evidence: Evidence) -> str:
    """Return the evidence as one ASCII JSON document, keys in the order of the fields, newline at the end."""
    document = {field.name: _plain(getattr(evidence, field.name)) for field in dataclasses.fields(evidence)}
    for name in ("sections", "not_used", "run_note"):
        if not document[name]:
            del document[name]
    return harmless_json(document) + "\n"


def harmless_json(value: object) -> str:
    """Return ``value`` as indented ASCII JSON in which ``<``, ``>``, ``&`` and backticks are escaped.

    Raises ValueError for NaN and infinities, which JSON does not know.
    """
    return json.dumps(value, indent=2, ensure_ascii=True, allow_nan=False).translate(_HARMLESS)


def evidence_from_json(text: str | bytes, source: str) -> Evidence:
    """Return the evidence that ``text`` holds; ``source`` names the file in a SourceError."""
    try:
        document = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{source}: not the JSON of a report ({error})", source=source) from None
    version = document.get("schema_version") if isinstance(document, dict) else None
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise SourceError(
            f"{source}: report of schema {version}, this Starskip reads up to {SCHEMA_VERSION}: update it",
            source=source,
        )
    try:
        evidence: Evidence = _value(Evidence, document, "report")
    except (ValueError, OverflowError) as error:
        raise SourceError(f"{source}: {error}", source=source) from None
    return evidence


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, date) else value


def _value(kind: Any, value: Any, place: str) -> Any:
    """Return ``value`` as the type ``kind`` says; ValueError names the ``place`` in the document."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        return _record(kind, value, place)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(arguments[0], each, f"{place}[{i}]") for i, each in enumerate(value))
    if origin is Mapping and isinstance(value, dict):
        return {
            key: _value(arguments[1], each, f"{place}.{printable(key, 60)}") for key, each in value.items()
        }
    if origin in (types.UnionType, Union):
        return _one_of(arguments, value, place)
    if origin is Literal and value in arguments:
        return value
    if kind in (date, datetime) and isinstance(value, str):
        return kind.fromisoformat(value)
    if kind is float and type(value) is int:
        return float(value)
    if kind in (str, int, float, bool, types.NoneType) and type(value) is kind:
        return value
    raise ValueError(f"{place}: expected {_name(kind)}, found {_excerpt(value)}")


def _one_of(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    # int before float, as JSON wrote them: a setting of 2 must not come back as 2.0.
    for kind in sorted(kinds, key=lambda each: each is float):
        with suppress(ValueError):
            return _value(kind, value, place)
    raise ValueError(f"{place}: expected {' or '.join(map(_name, kinds))}, found {_excerpt(value)}")


def _record(kind: Any, value: dict[str, Any], place: str) -> Any:
    types_of = _types(kind)
    if unknown := value.keys() - types_of.keys():
        raise ValueError(f"{place}: unknown field {printable(min(unknown), 60)}")
    absent = dataclasses.MISSING
    required = {
        f.name for f in dataclasses.fields(kind) if f.default is absent and f.default_factory is absent
    }
    if missing := required - value.keys():
        raise ValueError(f"{place}: field {min(missing)} is missing")
    return kind(**{name: _value(types_of[name], each, f"{place}.{name}") for name, each in value.items()})


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _name(kind: Any) -> str:
    names = {tuple: "a list", Mapping: "a mapping", types.NoneType: "null"}
    return names.get(get_origin(kind) or kind) or str(getattr(kind, "__name__", kind))


def _excerpt(value: Any) -> str:
    return printable(json.dumps(value), 60)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")
