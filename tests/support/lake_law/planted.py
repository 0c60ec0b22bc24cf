"""Faults planted into skipping on table formats, each of which the law has to notice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import count

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression
from starskip.spark.skipping import compile_java, lake_reader
from starskip.spark.skipping.lake_columns import ColumnTranslation

_planted = count()
_WHOLE_CHARACTERS = 15
"""Characters that are whole in bounds of both formats, which cut behind 16 and 32."""
_ADD_FILE = (
    "kept.add(file.copy(file.path(), file.partitionValues(), file.size(), file.modificationTime(), "
    "file.dataChange(), file.stats(), file.tags(), null, file.baseRowId(), file.defaultRowCommitVersion(), "
    "file.clusteringProvider(), file.backReference(), file.amtPassthrough()));"
)
_TASK = (
    "org.apache.iceberg.FileScanTask t = (org.apache.iceberg.FileScanTask) tasks.get(at);"
    "kept.add(new org.apache.iceberg.BaseFileScanTask((org.apache.iceberg.DataFile) t.file(), "
    "new org.apache.iceberg.DeleteFile[0], SchemaParser.toJson(schema(snapshot())), "
    "org.apache.iceberg.PartitionSpecParser.toJson(t.spec()), "
    "org.apache.iceberg.expressions.ResidualEvaluator.of(t.spec(), t.residual(), true)));"
)
DELETES_FORGOTTEN = {
    "DeltaFiles": {"kept.add(file);": _ADD_FILE},
    "IcebergFiles": {"kept.add(tasks.get(at));": _TASK},
}
"""Data files are read without the deletion vectors and delete files that belong to them."""
FILES_OF_FIRST_SNAPSHOT = {
    "DeltaFiles": {
        "        this.whole = whole;": "        FIRST.putIfAbsent(whole.path(), whole);\n"
        "        this.whole = (PreparedDeltaFileIndex) FIRST.get(whole.path());",
        "    private final Set left;": "    static final java.util.Map FIRST = new java.util.HashMap();\n"
        "    private final Set left;",
    },
    "IcebergFiles": {
        'field("tasks").set(made, kept);': 'FIRST.putIfAbsent(((Table) value("table")).location(), kept);\n'
        '        field("tasks").set(made, FIRST.get(((Table) value("table")).location()));',
        "    private int[] positions;": "    static final Map FIRST = new java.util.HashMap();\n"
        "    private int[] positions;",
    },
}
"""Later queries read the files that the first one of a table read."""


@contextmanager
def java_with(monkeypatch: pytest.MonkeyPatch, replaced: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """Have classes compiled with other lines, and as they are again afterwards."""
    plain, package = compile_java.source_of, f"starskip.planted{next(_planted)}"

    def source_of(name: str) -> str:
        text = plain(name)
        for old, new in replaced.get(name, {}).items():
            assert old in text, f"{name}.java has no line {old}"
            text = text.replace(old, new)
        if name not in replaced:
            return text
        return text.replace("package starskip;", f"package {package};\nimport starskip.Answers;")

    # Compiled again under their own names, they would be two classes to the JVM, and one to py4j.
    kept = [(classes, dict(classes)) for classes in compile_java._classes.values()]
    for classes, _ in kept:
        for name in replaced:
            classes.pop(name, None)
    with monkeypatch.context() as patched:
        patched.setattr(compile_java, "source_of", source_of)
        try:
            yield
        finally:
            for classes, before in kept:
                classes.update(before)


def column_by_name(self: ColumnTranslation, column: Column) -> Expression:
    """Match a column by its name in the table, whatever files know it by."""
    known = column_name(column.path) in self.known
    return column if known else Call("Unknown", (column,))


_BOUNDS_OF = lake_reader.bounds_of


def bounds_cut(snapshot: TableSnapshot, positions: npt.NDArray[np.int64]) -> pa.Table:
    """Take greatest texts that a log has cut for values: what they begin with, and nothing counted up."""
    found = _BOUNDS_OF(snapshot, positions)
    for at, name in enumerate(found.column_names):
        if name.startswith("max:string:"):
            cut = pc.utf8_slice_codeunits(found[name], 0, _WHOLE_CHARACTERS)
            found = found.set_column(at, name, cut)
    return found
