"""Modules of users' index types go along to Spark's workers, which collect by them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark import SparkContext

from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.compatible_indexes import is_users_type


def send_modules(context: SparkContext, indexes: Iterable[SkippingIndex]) -> None:
    """Send the files of modules that are one file; packages must be where workers find them."""
    for name in sorted({type(each).__module__ for each in indexes if is_users_type(each)}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and name == Path(file).stem and name != "__main__":
            context.addPyFile(file)
