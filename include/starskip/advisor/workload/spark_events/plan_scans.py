"""The scans of files in a plan of an event log (Spark 4.2, SparkPlanInfo and FileSourceScanExec.metadata).

A scan's ``DataFilters`` are complete, in the text form of Catalyst's expressions; ``Location`` names at least
its first path. Functions in Python are no data filters: they are evaluated above the scan, into columns
``pythonUDF0#25`` that filters above name. Such a filter belongs to the scan if all nodes between pass their
child's rows on unchanged. The children of a plan node also include its subqueries. Delta's own reading of its
log is no scan of a table, and its test for deleted rows no filter of a query.

A scan of an Iceberg table has no such metadata: it has the table's name, or place, and the metrics. Its
filters are the filters above it, except the filters that its partitions decide. Only the table knows its
columns' types.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_NODES = 50_000
MAX_FILTER_CHARACTERS = 1 << 18
FILES_READ, BYTES_READ, ROWS_READ = "number of files read", "size of files read", "number of output rows"

_LOCATION = re.compile(r"(\w+)\((\d{1,9}) paths?\)\[(.*)\]?", re.DOTALL)
_EVALUATED = re.compile(r"(?:Batch|Arrow)EvalPython \[(.*)\], \[([^\]]*)\]", re.DOTALL)
_NAMED = re.compile(r"#\d+L?")
_PYTHON = "pythonUDF"
_ICEBERG = re.compile(r"IcebergScan\(table=([^,]+), ")
_OF_ICEBERG = {"number of result data files": FILES_READ, "total data file size (bytes)": BYTES_READ}
_DELTA_LOG = "/_delta_log/"
_NOT_DELETED = r"\(__delta_internal_is_row_deleted#\d+L? = 0\)"
_OF_DELTA = re.compile(rf"{_NOT_DELETED}, |(?:^|, ){_NOT_DELETED}$")
_TRANSPARENT = (
    "WholeStageCodegen",
    "InputAdapter",
    "ColumnarToRow",
    "RowToColumnar",
    "Project",
    "Sort",
    "Filter",
    "BatchEvalPython",
    "ArrowEvalPython",
)


@dataclass(frozen=True, slots=True)
class PlanScan:
    """One scan of a plan; ``metrics``: accumulators by the name of the metric.

    ``location``: the first of its paths. ``filters``: conjuncts as text, all of which its rows must satisfy.
    ``read_schema``: a struct in Spark's words, empty for Iceberg. The location of an Iceberg table of a
    catalog is its name.
    """

    file_format: str
    location: str
    filters: tuple[str, ...]
    read_schema: str
    metrics: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Above:
    """``filters``: filters with functions in Python; ``others``: all others, which file scans repeat."""

    filters: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


def plan_scans(plan: Mapping[str, Any]) -> dict[int, PlanScan]:
    """Return the scans by the accumulator of the number of files read, which a reused scan shares.

    Raises ValueError unless ``plan`` is a plan of at most 50,000 nodes.
    """
    found: dict[int, PlanScan] = {}
    waiting: list[tuple[Mapping[str, Any], _Above]] = [(plan, _Above())]
    seen = 0
    while waiting:
        node, above = waiting.pop()
        seen += 1
        if seen > MAX_NODES:
            raise ValueError(f"a plan of more than {MAX_NODES} nodes")
        metadata = node["metadata"]
        if "Location" in metadata and "DataFilters" in metadata:
            scan = _scan(node, above)
            if FILES_READ in scan.metrics and _DELTA_LOG not in scan.location:
                found[scan.metrics[FILES_READ]] = scan
        elif node["nodeName"].startswith("BatchScan ") and (named := _ICEBERG.search(node["simpleString"])):
            scan = _iceberg_scan(node, named[1], above)
            if FILES_READ in scan.metrics:
                found[scan.metrics[FILES_READ]] = scan
        below = _below(node, above)
        waiting.extend((child, below) for child in node["children"])
    return found


def _scan(node: Mapping[str, Any], above: _Above) -> PlanScan:
    metadata = node["metadata"]
    kind = _LOCATION.fullmatch(metadata["Location"])
    locations, listed = (int(kind[2]), kind[3].removesuffix("]")) if kind else (1, metadata["Location"])
    first = listed if locations == 1 else listed.partition(", ")[0]
    text = _OF_DELTA.sub("", metadata["DataFilters"].removeprefix("[").removesuffix("]"))
    texts = [each for each in (text, *above.filters) if each]
    return PlanScan(
        file_format=str(metadata.get("Format", "")).lower(),
        location=first,
        filters=tuple(each if len(each) <= MAX_FILTER_CHARACTERS else "..." for each in texts),
        read_schema=str(metadata.get("ReadSchema", "")),
        metrics=_metrics(node),
    )


def _iceberg_scan(node: Mapping[str, Any], table: str, above: _Above) -> PlanScan:
    texts = (*above.others, *above.filters)
    return PlanScan(
        file_format="iceberg",
        location=table,
        filters=tuple(each if len(each) <= MAX_FILTER_CHARACTERS else "..." for each in texts),
        read_schema="",
        metrics={_OF_ICEBERG.get(name, name): number for name, number in _metrics(node).items()},
    )


def _metrics(node: Mapping[str, Any]) -> dict[str, int]:
    return {each["name"]: int(each["accumulatorId"]) for each in node["metrics"]}


def _below(node: Mapping[str, Any], above: _Above) -> _Above:
    name: str = node["nodeName"]
    if not name.startswith(_TRANSPARENT):
        return _Above()
    text: str = node["simpleString"]
    if name == "Filter" and len(text) <= MAX_FILTER_CHARACTERS:
        condition = text.removeprefix("Filter ")
        if _PYTHON in text:
            return _Above((*above.filters, condition), above.others)
        return _Above(above.filters, (*above.others, condition))
    if name == "Project":
        # Its column may have the name of another column of the scan.
        return _Above(above.filters)
    evaluated = _EVALUATED.fullmatch(text)
    if evaluated is None or not above.filters:
        return above
    calls, results = _calls(evaluated[1]), evaluated[2].split(", ")
    if len(calls) != len(results):
        return _Above((), above.others)
    return _Above(tuple(_with(each, calls, results) for each in above.filters), above.others)


def _calls(text: str) -> list[str]:
    """Return the calls of ``agent(s#14)#24, brand(t#15)#26``, without the identities of their results."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append(text[start:at])
            start = at + 1
    found.append(text[start:])
    return [re.sub(_NAMED.pattern + r"$", "", each.strip()) for each in found]


def _with(condition: str, calls: Sequence[str], results: Sequence[str]) -> str:
    made = condition
    for call, result in zip(calls, results, strict=True):
        made = re.sub(re.escape(result) + r"(?!\d)", call.replace("\\", r"\\"), made)
    return made
