"""Fetch the facts about a plan's relations of files from the JVM, in one call for a plan or relation."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import JavaGateway
from pyspark import SparkContext

from starskip.spark.skipping.compile_java import new_java
from starskip.spark.skipping.jvm_toolbox import unpacked_bytes
from starskip.spark.skipping.pruned_relation import MARK
from starskip.spark.skipping.secondary_settings import SECONDARY_NAMES
from starskip.spark.skipping.table_finder import ROOTS_ASKED_EACH

ENABLED = "spark.starskip.skipping.enabled"
METADATA_ROOT = "starskip.metadata.root"
_CORRUPT = "spark.sql.columnNameOfCorruptRecord"
OF_USERS_TYPES = (
    "spark.sql.session.timeZone",
    "spark.sql.ansi.enabled",
    "spark.sql.legacy.timeParserPolicy",
)
"""Session settings that affect aggregates such as ``hour(ts)``, for any format."""
_SETTINGS = (ENABLED, METADATA_ROOT, f"spark.{METADATA_ROOT}", _CORRUPT, *OF_USERS_TYPES, *SECONDARY_NAMES)
CHANGED = "a command changes it: files are skipped only in tables that are read"
_OTHERS = {
    "v2": "it is read by a source of Spark's DataSource V2, whose files cannot be skipped (files of "
    "Parquet, ORC, JSON, CSV and Avro can: name the format in spark.sql.sources.useV1SourceList)",
    "delta_v2": "it is read by Delta's DataSource V2: set spark.databricks.delta.v2.enableMode to NONE",
    "changed": CHANGED,
    "stream": "it is read as a stream: files are skipped in batch queries only",
    "cache": "its rows are read from a cache, which was filled before",
    "hive": "it is read by a SerDe of Hive (Spark reads it itself with "
    "spark.sql.hive.convertMetastoreParquet, or convertMetastoreOrc)",
    "source": "it is no relation of files",
}
"""Reasons why skipping does not reach a relation, by its kind in RelationFacts."""
_lock = threading.Lock()
_java: WeakKeyDictionary[JavaGateway, Any] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class FileRelation:
    """A relation of files in a plan; ``at``: its position among the leaves, ``first``: its first occurrence.

    ``kind`` is the class of its file index, ``roots`` are its root paths, ``files`` the roots that are files,
    unless there are many. ``open_bytes``: Spark's estimate of the bytes that could be read while a file is
    opened.
    """

    at: int
    first: int
    kind: str
    roots: list[str]
    files: frozenset[str]
    options: Mapping[str, str]
    settings: Mapping[str, str]
    open_bytes: int = 0

    @property
    def folders(self) -> list[str]:
        """The roots, with folders in place of roots that are files."""
        return [root.rpartition("/")[0] if root in self.files else root for root in self.roots]

    @property
    def is_enabled(self) -> bool:
        """Return whether the session's settings allow skipping."""
        return self.settings.get(ENABLED, "true").lower() != "false"

    @property
    def metadata_root(self) -> str | None:
        """The metadata root of the session's settings, None for metadata beside the files."""
        return self.settings.get(METADATA_ROOT) or self.settings.get(f"spark.{METADATA_ROOT}") or None

    @property
    def corrupt_record(self) -> str:
        """The column of corrupt records, whose value depends on the columns that are read."""
        return small_names(self.options).get("columnnameofcorruptrecord") or self.settings[_CORRUPT]


@dataclass(frozen=True, slots=True)
class OtherRelation:
    """A relation out of the reach of skipping; ``files`` and ``size_bytes`` are None if unknown."""

    name: str
    why_not: str
    files: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Relations:
    """The relations of a plan: unpruned relations of files, and others; ``leaves``: the number of leaves.

    ``emptied``: the folder whose files the plan, a command, removes, None if it removes none.
    """

    of_files: list[FileRelation]
    others: list[OtherRelation]
    leaves: int
    emptied: str | None


def relations_of(plan: Any) -> Relations:
    """Return the relations of a plan."""
    facts = json.loads(_unpacked(_facts().leaves(plan, MARK, "\n".join(_SETTINGS), ROOTS_ASKED_EACH)))
    leaves = facts["leaves"]
    of_files, others = [], []
    for at, leaf in enumerate(leaves):
        if leaf is None:
            continue
        if "other" in leaf:
            why_not = _OTHERS[leaf["other"]]
            others.append(OtherRelation(leaf["name"], why_not, leaf.get("files"), leaf.get("bytes")))
        else:
            of_files.append(FileRelation(at=at, **{**leaf, "files": frozenset(leaf["files"])}))
    return Relations(of_files, others, len(leaves), facts["emptied"])


def emptied_folder(plan: Any) -> str | None:
    """Return the folder whose files a plan, a command, removes, None if it removes none."""
    found = _facts().emptied(plan)
    return None if found is None else str(found)


def signature_facts(relation: Any, settings: Sequence[str], asking: Any = None) -> Mapping[str, Any]:
    """Return the facts for the read signature of a JVM HadoopFsRelation, with the settings that have a value.

    ``asking``: the SQLConf of the reading session, None for the active session's.
    """
    packed = _facts().signature(relation, "\n".join(settings), asking)
    found: Mapping[str, Any] = json.loads(_unpacked(packed))
    return found


def plan_document(plan: Any) -> str:
    """Return ``toJSON`` of a LogicalPlan in the JVM."""
    return _unpacked(_facts().document(plan))


def joined_texts(values: Any, between: str) -> str:
    """Return the texts of all values of a Scala collection, joined by ``between``."""
    return _unpacked(_facts().joined(values, between))


def folders_name_partitions(relation: Any, listed: Any) -> bool:
    """Return whether a catalog's partitions lie in folders that are named after their values."""
    return bool(_facts().areNamed(relation, listed))


def metadata_root(conf: Any) -> str | None:
    """Return the metadata root of a session's configuration, None for metadata beside the files."""
    return str(conf.get(METADATA_ROOT, "") or conf.get(f"spark.{METADATA_ROOT}", "")) or None


def small_names(options: Mapping[str, str]) -> Mapping[str, str]:
    """Return options by name in lower case, as Spark compares names."""
    return {name.lower(): value for name, value in options.items()}


def _unpacked(answer: Any) -> str:
    return unpacked_bytes(answer).decode()


def _facts() -> Any:
    gateway = SparkContext._gateway
    assert gateway is not None
    with _lock:
        if gateway not in _java:
            _java[gateway] = new_java(gateway, "RelationFacts")
        return _java[gateway]
