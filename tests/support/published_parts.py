"""Parts of ``reports`` as the stage publishes them, of made-up nights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME
from starskip.advisor.families.star_tree.star_tree_entry import star_tree_entry
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.pinot.star_trees_key import StarTreesKey
from starskip.reports.evidence import Evidence
from starskip.reports.report_summary import SUMMARY, ReportSummary, report_summary
from starskip.storage.manifest import Part
from starskip.storage.staged_write import StagedWrite


def advised_of(evidence: Evidence) -> Sequence[AdvisedIndex]:
    """The changes of the table config that an evidence tells of, as the night's recommendations have them."""
    trees = evidence.star_trees.proposed if evidence.star_trees else ()
    return [
        *(AdvisedIndex(each.kind, each.columns, size_bytes=each.size_bytes) for each in evidence.chosen),
        *(
            AdvisedIndex(
                STAR_TREE_NAME,
                tree.dimensions,
                StarTreesKey().fragment(star_tree_entry(tree)),
                size_bytes=tree.estimated_bytes,
            )
            for tree in trees
        ),
        *(AdvisedIndex(each.kind, each.columns, is_drop=True) for each in evidence.change.drop),
    ]


def summary_for(evidence: Evidence) -> ReportSummary:
    """The summary that the stage would publish with the report."""
    return report_summary(evidence, advised_of(evidence))


def report_part(
    staged: StagedWrite, table: str, files: Mapping[str, bytes], summary: ReportSummary | None
) -> Part:
    """A table's report in a store; without a ``summary`` one of an older Starskip."""
    written = tuple(staged.write_file(table, name, content) for name, content in files.items())
    return Part(written, {SUMMARY: summary.to_json()} if summary else {})
