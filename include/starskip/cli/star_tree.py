"""``starskip star-tree``: build a star-tree from files, inspect it, keep it up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from starskip.cli.command_group import CommandGroup
from starskip.cli.format_option import echo_result, format_option, output_or_table_format
from starskip.cli.lake_table import of_version
from starskip.cli.path_options import output_option
from starskip.cli.progress import progress
from starskip.cli.shared_options import GRACE_HOURS, of_grace
from starskip.cli.star_tree_contents import describe, documents
from starskip.cli.star_tree_store import (
    counted,
    existing_store,
    former_order,
    of_directory,
    of_table,
    tree_store,
)
from starskip.cli.to_stderr import warn
from starskip.errors import MissingSource, StorageError, printable
from starskip.lake.format_names import FORMATS
from starskip.number_text import size

if TYPE_CHECKING:
    from starskip.star_tree.build.publish_trees import PublishedTrees
    from starskip.star_tree.build.tree_order import TreeOrder
    from starskip.storage.artefact_store import ArtefactStore
    from starskip.storage.vacuum import VacuumReport


@click.command(name="vacuum")
@of_directory
@of_grace
@format_option()
def vacuum_trees(directory: str, grace_hours: float, output: str) -> None:
    """Remove the files of former trees, which builds and refreshes have replaced.

    Published trees stay, and so do all files younger than the grace time, by the clock of the store
    that holds DIR: a build that runs meanwhile is safe if it takes less than the grace time.

    \b
    Example:
      starskip star-tree vacuum trees/sales --grace-hours 1
    """  # noqa: D301
    from starskip.star_tree.tree_artefact import ARTEFACT

    store = existing_store(directory)
    if ARTEFACT not in store.artefacts():
        raise MissingSource(f"{directory}: there is no star-tree; nothing is to be removed", source=directory)
    removed = _vacuumed(store, grace_hours)
    for key, reason in removed.left_alone:
        warn(f"{printable(key)} was left alone: {printable(reason)}", of="vacuum")
    files = counted(len(removed.removed), "file")
    echo_result(
        output,
        {"files_removed": len(removed.removed), "bytes_removed": removed.removed_bytes},
        lambda: f"vacuum: {files} removed, {counted(removed.removed_bytes, 'byte')} freed",
    )


def tidy(store: ArtefactStore, directory: str) -> None:
    """Remove files that were replaced long ago; a failure only warns, since the trees are published."""
    try:
        left_alone = _vacuumed(store, GRACE_HOURS).left_alone
    except StorageError as error:
        left_alone = ((directory, str(error)),)
    for key, reason in left_alone:
        warn(f"{printable(key)} was not tidied: {printable(reason)}", of="star-tree")


def _vacuumed(store: ArtefactStore, grace_hours: float) -> VacuumReport:
    from starskip.star_tree.tree_artefact import ARTEFACT
    from starskip.storage.store_clock import store_clock
    from starskip.storage.vacuum import vacuum

    return vacuum(
        store,
        now=store_clock(store.storage),
        grace=timedelta(hours=grace_hours),
        # Nobody goes back to a former tree.
        keep_manifests=1,
        artefacts=[ARTEFACT],
    )


Item = TypeVar("Item")
Result = TypeVar("Result")


@click.group(name="star-tree", cls=CommandGroup)
def star_tree() -> None:
    """Build, inspect and refresh star-trees; `starskip sql` queries them.

    \b
    Examples:
      starskip star-tree build --input sales.parquet --config tree.json --output trees/sales
      starskip star-tree describe trees/sales
      starskip star-tree documents trees/sales --format csv | head
      starskip star-tree refresh trees/sales
      starskip star-tree vacuum trees/sales
    """  # noqa: D301 - click reads the character \b as "keep these lines"


@star_tree.command(name="build")
@click.option(
    "--input",
    "source",
    required=True,
    metavar="FILE|DIR",
    type=click.Path(),
    help="CSV (with header), Parquet, Delta, Iceberg.",
)
@click.option(
    "--config",
    "config_files",
    required=True,
    multiple=True,
    metavar="CONFIG.json",
    type=click.Path(),
    help="An entry of Pinot's starTreeIndexConfigs, or a list of them; repeatable.",
)
@output_option("DIR", "Folder for the tree: new, empty, or of a tree.", required=True)
@click.option("--cast", "casts", multiple=True, metavar="COLUMN=TYPE", help="Read a column as another type.")
@output_or_table_format("text", "json", tables=FORMATS)
@of_version
@click.option("--table", metavar="NAME", help="The only table name that FROM may hold; any name if left out.")
def build(
    source: str,
    config_files: Sequence[str],
    target: str,
    casts: Sequence[str],
    formats: tuple[str, str | None],
    version: int | None,
    table: str | None,
) -> None:
    """Build the star-trees of a table and publish them in DIR; they replace its former trees.

    A former tree is replaced in one step: readers see the old tree or the new one. DIR must hold nothing
    else, and no tree of another table. Files that were replaced more than a day ago are removed. Of a
    Delta or Iceberg table the newest version is read, or --version, which a refresh then keeps. A version
    with deleted rows in its files is refused.

    \b
    Examples:
      starskip star-tree build --input lineitem/ --config tree.json --output trees/lineitem --table lineitem
      starskip star-tree build --input a.csv --config t1.json --config t2.json --output trees/a
      starskip star-tree build --input x.parquet --config t.json --output t --cast l_shipdate=string
    """  # noqa: D301
    from starskip.cli.star_tree_order import named_order, require_own, tree_configs
    from starskip.star_tree.build.tree_order import TreeOrder

    output, file_format = formats
    configs = tuple(config for name in config_files for config in tree_configs(name))
    require_own(target, source)
    if table is not None and not table.strip():
        raise click.BadParameter("is empty; give the name that stands in FROM", param_hint="--table")
    store = tree_store(target)
    order = TreeOrder(
        _table_name(source),
        _absolute(source),
        configs,
        dict(map(_cast, casts)),
        file_format=file_format,
        version=version,
    )
    order, in_place_of = named_order(store, target, order, table)
    _say(_published(store, order, rebuild=True, in_place_of=in_place_of), target, output)
    tidy(store, target)


@star_tree.command(name="refresh")
@of_directory
@of_table
@format_option()
def refresh(directory: str, table: str | None, output: str) -> None:
    """Bring a tree up to date: new files are added to it, changed files cause a new build.

    Missing or damaged files of the tree cause a new build, too. Files that were replaced more than a day
    ago are removed.

    \b
    Example:
      starskip star-tree refresh trees/sales
    """  # noqa: D301
    store = existing_store(directory)
    order = former_order(store, directory, table)
    _say(_published(store, order, rebuild=False), directory, output)
    tidy(store, directory)


def _published(
    store: ArtefactStore, order: TreeOrder, *, rebuild: bool, in_place_of: Sequence[str] = ()
) -> PublishedTrees:
    from starskip.star_tree.build.publish_trees import publish_trees

    def run_tasks(label: str, items: Sequence[Item], function: Callable[[Item], Result]) -> list[Result]:
        return [function(item) for item in progress(label, items)]

    return publish_trees(
        run_tasks,
        store,
        order,
        now=datetime.now(UTC),
        created_by="starskip star-tree",
        rebuild=rebuild,
        in_place_of=in_place_of,
        clock_ns=time.time_ns,
    )


def _say(published: PublishedTrees, directory: str, output: str) -> None:
    from starskip.star_tree.tree_artefact import TableTrees

    trees = TableTrees.from_properties(published.part.properties).trees
    size_bytes = sum(file.size_bytes for file in published.part.files)
    document = {
        "outcome": published.outcome.value,
        "reason": published.reason,
        "directory": directory,
        "size_bytes": size_bytes,
        "trees": [{"rows": tree.rows, "documents": tree.layout.documents} for tree in trees],
    }
    lines = [
        f"tree {number}: {counted(tree.rows, 'row')} -> {counted(tree.layout.documents, 'document')}"
        for number, tree in enumerate(trees, 1)
    ]
    told = f"{published.outcome.value} ({published.reason})"
    lines.append(f"{told}: {size(size_bytes)} in {printable(directory)}")
    echo_result(output, document, lambda: "\n".join(lines))


def _absolute(source: str) -> str:
    return source if "://" in source else str(Path(source).absolute())


def _table_name(source: str) -> str:
    name = source.rstrip("/").rpartition("/")[2]
    return name.partition(".")[0] or name or "table"


def _cast(text: str) -> tuple[str, str]:
    name, separator, type_name = text.partition("=")
    if not separator or not name or not type_name:
        raise click.BadParameter(
            f"{text!r} is not COLUMN=TYPE, such as l_shipdate=string", param_hint="--cast"
        )
    return name, type_name


for _each in (vacuum_trees, describe, documents):
    star_tree.add_command(_each)
