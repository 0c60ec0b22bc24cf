"""Functions that import their module when they are called: the DAG file names families without these modules.

A place is written ``package.module:name``, as in the register of stages, in full and in one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any


def lazy_function(place: str) -> Callable[..., Any]:
    """Return a function that imports and calls the function at ``place``."""
    return partial(_called, place)


def lazy_value(place: str) -> Callable[[], Any]:
    """Return a function that returns the value at ``place``."""
    return partial(resolve_name, place)


def lazy_values(**places: str) -> Callable[[], Mapping[str, Any]]:
    """Return a function that returns the values at ``places``, by their keywords."""
    return partial(_resolved, places)


def _called(place: str, *arguments: Any) -> Any:
    return resolve_name(place)(*arguments)


def _resolved(places: Mapping[str, str]) -> Mapping[str, Any]:
    return {key: resolve_name(place) for key, place in places.items()}
