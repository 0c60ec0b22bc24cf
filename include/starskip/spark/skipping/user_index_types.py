"""Index types of users: distinguish them from types that come with Starskip, send them to Spark's workers."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from pyspark import SparkContext

from starskip.skipping.registry import comes_along
from starskip.skipping.skipping_index import SkippingIndex


def is_user_type(index: SkippingIndex) -> bool:
    """Return whether the index's type is a user's, whose aggregates may depend on any session setting."""
    return not comes_along(type(index))


def send_modules(context: SparkContext, indexes: Iterable[SkippingIndex]) -> None:
    """Send the modules of users' index types that are single files; packages must be on the workers."""
    for name in sorted({type(each).__module__ for each in indexes if is_user_type(each)}):
        file = getattr(sys.modules.get(name), "__file__", None)
        if file and name == Path(file).stem and name != "__main__":
            context.addPyFile(file)
