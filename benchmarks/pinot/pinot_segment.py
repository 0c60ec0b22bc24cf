"""Facts of the first star-tree of a tarred Pinot segment."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass

from starskip.pinot.segments.metadata_properties import parse_properties, single_value


@dataclass(frozen=True, slots=True)
class PinotTree:
    """``node_bytes``: the tree itself; ``document_bytes``: the forward indexes of its documents."""

    rows: int
    documents: int
    node_bytes: int
    document_bytes: int


def read_pinot_tree(tar: bytes) -> PinotTree:
    """Return the tree of a segment with one star-tree; raises KeyError if there is none."""
    files = {}
    with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
        for member in opened:
            name = member.name.rpartition("/")[2]
            if name in ("metadata.properties", "star_tree_index_map") and (
                file := opened.extractfile(member)
            ):
                files[name] = parse_properties(file.read())
    metadata, index_map = files["metadata.properties"], files["star_tree_index_map"]
    sizes = {key: int(single_value(index_map, key) or 0) for key in index_map if key.endswith(".SIZE")}
    node_bytes = sum(size for key, size in sizes.items() if key.endswith(".STAR_TREE.SIZE"))
    return PinotTree(
        rows=int(single_value(metadata, "segment.total.docs") or 0),
        documents=int(single_value(metadata, "startree.v2.0.total.docs") or 0),
        node_bytes=node_bytes,
        document_bytes=sum(sizes.values()) - node_bytes,
    )
