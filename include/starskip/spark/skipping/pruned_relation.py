"""A relation of Spark's without the files that hold no matching row."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.file_listing import FileListing
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox

MARK = "starskip.skipping.files"
"""An option of the relation. Spark takes two listings of the same paths for equal, so that without it the
pruned relation would be dropped for the whole one, or plans over different files be taken for one."""

_ROOTS = 16
"""Of more roots the first stands for all: each costs a call, and they are shown in EXPLAIN alone."""


def mark(relation: Any) -> str | None:
    """Return the mark of a relation that has been looked at already."""
    found = relation.options().get(MARK)
    return str(found.get()) if found.isDefined() else None


def pruned_relation(toolbox: JvmToolbox, logical: Any, index: Any, listing: FileListing, chosen: Mask) -> Any:
    """Return the LogicalRelation ``logical`` with the chosen files of ``index`` alone.

    Raises RuntimeError if Spark understands the new listing in another way than the old one.
    """
    relation = logical.relation()
    count = int(np.count_nonzero(chosen))
    pruned = _pruned_index(toolbox, relation, index, toolbox.subset(listing.statuses, chosen))
    if pruned.allFiles().size() != count:
        raise RuntimeError(f"Spark lists {pruned.allFiles().size()} of the {count} files that are left")
    options = relation.options().updated(MARK, _fingerprint(listing, chosen))
    made = getattr(toolbox.jvm, f"{DATASOURCES}.HadoopFsRelation")(
        pruned,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        options,
        relation.sparkSession(),
    )
    return logical.copy(
        made, logical.output(), logical.catalogTable(), logical.isStreaming(), logical.stream()
    )


def _fingerprint(listing: FileListing, chosen: Mask) -> str:
    digest = hashlib.sha256(np.packbits(chosen).tobytes())
    for column in (listing.sizes, listing.modified_ms):
        digest.update(column.tobytes())
    return f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"


def _pruned_index(toolbox: JvmToolbox, relation: Any, index: Any, statuses: Any) -> Any:
    """Make a listing of the same roots, found in a cache that nothing else knows.

    REFRESH empties that cache: then the files are listed anew, all of them.
    """
    jvm = toolbox.jvm
    cache = getattr(jvm, f"{DATASOURCES}.SharedInMemoryCache")(1 << 60, -1).createForNewClient()
    status = toolbox.java_class("org.apache.hadoop.fs.FileStatus")
    array = statuses.toArray(jvm.scala.reflect.ClassTag.apply(status))
    none = toolbox.gateway.new_array(jvm.org.apache.hadoop.fs.FileStatus, 0)
    specification = index.partitionSpec()
    partitioned = not specification.partitionColumns().isEmpty()
    roots, parameters = index.rootPaths(), {}
    recursive = relation.options().get("recursiveFileLookup")
    if not partitioned and (recursive.isDefined() or roots.size() > _ROOTS):
        # All files that are given, wherever they lie; the filters of file names have done their work.
        parameters = {"recursiveFileLookup": str(recursive.get()) if recursive.isDefined() else "true"}
    if roots.size() > _ROOTS:
        roots = roots.take(1)
    for at, root in enumerate(toolbox.scala_to_java(roots)):
        cache.putLeafFiles(root, none if at else array)
    empty = jvm.scala.Option.empty()
    arguments = jvm.java.util.ArrayList()
    for each in (
        relation.sparkSession(),
        roots,
        toolbox.scala_map(parameters),
        empty,
        cache,
        jvm.scala.Option.apply(specification),
        empty,
    ):
        arguments.add(each)
    return toolbox.pruned_index_constructor.newInstance(arguments.toArray())
