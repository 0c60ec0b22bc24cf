"""The REST of Pinot's controller, as far as an advisor needs it.

Versions are told apart by what the controller answers, not by their numbers. Requests that change something
are never repeated where they may have been carried out: they raise UnknownOutcome, and reading again tells.
Answers to a reload differ, too. Names of rights are those of Pinot 1.x, with the permission of its Basic
authentication behind them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starskip.errors import AccessRefused, MissingSource, SourceError
from starskip.pinot.cluster.pinot_session import PinotSession
from starskip.pinot.hybrid_tables import TABLE_TYPES, without_type

Config = dict[str, Any]

_VERSION = re.compile(r"\d+\.\d+(\.\d+)?")
_OF_TABLE = "GetTableConfig (READ)"
_METADATA = "GetMetadata (READ)"


_JOB = re.compile(r"job id: ([0-9A-Za-z-]+)")


@dataclass(frozen=True, slots=True)
class Controller:
    """A cluster's controller. ``T`` is a table's name, ``T_OFFLINE`` and ``T_REALTIME`` one with its type."""

    session: PinotSession

    def version(self) -> str:
        """Return the number of Pinot's version, such as 1.5.1, empty if it tells none."""
        found = self.session.get("/version", "GetVersion (READ)")
        numbers = (_VERSION.match(str(each)) for each in found.values()) if isinstance(found, dict) else ()
        return next((number[0] for number in numbers if number), "")

    def tables(self) -> tuple[str, ...]:
        """Return the names of all tables, without types, sorted; those of a database begin with its name."""
        return tuple(sorted(map(str, self._mapping("/tables", "GetTable (READ)").get("tables") or ())))

    def table_configs(self, table: str) -> dict[str, Config]:
        """Return OFFLINE, REALTIME or both with their configs; raises MissingSource for an unknown table.

        Pinot before 1.3 puts the values of ``${…}`` into them.
        """
        found = self._mapping(f"/tables/{_part(table)}", _OF_TABLE)
        configs = {each: found[each] for each in TABLE_TYPES if isinstance(found.get(each), dict)}
        if not configs:
            raise MissingSource(f"Pinot has no table {table}", source=table)
        return configs

    def schema(self, table: str) -> dict[str, Any]:
        """Return the schema of a table."""
        return self._mapping(f"/tables/{_part(without_type(table)[0])}/schema", "GetSchema (READ)")

    def segments(self, table_with_type: str) -> tuple[str, ...]:
        """Return the names of the segments of one type, sorted; consuming ones are among them."""
        name, table_type = without_type(table_with_type)
        kinds = {"type": table_type} if table_type else {}
        found = self.session.get(f"/segments/{_part(name)}", "GetSegment (READ)", kinds)
        by_type = found if isinstance(found, list) else []
        names = {each for of in by_type for kind in of if kind == table_type for each in of[kind]}
        return tuple(sorted(names))

    def segment_metadata(self, table_with_type: str, segment: str, columns: str = "*") -> dict[str, Any]:
        """Return what ZooKeeper and the servers know of one segment.

        ``columns``: asked of the servers, empty for none; they stand under ``columns``, their indexes under
        ``indexes``. If no server answers, both are left out.
        """
        path = f"/segments/{_part(table_with_type)}/{_part(segment)}/metadata"
        asked = {"columns": columns} if columns else {}
        return dict(self._checked(self.session.get(path, _METADATA, asked), path))

    def built_indexes(
        self, table_with_type: str, segments: Sequence[str], columns: Sequence[str]
    ) -> dict[str, dict[str, Any]]:
        """Return what servers say of the indexes of segments: ``indexes``, ``star-tree-index``, ``columns``.

        Pinot before 1.2 tells it of all segments, and no other question tells of star-trees.
        """
        path = f"/segments/{_part(table_with_type)}/metadata"
        asked = {"columns": [*columns], "segments": [*segments]}
        found = self._mapping(path, _METADATA, asked)
        return {name: found[name] for name in segments if isinstance(found.get(name), dict)}

    def segment_states(self, table_with_type: str) -> dict[str, dict[str, str]]:
        """Return by segment and server its state: ONLINE, CONSUMING, OFFLINE, or ERROR for a bad one."""
        name, table_type = without_type(table_with_type)
        path = f"/tables/{_part(name)}/externalview"
        kind = table_type or TABLE_TYPES[0]
        return dict(self._mapping(path, "GetExternalView (READ)", {"tableType": kind}).get(kind) or {})

    def reset_segment(self, table_with_type: str, segment: str) -> None:
        """Have the servers load a segment anew that they could not load: a reload does not mend it."""
        path = f"/segments/{_part(table_with_type)}/{_part(segment)}/reset"
        self.session.request("POST", path, "ResetSegment (UPDATE)")

    def sizes(self, table: str) -> dict[str, Any]:
        """Return the bytes of a table by segments and servers, under offlineSegments and realtimeSegments."""
        return self._mapping(f"/tables/{_part(table)}/size", "GetSize (READ)", {"detailed": "true"})

    def put_table_config(self, table_with_type: str, config: Mapping[str, Any]) -> dict[str, Any]:
        """Write a whole config of one type, and return the keys that Pinot drops since it does not know them.

        Raises UnknownOutcome if it may have been written or not: read the config again.
        """
        path = f"/tables/{_part(table_with_type)}"
        answer = self.session.request("PUT", path, "UpdateTableConfig (UPDATE)", body=config)
        return dict(self._checked(answer, path).get("unrecognizedProperties") or {})

    def validate_table_config(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Check a config without writing it, and return the keys that Pinot would drop."""
        path, right = "/tables/validate", "ValidateTableConfigs (CREATE)"
        answer = self.session.request("POST", path, right, body=config, is_repeatable=True)
        return dict(self._checked(answer, path).get("unrecognizedProperties") or {})

    def reload(self, table_with_type: str, segment: str = "", server: str = "") -> tuple[str, ...]:
        """Have segments reloaded, one if it is named, on one server if that is; return the ids of the jobs.

        Pinot before 1.3 takes no notice of ``server`` and would reload all: this raises SourceError then.
        """
        if server and self.needs_reload(table_with_type) is None:
            words = "this version of Pinot cannot reload the segments of one server: 1.3 can"
            raise SourceError(f"{table_with_type}: {words}", source=table_with_type)
        of_segment = f"/{_part(segment)}" if segment else ""
        path = f"/segments/{_part(table_with_type)}{of_segment}/reload"
        params = {"targetInstance": server} if server else {}
        return reload_jobs(self.session.request("POST", path, "ReloadSegment (UPDATE)", params=params))

    def reload_status(self, job: str) -> ReloadStatus:
        """Return the progress of a reload; raises MissingSource for a job that is not known any more."""
        path = f"/segments/segmentReloadStatus/{_part(job)}"
        return reload_status(self._mapping(path, "GetSegmentReloadStatus (READ)"))

    def needs_reload(self, table_with_type: str) -> bool | None:
        """Return whether a segment is not as the config says, consuming ones apart.

        None where the version has no such question: Pinot before 1.3.
        """
        try:
            found = self._mapping(f"/segments/{_part(table_with_type)}/needReload", _METADATA)
        except MissingSource:
            return None
        return bool(found.get("needReload"))

    def config_version(self, table_with_type: str) -> int | None:
        """Return how often a config was written, by ZooKeeper; None where the role may not read it."""
        try:
            cluster = self._mapping("/cluster/info", "GetClusterConfig (READ)").get("clusterName")
            path = f"/{cluster}/PROPERTYSTORE/CONFIGS/TABLE/{table_with_type}"
            version = self._mapping("/zk/stat", "GetZnode (READ)", {"path": path}).get("version")
        except (AccessRefused, MissingSource):
            return None
        return version if isinstance(version, int) else None

    def consuming_segments(self, table: str) -> dict[str, Sequence[Any]]:
        """Return the consuming segments of a REALTIME table, with what each replica says of them."""
        path = f"/tables/{_part(without_type(table)[0])}/consumingSegmentsInfo"
        found = self._mapping(path, "GetConsumingSegments (READ)").get("_segmentToConsumingInfoMap")
        return dict(found or {})

    def _mapping(self, path: str, right: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._checked(self.session.get(path, right, params), path)

    def _checked(self, answer: Any, path: str) -> dict[str, Any]:
        if isinstance(answer, dict):
            return answer
        words = f"Pinot's {self.session.name} {self.session.url}: {path}: answers no JSON object"
        raise SourceError(words, source=self.session.url)


def _part(name: str) -> str:
    return quote(name, safe="")


@dataclass(frozen=True, slots=True)
class ReloadStatus:
    """Progress of a reload; counts are of segments on servers, so replicas count each.

    ``failed`` is None and ``state`` empty before Pinot 1.5; then: IN_PROGRESS, COMPLETED or
    COMPLETED_WITH_ERRORS. ``silent_servers``: requests to servers without an answer.
    """

    total: int
    succeeded: int
    failed: int | None
    silent_servers: int
    state: str


def reload_jobs(answer: Any) -> tuple[str, ...]:
    """Return the ids of the jobs that an answer to a reload names, none if it names none.

    For a table it is JSON, within a text, with words before it in 0.11; for one segment it is a sentence.
    """
    status = str(answer.get("status", "")) if isinstance(answer, dict) else str(answer)
    _, brace, rest = status.partition("{")
    try:
        named = json.loads(brace + rest) if brace else {}
    except ValueError:
        named = {}
    found = [job for job in map(_job_of, _values(named)) if job]
    return tuple(found) or tuple(_JOB.findall(status))


def _values(named: Any) -> list[Any]:
    return list(named.values()) if isinstance(named, dict) else []


def _job_of(table: Any) -> str:
    return str(table.get("reloadJobId") or "") if isinstance(table, dict) else ""


def reload_status(answer: Mapping[str, Any]) -> ReloadStatus:
    """Return the progress that the controller tells of a job."""
    failed = answer.get("failureCount")
    return ReloadStatus(
        total=int(answer.get("totalSegmentCount") or 0),
        succeeded=int(answer.get("successCount") or 0),
        failed=None if failed is None else int(failed),
        silent_servers=int(answer.get("totalServerCallsFailed") or 0),
        state=str(answer.get("status") or ""),
    )
