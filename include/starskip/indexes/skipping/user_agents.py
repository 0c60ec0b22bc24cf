"""Names of user agents (seed 003, V-F and appendix C), by the ua-parser library and the data that it brings.

``register_functions`` makes ``get_agent_name`` known to Spark as ``getAgentName``: ``formatted:c:user_agent``
indexes serve that name.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import version
from typing import Any

from ua_parser import parse_user_agent

AGENT_NAME_FUNCTION = "udf:getagentname"
_LONGEST = 2000
_OTHER = "Other"


@lru_cache(maxsize=65_536)
def get_agent_name(user_agent: str | None) -> str | None:
    """Return the agent's name, such as ``Chrome``; ``Other`` for one that is not known, None for None."""
    if user_agent is None:
        return None
    found = parse_user_agent(user_agent[:_LONGEST])
    return _OTHER if found is None else found.family


def register_functions(spark: Any) -> None:
    """Make the function known to a session of Spark, by the name that indexes serve."""
    spark.udf.register("getAgentName", get_agent_name, "string")


def agent_names_version() -> str:
    """Return what decides the names: another version may give other ones."""
    return ", ".join(f"{name} {version(name)}" for name in ("ua-parser", "ua-parser-builtins"))
