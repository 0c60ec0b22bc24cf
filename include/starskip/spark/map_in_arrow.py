"""``mapInArrow`` in Python workers without most of PySpark's overhead for each task."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from zipimport import zipimporter

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from starskip.execution.engine import BatchMap


def map_in_arrow(frame: DataFrame, function: BatchMap, schema: pa.Schema) -> DataFrame:
    """Return the rows that ``function`` makes from each partition's batches; ``schema``: of these rows."""
    return frame.mapInArrow(_InWorker(function), from_arrow_schema(schema))


class _InWorker:
    def __init__(self, function: BatchMap) -> None:
        self._function = function

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _forget_zips()
        _freeze_modules()
        return self._function(batches)


def _forget_zips() -> None:
    """Drop the cached finders of zips, and Spark's core jar from the search path, in this Python worker.

    PySpark invalidates the import caches at the start of each task. Python 3.11 then reads the directory of
    a zip once for each finder: 1,300 names for each package of ``pyspark.zip`` that was imported, and 5,000
    of Spark's core jar, which holds no Python; some 150 ms of processor time a task. The next import makes
    finders anew, from the directory that Python has cached. Jars of packages stay: they may hold Python.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
    sys.path[:] = [path for path in sys.path if not Path(path).name.startswith("spark-core_")]


_modules_frozen = 0


def _freeze_modules() -> None:
    """Exclude all imported modules from this Python worker's garbage collections.

    PySpark collects garbage at the end of each task: with the objects of all modules that takes 100 ms. When
    a task starts it has just done so, so that only objects in use are frozen.
    """
    global _modules_frozen
    if len(sys.modules) != _modules_frozen:
        gc.freeze()
        _modules_frozen = len(sys.modules)
