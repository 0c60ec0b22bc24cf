"""The advisor tells functions in logs by names alone, since it does not import what defines them."""

from __future__ import annotations

from starskip.advisor.families.secondary.advice import secondary_candidates
from starskip.advisor.families.skipping.choice import column_uses
from starskip.skipping.registry import index_from_specification
from starskip_contrib import geospatial_functions, user_agents
from starskip_contrib.metric_distances import TEXT_METRIC, VECTOR_METRICS


def test_names_that_the_advisor_knows_are_those_of_the_functions() -> None:
    assert set(column_uses._METRICS) == {*VECTOR_METRICS, TEXT_METRIC}
    assert column_uses._AGENT_NAME == user_agents.AGENT_NAME_FUNCTION
    assert geospatial_functions.__name__ == secondary_candidates._MODULE


def test_an_index_names_the_module_of_its_functions_but_for_sparks_own() -> None:
    of = {
        "formatted:c:user_agent": "starskip_contrib.user_agents",
        "formatted:c:url_host": None,
        "geometrybox:c": "starskip_contrib.geospatial_functions",
        "ipnetworks:c": "starskip_contrib.ip_networks",
        "metricdist:c:levenshtein": "starskip_contrib.metric_distances",
        "minmax:c": None,
    }
    assert {name: index_from_specification(name).module_of_functions for name in of} == of
