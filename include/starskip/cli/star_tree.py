"""``starskip star-tree``: build a star-tree from files, inspect it, keep it up to date."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import click

from starskip.cli.grace_option import grace_option
from starskip.cli.progress import progress
from starskip.cli.star_tree_contents import describe, documents
from starskip.cli.star_tree_store import counted, existing_store, former_order, of_table, tree_store
from starskip.errors import ConfigError, MissingSource, SourceError, StorageError, printable
from starskip.lake.open_lake_table import FORMATS
from starskip.star_tree.build.publish_trees import PublishedTrees, publish_trees
from starskip.star_tree.build.published_trees import published_orders
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT, TableTrees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files.open_file import read_small_file
from starskip.storage.store_clock import PROBES, store_clock
from starskip.storage.vacuum import VacuumReport, vacuum

Item = TypeVar("Item")
Result = TypeVar("Result")
_SHOWN_BYTES = 1024
_GRACE_HOURS = 24.0
"""Hours for which readers may go on reading files that a build or refresh has replaced."""


@click.group(name="star-tree")
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
    "--input", "source", required=True, metavar="FILE|DIR", help="CSV (with header), Parquet, Delta, Iceberg."
)
@click.option(
    "--config",
    "config_files",
    required=True,
    multiple=True,
    metavar="CONFIG.json",
    help="An entry of Pinot's starTreeIndexConfigs, or a list of them; repeatable.",
)
@click.option("--output", required=True, metavar="DIR", help="Folder for the tree: new, empty, or of a tree.")
@click.option("--cast", "casts", multiple=True, metavar="COLUMN=TYPE", help="Read a column as another type.")
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    help="Format of the table; detected if left out.",
)
@click.option(
    "--version",
    type=click.IntRange(0),
    metavar="N|SNAPSHOT_ID",
    help="Version or snapshot of a Delta or Iceberg table; the newest if left out.",
)
@click.option("--table", metavar="NAME", help="The only table name that FROM may hold; any name if left out.")
def build(
    source: str,
    config_files: Sequence[str],
    output: str,
    casts: Sequence[str],
    file_format: str | None,
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
    configs = tuple(config for name in config_files for config in _configs(name))
    _require_own(output, source)
    if table is not None and not table.strip():
        raise click.BadParameter("is empty; give the name that stands in FROM", param_hint="--table")
    store = tree_store(output)
    order = TreeOrder(
        _table_name(source),
        _absolute(source),
        configs,
        dict(map(_cast, casts)),
        file_format=file_format,
        version=version,
    )
    order, in_place_of = _named_order(store, output, order, table)
    _say(_published(store, order, rebuild=True, in_place_of=in_place_of), output)
    _tidy(store, output)


@star_tree.command(name="refresh")
@click.argument("directory", metavar="DIR")
@of_table
def refresh(directory: str, table: str | None) -> None:
    """Bring a tree up to date: new files are added to it, changed files cause a new build.

    Missing or damaged files of the tree cause a new build, too. Files that were replaced more than a day
    ago are removed.

    \b
    Example:
      starskip star-tree refresh trees/sales
    """  # noqa: D301
    store = existing_store(directory)
    order = former_order(store, directory, table)
    _say(_published(store, order, rebuild=False), directory)
    _tidy(store, directory)


@star_tree.command(name="vacuum")
@click.argument("directory", metavar="DIR")
@grace_option(
    _GRACE_HOURS,
    "Keep files replaced less than this many hours ago: readers may still use them.",
    metavar="N",
)
def vacuum_trees(directory: str, grace_hours: float) -> None:
    """Remove the files of former trees, which builds and refreshes have replaced.

    Published trees stay, and so do all files younger than the grace time, by the clock of the store
    that holds DIR: a build that runs meanwhile is safe if it takes less than the grace time.

    \b
    Example:
      starskip star-tree vacuum trees/sales --grace-hours 1
    """  # noqa: D301
    store = existing_store(directory)
    if ARTEFACT not in store.artefacts():
        raise MissingSource(f"{directory}: there is no star-tree; nothing is to be removed", source=directory)
    removed = _vacuumed(store, grace_hours)
    for key, reason in removed.left_alone:
        click.echo(f"vacuum: warning: {printable(key)} was left alone: {printable(reason)}", err=True)
    files = counted(len(removed.removed), "file")
    click.echo(f"vacuum: {files} removed, {counted(removed.removed_bytes, 'byte')} freed")


def _published(
    store: ArtefactStore, order: TreeOrder, *, rebuild: bool, in_place_of: Sequence[str] = ()
) -> PublishedTrees:
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


def _tidy(store: ArtefactStore, directory: str) -> None:
    """Remove files that were replaced long ago; a failure only warns, since the trees are published."""
    try:
        left_alone = _vacuumed(store, _GRACE_HOURS).left_alone
    except StorageError as error:
        left_alone = ((directory, str(error)),)
    for key, reason in left_alone:
        click.echo(f"star-tree: warning: {printable(key)} was not tidied: {printable(reason)}", err=True)


def _vacuumed(store: ArtefactStore, grace_hours: float) -> VacuumReport:
    return vacuum(
        store,
        now=store_clock(store.storage),
        grace=timedelta(hours=grace_hours),
        # Nobody goes back to a former tree.
        keep_manifests=1,
        artefacts=[ARTEFACT],
    )


def _say(published: PublishedTrees, directory: str) -> None:
    for number, tree in enumerate(TableTrees.from_properties(published.part.properties).trees, 1):
        click.echo(
            f"tree {number}: {counted(tree.rows, 'row')} -> {counted(tree.layout.documents, 'document')}"
        )
    size_bytes = sum(file.size_bytes for file in published.part.files)
    told = f"{published.outcome.value} ({published.reason})"
    click.echo(f"{told}: {max(size_bytes // _SHOWN_BYTES, 1):,} KiB in {printable(directory)}")


def _configs(name: str) -> list[StarTreeConfig]:
    try:
        document = json.loads(read_small_file(name))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: is not JSON ({error})", setting=name) from None
    entries = document if isinstance(document, list) else [document]
    if not entries:
        raise ConfigError(f"{name}: is an empty list", setting=name)
    try:
        return [StarTreeConfig.from_document(entry) for entry in entries]
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}", setting=error.setting) from None


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


def _require_own(output: str, source: str) -> None:
    """Refuse a folder that holds anything but star-trees, or that would be a part of the table."""
    folder = Path(output)
    if "://" in output:
        return
    if Path(source).resolve() in (folder.resolve(), *folder.resolve().parents):
        raise SourceError(f"{output}: lies in {source}, the table itself; name another", source=output)
    if folder.exists() and not folder.is_dir():
        raise SourceError(f"{output}: is a file; name a folder for the tree", source=output)
    own = (ARTEFACT, PROBES)
    others = sorted(each.name for each in folder.iterdir() if each.name not in own) if folder.exists() else []
    if others:
        raise SourceError(
            f"{output}: holds something else ({others[0]}); name a new folder, or one of a star-tree",
            source=output,
        )


def _named_order(
    store: ArtefactStore, output: str, order: TreeOrder, name: str | None
) -> tuple[TreeOrder, Sequence[str]]:
    """Return the order under its name, and the tables of the store that it replaces.

    A store keeps the name that it was given; a store without a name may get one for the same files.
    """
    former = published_orders(store)
    is_same = {table: of is not None and of.source_path == order.source_path for table, of in former.items()}
    given = next((of for of in former.values() if of is not None and of.is_named), None)
    if name is None and given is not None and len(former) == 1:
        if not is_same[given.table]:
            raise SourceError(
                f"{output}: holds the star-trees of {given.table}, which are of {given.source_path}; name a "
                f"new folder, or give --table {given.table}",
                source=output,
            )
        name = given.table
    order = replace(order, table=name or order.table, is_named=name is not None)
    others = [table for table in former if table != order.table]
    if len(others) == 1 == len(former) and given is None and is_same[others[0]]:
        return order, others
    if others:
        raise SourceError(
            f"{output}: holds the star-trees of {others[0]}; name a new folder, or one of {order.table}",
            source=output,
        )
    return order, ()


star_tree.add_command(describe)
star_tree.add_command(documents)
