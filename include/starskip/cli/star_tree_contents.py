"""``starskip star-tree describe`` and ``documents``: the contents of the trees in a folder."""

from __future__ import annotations

import csv
import json
import sys
from typing import Any

import click

from starskip.cli.star_tree_store import counted, of_table, opened_trees
from starskip.errors import StarskipError, printable
from starskip.star_tree.document_rows import document_header, document_rows
from starskip.star_tree.serving.tree_set import TreeSet


@click.command(name="describe")
@click.argument("directory", metavar="DIR")
@of_table
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def describe(directory: str, table: str | None, output: str) -> None:
    """Show the trees in DIR: their configurations, documents, nodes, bytes, and sources.

    \b
    Example:
      starskip star-tree describe trees/sales --format json
    """  # noqa: D301
    trees = opened_trees(directory, table)
    document = _description(trees)
    if output == "json":
        click.echo(json.dumps(document))
        return
    files = counted(document["source_files"], "source file")
    click.echo(f"{printable(trees.table)}: {files} at {printable(document['source'])}")
    for number, tree in enumerate(document["trees"], 1):
        config = tree["config"]
        click.echo(f"tree {number}: {' > '.join(map(printable, config['dimensionsSplitOrder']))}")
        click.echo(f"  {', '.join(map(printable, config['functionColumnPairs']))}")
        click.echo(
            f"  {counted(tree['rows'], 'row')} -> {counted(tree['documents'], 'document')} "
            f"({tree['base_documents']:,} without a star), {counted(tree['nodes'], 'node')}; "
            f"at most {counted(config['maxLeafRecords'], 'document')} a leaf"
        )
    click.echo(f"{counted(document['size_bytes'], 'byte')} in all")


@click.command(name="documents")
@click.argument("directory", metavar="DIR")
@of_table
@click.option("--format", "output", type=click.Choice(["csv"]), default="csv", show_default=True)
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
    del output
    trees = opened_trees(directory, table).trees
    if number > len(trees):
        raise StarskipError(f"{directory}: there is no tree {number}; it has {counted(len(trees), 'tree')}")
    tree = trees[number - 1]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(document_header(tree))
    writer.writerows(document_rows(tree))


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
