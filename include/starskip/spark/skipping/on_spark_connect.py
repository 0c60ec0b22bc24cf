"""Public functions in a session of Spark Connect: they warn, and do not change the query."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

log = logging.getLogger("starskip.skipping")

_CONNECT = "pyspark.sql.connect."
_ANSWERS: Mapping[str, Callable[[], Any]] = {
    "is_enabled": bool,
    "last_query_stats": list,
    "explain": list,
    "describe": dict,
    "list_indexes": list,
}
"""Return values without a JVM; other functions return None, ``skip`` the DataFrame."""
_ON_THE_SERVER = frozenset({"enable", "disable", "is_enabled", "last_query_stats", "explain", "skip"})

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def classic_only(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Make a public function warn and do nothing if it gets a session or DataFrame of Spark Connect.

    Such a session has no JVM in this process, so its plans and listings are out of reach.
    """

    @functools.wraps(function)
    def guarded(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        if any(map(_is_of_connect, (*arguments, *named.values()))):
            answer: Returned = without_jvm(function.__name__)(*arguments, **named)
            return answer
        return function(*arguments, **named)

    return guarded


def without_jvm(name: str) -> Callable[..., Any]:
    """Return the replacement of the public function ``name`` where there is no JVM."""

    def warned(*arguments: Any, **named: Any) -> Any:
        way_out = (
            "enable it in the program that runs the server"
            if name in _ON_THE_SERVER
            else "run it in the program that runs the server, or with the command starskip skipping"
        )
        log.warning(
            "%s: not skipping, because this is a session of Spark Connect, whose JVM is the server's: "
            "queries run as ever; %s",
            name,
            way_out,
        )
        if name == "skip":
            return named["dataframe"] if "dataframe" in named else arguments[0]
        return _ANSWERS[name]() if name in _ANSWERS else None

    return warned


def _is_of_connect(given: Any) -> bool:
    return any(each.__module__.startswith(_CONNECT) for each in type(given).__mro__)
