"""``starskip skipping describe``, ``list`` and ``explain``: what there is of indexes, and what they do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from starskip.cli.lake_table import as_output, existing_table, full_path, of_metadata, of_modules, of_path
from starskip.cli.skipping_text import description_text, explained_text, indexes_text
from starskip.cli.user_modules import user_modules
from starskip.indexes.skipping.metadata.describe_metadata import describe_metadata


@click.command(name="describe")
@of_path
@as_output
@of_metadata
@of_modules
def describe(path: str, output: str, root: str | None, modules: Sequence[str]) -> None:
    """Tell what there is of metadata: files, rows, bytes, and each index.

    \b
    Example:
      starskip skipping describe /lake/events --format json
    """  # noqa: D301
    with user_modules(modules):
        document = _description(path, root)
    click.echo(json.dumps(document) if output == "json" else description_text(document))


@click.command(name="list")
@of_path
@as_output
@of_metadata
def list_indexes(path: str, output: str, root: str | None) -> None:
    """List the indexes, deleted ones too until a vacuum.

    \b
    Example:
      starskip skipping list /lake/events
    """  # noqa: D301
    indexes = _description(path, root)["indexes"]
    click.echo(json.dumps(indexes) if output == "json" else indexes_text(indexes))


@click.command(name="explain")
@of_path
@click.argument("condition", metavar='"WHERE …"')
@as_output
@of_metadata
@of_modules
def explain(path: str, condition: str, output: str, root: str | None, modules: Sequence[str]) -> None:
    """Tell which files Spark would read for a condition, and what each index does for it.

    \b
    Examples:
      starskip skipping explain /lake/events "ts >= '2026-11-01' AND country = 'fr'" --format json
      starskip skipping explain /lake/logs "getAgentName(user_agent) = 'Firefox'"
    """  # noqa: D301
    with user_modules(modules):
        source = existing_table(path, root).source
        from starskip.spark.command_session import command_session
        from starskip.spark.skipping.explain_condition import explain_condition

        with command_session("planning") as spark:
            document = explain_condition(
                spark, full_path(path), source, condition, metadata_root=root, modules=modules
            )
    click.echo(json.dumps(document) if output == "json" else explained_text(document))


def _description(path: str, root: str | None) -> dict[str, Any]:
    metadata = existing_table(path, root)
    return describe_metadata(metadata, metadata.storage.place)
