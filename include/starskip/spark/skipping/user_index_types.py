"""Index types of users: distinguish them from types that come with Starskip, send them to Spark's workers."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark import SparkContext

from starskip.skipping.registry import comes_along
from starskip.skipping.skipping_index import SkippingIndex
from starskip.user_modules import module_files


def is_user_type(index: SkippingIndex) -> bool:
    """Return whether the index's type is a user's, whose aggregates may depend on any session setting."""
    return not comes_along(type(index))


def send_modules(context: SparkContext, indexes: Iterable[SkippingIndex]) -> None:
    """Send the modules of users' index types that are single files; packages must be on the workers."""
    for file in module_files({type(each).__module__ for each in indexes if is_user_type(each)}):
        context.addPyFile(file)
