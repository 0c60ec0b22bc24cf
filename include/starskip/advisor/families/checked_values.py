"""Checks of single values of users' families: numbers, texts and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf, isfinite
from numbers import Real
from typing import Any

from starskip.errors import printable

_MOST_TEXT = 200


class WrongValue(ValueError):
    """A wrong value of a user's family; its words stand behind "returned"."""


def number(what: str, value: Any, least: float = 0.0) -> float:
    """Return a finite number of at least ``least``; raises WrongValue."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise WrongValue(f"{what} that is {type(value).__name__}, not a number")
    try:
        found = float(value)
    except OverflowError:
        found = inf
    if not isfinite(found) or found < least:
        raise WrongValue(f"{what} of {found:g}, not a finite number of at least {least:g}")
    return found


def text(what: str, value: Any) -> str:
    """Return a text of one printable line; raises WrongValue."""
    if not isinstance(value, str) or not value or len(value) > _MOST_TEXT or printable(value) != value:
        raise WrongValue(f"{what} that is no text of one line and up to {_MOST_TEXT} characters")
    return value


def plain_json(what: str, value: Any) -> Any:
    """Return a copy of a value of JSON; raises WrongValue for anything else."""
    try:
        copied = json.loads(json.dumps(value, allow_nan=False))
        json.dumps(copied, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongValue(f"{what} that is no JSON") from error
    if copied != _listed(value):
        raise WrongValue(f"{what} with names that are no texts")
    return copied


def _listed(value: Any) -> Any:
    """Return ``value`` with lists for tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _listed(each) for key, each in value.items()}
    return [_listed(each) for each in value] if isinstance(value, list | tuple) else value
