"""The function ``getAgentName``: names of user agents, by the ua-parser library and its data.

See "Extensible Data Skipping", V-F and appendix C. ``register_functions`` registers it in a Spark session;
indexes ``formatted:c:user_agent`` serve it by that name. The library is the extra ``starskip[user-agents]``.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

from starskip.errors import ConfigError

ua_parser: ModuleType | None
try:
    import ua_parser
except ModuleNotFoundError:  # the extra is not installed
    ua_parser = None

AGENT_NAME_FUNCTION = "udf:getagentname"
_LONGEST = 2000
_OTHER = "Other"


@lru_cache(maxsize=65_536)
def get_agent_name(user_agent: str | None) -> str | None:
    """Return the agent's name, such as ``Chrome``; ``Other`` for an unknown agent, None for None."""
    if user_agent is None:
        return None
    if ua_parser is None:
        raise _missing_library()
    found = ua_parser.parse_user_agent(user_agent[:_LONGEST])
    return _OTHER if found is None else str(found.family)


def register_functions(spark: Any) -> None:
    """Register ``getAgentName`` in a Spark session."""
    spark.udf.register("getAgentName", get_agent_name, "string")


def agent_names_version() -> str:
    """Return the versions of the library and of its data: others may give other names.

    Raises ConfigError where the library is not installed.
    """
    try:
        return ", ".join(f"{name} {version(name)}" for name in ("ua-parser", "ua-parser-builtins"))
    except PackageNotFoundError:
        raise _missing_library() from None


def _missing_library() -> ConfigError:
    return ConfigError(
        "names of user agents need the library ua-parser: pip install 'starskip[user-agents]'",
        setting="index",
    )
