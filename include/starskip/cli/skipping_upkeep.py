"""``starskip skipping optimize``, ``delete``, ``restore``, ``vacuum`` and ``rotate``, which need no Spark."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result
from starskip.cli.key_options import keyring, named_files, of_keys
from starskip.cli.lake_table import existing_table, metadata_of, of_some_indexes, table_command
from starskip.cli.shared_options import of_grace
from starskip.cli.table_results import echo_changed, echo_optimized, echo_vacuumed

if TYPE_CHECKING:
    from starskip.file_metadata.commit_refresh import Commit


@table_command("optimize", of_keys)
def optimize(path: str, output: str, root: str | None, keys: Sequence[str]) -> None:
    """Merge the metadata of many refreshes into one segment, without outdated rows, so that it is read fast.

    \b
    Example:
      starskip skipping optimize /lake/events
    """  # noqa: D301
    from starskip.file_metadata.optimize import optimize_metadata

    found = keyring(keys)
    storage = existing_table(path, root, found).storage
    echo_optimized(optimize_metadata(storage, _commit(), keyring=found), output)


@table_command("delete", of_some_indexes)
def delete(path: str, indexes: Sequence[str], output: str, root: str | None) -> None:
    """Stop using indexes; `restore` undoes it until a `vacuum`.

    \b
    Examples:
      starskip skipping delete /lake/events --index minmax:ts
      starskip skipping delete /lake/events
    """  # noqa: D301
    _change(path, indexes, root, output, active=False)


@table_command("restore", of_some_indexes)
def restore(path: str, indexes: Sequence[str], output: str, root: str | None) -> None:
    """Use deleted indexes again; the next `refresh` adds newer files to them.

    \b
    Example:
      starskip skipping restore /lake/events --index minmax:ts
    """  # noqa: D301
    _change(path, indexes, root, output, active=True)


@table_command("vacuum", of_grace)
def vacuum(path: str, grace_hours: float, output: str, root: str | None) -> None:
    """Remove deleted indexes for good, and metadata files that are no longer needed.

    \b
    Example:
      starskip skipping vacuum /lake/events --grace-hours 48
    """  # noqa: D301
    from starskip.file_metadata.vacuum_metadata import vacuum_metadata
    from starskip.storage.store_clock import store_clock

    storage = metadata_of(path, root)
    # After a vacuum of the last index, its leftovers may still be vacuumed.
    if not any(storage.objects_below("")):
        existing_table(path, root)
    report = vacuum_metadata(storage, _commit(), now=store_clock(storage), grace=timedelta(hours=grace_hours))
    echo_vacuumed(report, output)


@table_command(
    "rotate",
    click.option("--from", "former", required=True, metavar="NAME=FILE", help="The former key."),
    click.option("--to", "following", required=True, metavar="NAME=FILE", help="The new key."),
)
def rotate(path: str, former: str, following: str, output: str, root: str | None) -> None:
    """Change a key: data keys are wrapped by another key, and no index is rebuilt.

    \b
    Examples:
      starskip skipping rotate /lake/people --from pii=old.key --to pii=new.key
      starskip skipping rotate /lake/people --from pii=pii.key --to pii-2027=pii-2027.key

    The former key can read former versions until a `vacuum`.
    """  # noqa: D301
    from starskip.file_metadata.rotate_keys import named_key, rotate_keys

    (before,), (after,) = named_files([former], "--from").items(), named_files([following], "--to").items()
    storage = existing_table(path, root).storage
    manifest = rotate_keys(storage, named_key(*before), named_key(*after), _commit())
    is_renamed = before[0] != after[0]
    what = f"{before[0]} is {after[0]} now" if is_renamed else f"the key {before[0]} was changed"
    document = {"version": manifest.version, "from": before[0], "to": after[0]}
    echo_result(output, document, lambda: f"version {manifest.version}: {what}")


def _change(path: str, indexes: Sequence[str], root: str | None, output: str, *, active: bool) -> None:
    from starskip.file_metadata.change_indexes import change_indexes

    storage = existing_table(path, root).storage
    manifest = change_indexes(storage, indexes or None, _commit(), active=active)
    echo_changed(manifest, indexes, "restored" if active else "deleted", output)


def _commit() -> Commit:
    from starskip.file_metadata.commit_refresh import new_commit
    from starskip.file_metadata.table_state import CREATED_BY

    return new_commit(CREATED_BY)
