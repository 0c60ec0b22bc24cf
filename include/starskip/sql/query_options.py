"""Options of a query that decide which indexes answer it: ``SET …;`` around it, ``OPTION(…)`` behind it.

Of Pinot's options (QueryOptionsUtils) three do so. They stay in a skeleton, in one spelling in front of it,
so that queries with and without them are different shapes. All others, such as a timeout, are cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

_SKIPPED = re.compile(r"[^\s\"`=&,\x00]+=\w+(?:,\w+)*(?:&[^\s\"`=&,\x00]+=\w+(?:,\w+)*)*")
_HEAD = re.compile(r'(?P<words>(?>(?:SET \w+=(?:\w+|"[^"]*"); )+))(?P<query>.*)', re.DOTALL)
_SETTING = re.compile(r'SET (\w+)=(?:"([^"]*)"|(\w+)); ')


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """Options that decide which indexes answer a query.

    ``skipped_indexes``: by column, as the query spells it, the types of indexes that the query does without.
    """

    uses_star_tree: bool = True
    handles_nulls: bool = False
    skipped_indexes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The options as they stand in front of a skeleton; empty for Pinot's defaults."""
        found = []
        if not self.uses_star_tree:
            found.append("SET useStarTree=false; ")
        if self.handles_nulls:
            found.append("SET enableNullHandling=true; ")
        if self.skipped_indexes:
            # In double quotes, as names are: in single ones it would be a literal.
            columns = (f"{name}={','.join(sorted(types))}" for name, types in self.skipped_indexes.items())
            found.append(f'SET skipIndexes="{"&".join(sorted(columns))}"; ')
        return "".join(found)


DEFAULTS = QueryOptions()


def query_options(given: Iterable[tuple[str, str]]) -> QueryOptions:
    """Return the options among ``given`` keys and values; the last value of a key counts, in any case."""
    values = {key.lower(): value.strip() for key, value in given}
    return QueryOptions(
        uses_star_tree=values.get("usestartree", "").lower() != "false",
        handles_nulls=values.get("enablenullhandling", "").lower() == "true",
        skipped_indexes=_skipped(values.get("skipindexes", "")),
    )


def split_options(skeleton: str) -> tuple[QueryOptions, str]:
    """Return the options in front of a skeleton, and the skeleton without them."""
    found = _HEAD.fullmatch(skeleton) if skeleton.startswith("SET ") else None
    if found is None:
        return DEFAULTS, skeleton
    settings = _SETTING.findall(found["words"])
    return query_options((key, quoted or plain) for key, quoted, plain in settings), found["query"]


def _skipped(text: str) -> Mapping[str, frozenset[str]]:
    """Return the index types by column of ``a=inverted,range&b=inverted``; Pinot refuses any other form."""
    if not _SKIPPED.fullmatch(text):
        return {}
    found: dict[str, frozenset[str]] = {}
    for column in text.split("&"):
        name, _, types = column.partition("=")
        found[name] = found.get(name, frozenset()) | frozenset(types.lower().split(","))
    return found
