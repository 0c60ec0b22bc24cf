"""ST_Contains and getAgentName as Spark calls them for whole columns, in every process alike.

It knows nothing of Starskip, so that peers run it in an environment of their own. What the two mean is what
``starskip_contrib.geospatial_functions`` and ``user_agents`` say.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import shapely
from ua_parser import parse_user_agent


def contains(geometry_wkt: pa.Array, lat: pa.Array, lng: pa.Array) -> pa.Array:
    """Return for each point whether a geometry (WKT, the same one for all) contains it."""
    if not len(lat):
        return pa.array([], pa.bool_())
    return pa.array(shapely.contains_xy(_geometry(geometry_wkt[0].as_py()), lng.to_numpy(), lat.to_numpy()))


def agent_names(user_agents: pa.Array) -> pa.Array:
    """Return the name of each user agent."""
    coded = pc.dictionary_encode(user_agents)
    names = pa.array([agent_name(each) for each in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)


@lru_cache(maxsize=65_536)
def agent_name(user_agent: str) -> str:
    """Return the name of one user agent."""
    found = parse_user_agent(user_agent)
    return "Other" if found is None else found.family


@lru_cache(maxsize=16)
def _geometry(text: str) -> Any:
    found = shapely.from_wkt(text)
    shapely.prepare(found)
    return found


def register(spark: Any) -> None:
    """Make both known to a session under the names of Extensible Data Skipping."""
    from pyspark.sql.functions import arrow_udf
    from pyspark.sql.types import BooleanType, StringType

    # Spark derives the kind of function from what is annotated; names that it can resolve are passed here.
    def st_contains(wkt: pa.Array, lat: pa.Array, lng: pa.Array) -> pa.Array:
        return contains(wkt, lat, lng)

    def get_agent_name(user_agent: pa.Array) -> pa.Array:
        return agent_names(user_agent)

    for name, function, kind in (
        ("ST_Contains", st_contains, BooleanType()),
        ("getAgentName", get_agent_name, StringType()),
    ):
        function.__annotations__ = dict.fromkeys(function.__annotations__, pa.Array)
        spark.udf.register(name, arrow_udf(function, kind))
