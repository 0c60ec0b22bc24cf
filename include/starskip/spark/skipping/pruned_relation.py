"""Copies of Spark's relations without the files that hold no matching row."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from starskip.skipping.file_metadata import Mask
from starskip.spark.skipping.spark_listing import SparkListing

MARK = "starskip.skipping.files"
"""An option of pruned relations.

Spark takes two listings of the same root paths for equal. Without the option it would drop the pruned
relation for the whole one, or reuse the plan over other files.
"""


def mark(relation: Any) -> str | None:
    """Return the mark of a pruned relation, None for another relation."""
    found = relation.options().get(MARK)
    return str(found.get()) if found.isDefined() else None


def pruned_relation(logical: Any, listing: SparkListing, chosen: Mask) -> tuple[Any, str]:
    """Return the LogicalRelation ``logical`` with the chosen files of its listing, and its mark."""
    digest = hashlib.sha256(np.packbits(chosen).tobytes() + listing.digest)
    value = f"{np.count_nonzero(chosen)}/{listing.files}:{digest.hexdigest()[:32]}"
    return listing.listed.chosen(chosen).relation(logical, (MARK, value)), value
