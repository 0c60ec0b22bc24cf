"""``starskip star-tree describe`` and ``documents``: the contents of the trees in a folder."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.star_tree_store import counted, of_directory, of_table, opened_trees
from starskip.errors import StarskipError, printable

if TYPE_CHECKING:
    from starskip.star_tree.serving.tree_set import TreeSet


@click.command(name="describe")
@of_directory
@of_table
@format_option()
def describe(directory: str, table: str | None, output: str) -> None:
    """Show the trees in DIR: their configurations, documents, nodes, bytes, and sources.

    \b
    Example:
      starskip star-tree describe trees/sales --format json
    """  # noqa: D301
    trees = opened_trees(directory, table)
    document = _description(trees)
    echo_result(output, document, lambda: "\n".join(_lines(document)))


@click.command(name="documents")
@of_directory
@of_table
@format_option("csv", "json", note=" In JSON the columns, then a list of texts for each document.")
@click.option(
    "--tree", "number", type=click.IntRange(1), default=1, show_default=True, help="Number of the tree."
)
def documents(directory: str, table: str | None, output: str, number: int) -> None:
    """Print all documents of a tree, in their order.

    `*` is the star, `\\*` a value that is a star, `\\N` null. AVG is `sum|count`, MINMAXRANGE `min|max`,
    sketches are base64.

    \b
    Example:
      starskip star-tree documents trees/sales --format csv | head -30
    """  # noqa: D301
    from starskip.star_tree.document_rows import document_header, document_rows

    trees = opened_trees(directory, table).trees
    if number > len(trees):
        raise StarskipError(f"{directory}: there is no tree {number}; it has {counted(len(trees), 'tree')}")
    tree = trees[number - 1]
    if output == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(document_header(tree))
        writer.writerows(document_rows(tree))
        return
    # One by one: a tree may have more documents than fit into memory as a list.
    sys.stdout.write(f'{{"columns": {json.dumps(list(document_header(tree)))}, "rows": [')
    for place, row in enumerate(document_rows(tree)):
        sys.stdout.write(f"{', ' if place else ''}{json.dumps(list(row))}")
    sys.stdout.write("]}\n")


def _lines(document: dict[str, Any]) -> Iterator[str]:
    files = counted(document["source_files"], "source file")
    yield f"{printable(document['table'])}: {files} at {printable(document['source'])}"
    for number, tree in enumerate(document["trees"], 1):
        config = tree["config"]
        yield f"tree {number}: {' > '.join(map(printable, config['dimensionsSplitOrder']))}"
        yield f"  {', '.join(map(printable, config['functionColumnPairs']))}"
        yield (
            f"  {counted(tree['rows'], 'row')} -> {counted(tree['documents'], 'document')} "
            f"({tree['base_documents']:,} without a star), {counted(tree['nodes'], 'node')}; "
            f"at most {counted(config['maxLeafRecords'], 'document')} a leaf"
        )
    yield f"{counted(document['size_bytes'], 'byte')} in all"


def _description(trees: TreeSet) -> dict[str, Any]:
    return {
        "table": trees.table,
        "answers_to": trees.answers_to,
        "source": trees.published.source_path,
        "source_files": len(trees.recorded),
        "size_bytes": trees.size_bytes,
        "trees": [
            {
                "config": tree.config.to_document(),
                "rows": tree.rows,
                "documents": tree.documents_total,
                "base_documents": record.layout.base_documents,
                "nodes": len(tree.nodes),
            }
            for tree, record in zip(trees.trees, trees.published.trees, strict=True)
        ],
    }
