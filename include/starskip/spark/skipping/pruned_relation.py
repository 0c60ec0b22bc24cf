"""Copies of Spark's relations without the files that hold no matching row."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from starskip.indexes.skipping.file_metadata import Mask
from starskip.spark.skipping.spark_listing import SparkListing

MARK = "starskip.skipping.files"
"""An option of the relation. Spark takes two listings of the same paths for equal, so that without it the
pruned relation would be dropped for the whole one, or plans over different files be taken for one."""


def mark(relation: Any) -> str | None:
    """Return the mark of a relation that was pruned, None for another one."""
    found = relation.options().get(MARK)
    return str(found.get()) if found.isDefined() else None


def pruned_relation(logical: Any, listing: SparkListing, chosen: Mask) -> tuple[Any, str]:
    """Return the LogicalRelation ``logical`` with the chosen files of its listing, and its mark."""
    digest = hashlib.sha256(np.packbits(chosen).tobytes() + listing.digest)
    value = f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"
    return listing.listed.chosen(chosen).relation(logical, (MARK, value)), value
