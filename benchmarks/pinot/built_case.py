"""One table with one star-tree, in Pinot and in Starskip, of the same CSV files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pinot.pinot_segment import PinotTree, read_pinot_tree
from pinot.pinots_rules import MoreDocuments, more_documents
from pinot.running_pinot import RunningPinot
from pinot.star_tree_cases import Case
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.pinot.table_config import read_table_configs
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.star_tree import StarTree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for


@dataclass(frozen=True, slots=True)
class BuiltCase:
    """``trees``: ours, of all rows; ``of_segments``: ours of each of Pinot's segments, as Pinot has them.

    ``more``: by segment, the documents that Pinot is expected to have beyond ours. ``config_read_back``: what
    Starskip reads of the table configuration that Pinot answers with.
    """

    case: Case
    files: tuple[Path, ...]
    trees: TreeSet
    part: Part
    of_segments: tuple[StarTree, ...]
    pinot: tuple[PinotTree, ...]
    more: tuple[MoreDocuments, ...]
    config_read_back: StarTreeConfig

    @property
    def tree(self) -> StarTree:
        """Our tree of all rows."""
        return self.trees.trees[0]

    @property
    def rows(self) -> int:
        """Return the number of rows in Pinot."""
        return sum(each.rows for each in self.pinot)

    @property
    def is_explained(self) -> bool:
        """Return whether each of Pinot's trees has as many documents as the rules predict."""
        return all(
            pinot.documents == tree.documents_total + more.total
            for pinot, tree, more in zip(self.pinot, self.of_segments, self.more, strict=True)
        )

    def our_bytes(self, *kinds: str) -> int:
        """Return the bytes of our files of these kinds, such as "nodes"."""
        named = tuple(f"-{kind}.parquet" for kind in kinds)
        return sum(file.size_bytes for file in self.part.files if file.name.endswith(named))


def build_case(case: Case, files: Sequence[Path], pinot: RunningPinot, folder: Path) -> BuiltCase:
    """Build the case in both; ``files`` lie in a folder of their own, each becomes a segment of Pinot's.

    ``folder`` is where our trees go.
    """
    print(f"building {case.name}", file=sys.stderr)
    pinot.create_table(case.schema, case.table_config)
    segments = [pinot.ingest_csv(case.name, file) for file in files]
    found = tuple(read_pinot_tree(pinot.segment_tar(case.name, segment)) for segment in segments)
    pinot.wait_for_rows(case.name, sum(each.rows for each in found))
    trees, part = _published(case, files[0].parent, folder / case.name)
    if len(files) == 1:
        of_segments = trees.trees
    else:
        of_segments = tuple(
            _published(case, file, folder / f"{case.name}-{number}")[0].trees[0]
            for number, file in enumerate(files)
        )
    answered = folder / f"{case.name}.json"
    answered.write_bytes(pinot.table_config(case.name))
    (config,) = read_table_configs([answered])[case.name]
    return BuiltCase(
        case=case,
        files=tuple(files),
        trees=trees,
        part=part,
        of_segments=of_segments,
        pinot=found,
        more=tuple(map(more_documents, of_segments)),
        config_read_back=StarTreeConfig.from_document(config.star_tree_index_configs[0]),
    )


def _published(case: Case, source: Path, store_folder: Path) -> tuple[TreeSet, Part]:
    store = ArtefactStore(storage_for(str(store_folder)))
    order = TreeOrder(case.name, str(source), (case.config,), case.casts)
    run_tasks = EngineTasks(LocalEngine()).run_tasks
    published = publish_trees(run_tasks, store, order, now=datetime.now(UTC), created_by="benchmark")
    return open_trees(store), published.part
