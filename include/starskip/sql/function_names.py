"""Compare names of functions as Pinot does: without regard to case and underscores."""

from __future__ import annotations

import re

_AGGREGATIONS = frozenset(
    [
        "anyvalue",
        "approxdistinct",
        "arrayagg",
        "avg",
        "avgmv",
        "avgvalueintegersumtuplesketch",
        "booland",
        "boolor",
        "corr",
        "count",
        "countdistinct",
        "countmv",
        "covarpop",
        "covarsamp",
        "distinctavg",
        "distinctavgmv",
        "distinctcount",
        "distinctcountbitmap",
        "distinctcountbitmapmv",
        "distinctcountcpcsketch",
        "distinctcounthll",
        "distinctcounthllmv",
        "distinctcounthllplus",
        "distinctcounthllplusmv",
        "distinctcountmv",
        "distinctcountoffheap",
        "distinctcountrawcpcsketch",
        "distinctcountrawhll",
        "distinctcountrawhllmv",
        "distinctcountrawhllplus",
        "distinctcountrawhllplusmv",
        "distinctcountrawintegersumtuplesketch",
        "distinctcountrawthetasketch",
        "distinctcountrawull",
        "distinctcountsmarthll",
        "distinctcountsmarthllplus",
        "distinctcountsmartull",
        "distinctcountthetasketch",
        "distinctcounttuplesketch",
        "distinctcountull",
        "distinctsum",
        "distinctsummv",
        "exprmax",
        "exprmin",
        "fasthll",
        "fasthllmv",
        "firstwithtime",
        "fourthmoment",
        "frequentlongssketch",
        "frequentstringssketch",
        "funnelcompletecount",
        "funnelcount",
        "funneleventsfunctioneval",
        "funnelmatchstep",
        "funnelmaxstep",
        "funnelstepdurationstats",
        "histogram",
        "idset",
        "kurtosis",
        "lastwithtime",
        "listagg",
        "max",
        "maxlong",
        "maxmv",
        "maxstring",
        "min",
        "minlong",
        "minmaxrange",
        "minmaxrangemv",
        "minmv",
        "minstring",
        "mode",
        "segmentpartitioneddistinctcount",
        "skewness",
        "stddev",
        "stddevpop",
        "stddevsamp",
        "stringagg",
        "stunion",
        "sum",
        "sum0",
        "sumarraydouble",
        "sumarraylong",
        "sumint",
        "sumlong",
        "summv",
        "sumprecision",
        "sumvaluesintegersumtuplesketch",
        "timeseriesaggregate",
        "variance",
        "varpop",
        "varsamp",
    ]
)
"""AggregationFunctionType of all releases; MINUS and MINUTE, which begin as MIN does, are not among them."""

_PERCENTILE = re.compile(r"percentile[a-z]*\d*(?:mv)?")
"""PERCENTILE, PERCENTILEEST, …; up to 1.0 the percentile may be part of the name."""


def canonical_name(function: str) -> str:
    """Return the name of a function as Pinot compares it (RequestUtils.canonicalizeFunctionName)."""
    return function.replace("_", "").lower()


def is_aggregation_name(function: str) -> bool:
    """Return whether Pinot has an aggregation function of that name."""
    name = canonical_name(function)
    return name in _AGGREGATIONS or _PERCENTILE.fullmatch(name) is not None
