"""A table of Parquet files that are not there: Spark plans over a made-up listing, and never reads.

The metadata is real: Starskip's own refresh writes it, from bounds that are computed where a file's rows
would be read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from starskip.file_metadata.collect_order import Collection, CollectOrder, collection_of
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.refresh_metadata import Clock, Refreshed, refresh_metadata
from starskip.file_metadata.table_files import TableFiles
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.write_collected import write_collected
from starskip.skipping.file_metadata import Mask
from starskip.skipping.registry import index_from_specification
from starskip.spark.skipping.collect_tasks import groups_of
from starskip.spark.skipping.jvm_toolbox import DATASOURCES, JvmToolbox
from starskip.spark.skipping.read_signature import read_signature
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage_for import storage_for

DIGITS = 8
MODIFIED_MS = 1_735_689_600_000  # 2025-01-01
_AT_ONCE = 50_000
Numbers = npt.NDArray[np.int64]
Bounds = Callable[[str, Numbers], tuple[pa.Array, pa.Array]]
"""Returns least and greatest values of a column in files of those numbers."""
_MAKER = """
import java.nio.ByteBuffer;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

public class MadeUpFiles implements java.util.function.BiFunction {
    public Object apply(Object paths, Object numbers) {
        String[] lines = ((String) paths).split("\\n");
        ByteBuffer read = ByteBuffer.wrap((byte[]) numbers);
        FileStatus[] made = new FileStatus[lines.length];
        for (int at = 0; at < lines.length; at++) {
            Path path = new Path(lines[at]);
            made[at] = new FileStatus(read.getLong(), false, 1, 134217728L, read.getLong(), path);
        }
        return made;
    }
}
"""


_makers: dict[int, Any] = {}


def _maker(toolbox: JvmToolbox) -> Any:
    # Once for each JVM: py4j takes a class of the same name that was made anew for the old one.
    jvm, identity = toolbox.jvm, id(toolbox.gateway)
    if identity not in _makers:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
        compiler.cook(_MAKER)
        constructor = compiler.getClassLoader().loadClass("MadeUpFiles").getConstructors()[0]
        _makers[identity] = constructor.newInstance(toolbox.gateway.new_array(jvm.java.lang.Object, 0))
    return _makers[identity]


@dataclass
class MadeUpTable:
    """``folders``: of each file, below ``root``; ``schema`` as Spark's DDL; ``rows`` of each file.

    ``listing_s``: how long listings for refreshes have taken.
    """

    root: str
    folders: Sequence[str]
    sizes: Numbers
    schema: str
    rows: int
    bounds: Bounds
    modified_ms: Numbers = field(init=False)
    listing_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        """Give all files an old time."""
        self.modified_ms = np.full(len(self.sizes), MODIFIED_MS, np.int64)

    def paths(self) -> pa.Array:
        """Return the files' paths as Hadoop writes them."""
        numbers = pc.utf8_lpad(pa.array(np.arange(len(self.sizes))).cast(pa.string()), DIGITS, "0")
        folders = pa.array([f"file:{self.root}/{folder}".rstrip("/") + "/part-" for folder in self.folders])
        return pc.binary_join_element_wise(folders, numbers, ".parquet", "")

    def relation(self, spark: Any) -> Any:
        """Return a HadoopFsRelation over a listing that Spark finds in a cache."""
        toolbox = JvmToolbox(spark)
        jvm = toolbox.jvm
        maker = _maker(toolbox)
        numbers = np.stack([self.sizes, self.modified_ms], axis=1).astype(">i8").tobytes()
        statuses = maker.apply("\n".join(self.paths().to_pylist()), bytearray(numbers))
        cache = getattr(jvm, f"{DATASOURCES}.SharedInMemoryCache")(1 << 60, -1).createForNewClient()
        root = jvm.org.apache.hadoop.fs.Path(f"file:{self.root}")
        cache.putLeafFiles(root, statuses)
        none = jvm.scala.Option.empty()
        schema = spark.createDataFrame([], self.schema)._jdf.schema()
        index = getattr(jvm, f"{DATASOURCES}.InMemoryFileIndex")(
            spark._jsparkSession,
            toolbox.scala_list([root]),
            toolbox.jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({}),
            none,
            cache,
            none,
            none,
        )
        return getattr(jvm, f"{DATASOURCES}.HadoopFsRelation")(
            index,
            index.partitionSchema(),
            schema,
            none,
            getattr(jvm, f"{DATASOURCES}.parquet.ParquetFileFormat")(),
            toolbox.jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({}),
            spark._jsparkSession,
        )

    def view(self, spark: Any, relation: Any, name: str) -> None:
        """Make the relation known to queries."""
        spark._jsparkSession.baseRelationToDataFrame(relation).createOrReplaceTempView(name)

    def refresh(self, relation: Any, metadata_root: str, indexes: Sequence[str] = ()) -> Refreshed:
        """Create indexes or bring them up to date, by Starskip's own planner, writer and commit."""
        location = self.location(metadata_root)
        Path(location).mkdir(parents=True, exist_ok=True)
        source = TableSource(f"file:{self.root}", "parquet", read_signature(relation), {})
        return refresh_metadata(
            storage_for(location),
            _Reader(self, source),
            [index_from_specification(each) for each in indexes],
            Clock(lambda: datetime.now(UTC), lambda _: None),
            created_by="benchmark",
        )

    def timed_refresh(self, relation: Any, metadata_root: str) -> tuple[Refreshed, float, float]:
        """Refresh; return also how many ms the making of the listing took, and all the rest."""
        listing_s = self.listing_s
        start = time.perf_counter()
        refreshed = self.refresh(relation, metadata_root)
        listing_ms = (self.listing_s - listing_s) * 1000
        return refreshed, listing_ms, (time.perf_counter() - start) * 1000 - listing_ms

    def location(self, metadata_root: str) -> str:
        """Return where the metadata lies."""
        return metadata_location(f"file:{self.root}", metadata_root)


@dataclass
class _Reader:
    """Implements TableReader without an engine."""

    table: MadeUpTable
    source: TableSource

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:  # noqa: ARG002 - the protocol's
        start = time.perf_counter()
        table = self.table
        listing = TableFiles(table.paths(), table.sizes, table.modified_ms, MODIFIED_MS + 86_400_000_000)
        table.listing_s += time.perf_counter() - start
        return listing

    def collect(self, order: CollectOrder, aside: StagedWrite) -> Collection:
        found = (
            (start, self._groups(order, order.files.slice(start, _AT_ONCE)))
            for start in range(0, len(order.files), _AT_ONCE)
        )
        return collection_of(order, list(write_collected(aside, order.row_counts, found)))

    def changed_files(self, chosen: Mask) -> pa.Array:  # noqa: ARG002 - the protocol's
        return pa.array([], pa.string())

    def _groups(self, order: CollectOrder, files: pa.Table) -> Any:
        ends = -len(".parquet")
        texts = pc.utf8_slice_codeunits(files["path"], ends - DIGITS, ends)
        numbers = texts.cast(pa.int64()).to_numpy()
        rows = pa.array(np.full(len(files), self.table.rows, np.int64))

        def aggregates(number: int) -> pa.Table:
            (column,) = order.indexes[number].columns
            least, greatest = self.table.bounds(column, numbers)
            return pa.table({"min": least, "max": greatest, "values": rows})

        return groups_of(order, files, rows, aggregates)


def planned(query: Any) -> tuple[int, int]:
    """Return how many files and bytes Spark's plan of a query with one scan will read."""
    plan = query._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()
    files, size = 0, 0
    leaves = plan.collectLeaves()
    for at in range(leaves.size()):
        if leaves.apply(at).getClass().getSimpleName() == "FileSourceScanExec":
            listed = leaves.apply(at).selectedPartitions()
            files += int(listed.totalNumberOfFiles())
            size += int(listed.totalFileSize())
    return files, size
