"""``starskip star-tree vacuum``, and the same after each build and refresh."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.shared_options import GRACE_HOURS, of_grace
from starskip.cli.star_tree_store import counted, existing_store, of_directory
from starskip.cli.to_stderr import warn
from starskip.errors import MissingSource, StorageError, printable

if TYPE_CHECKING:
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
