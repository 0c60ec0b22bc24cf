"""``starskip skipping describe``, ``list`` and ``explain``: the indexes of a table, and their effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.cli.format_option import echo_result
from starskip.cli.key_options import keyring, named_files, of_keys
from starskip.cli.lake_table import existing_table, full_path, of_condition, of_modules, table_command
from starskip.cli.spark_session import spark_session
from starskip.cli.user_modules import user_modules
from starskip.errors import printable
from starskip.extras import needing_extra
from starskip.number_text import size

_BAR = 20


@table_command("describe", of_modules, of_keys)
def describe(path: str, output: str, root: str | None, modules: Sequence[str], keys: Sequence[str]) -> None:
    """Show the metadata: files, rows, bytes, and each index.

    \b
    Example:
      starskip skipping describe /lake/events --format json
    """  # noqa: D301
    with user_modules(modules):
        document = _description(path, root, keys)
    echo_result(output, document, lambda: description_text(document))


@table_command("list", of_keys)
def list_indexes(path: str, output: str, root: str | None, keys: Sequence[str]) -> None:
    """List the indexes; deleted indexes are listed until a vacuum.

    \b
    Example:
      starskip skipping list /lake/events
    """  # noqa: D301
    indexes = _description(path, root, keys)["indexes"]
    echo_result(output, indexes, lambda: indexes_text(indexes))


@table_command("explain", of_condition, of_modules, of_keys)
def explain(
    path: str,
    condition: str,
    output: str,
    root: str | None,
    modules: Sequence[str],
    keys: Sequence[str],
) -> None:
    """Show the files that Spark would read for a condition, and how many each index alone would skip.

    \b
    Examples:
      starskip skipping explain /lake/events "ts >= '2026-11-01' AND country = 'fr'" --format json
      starskip skipping explain /lake/logs "getAgentName(user_agent) = 'Firefox'"
      starskip skipping explain /lake/people "email = 'a@b.org'" --key pii=/etc/keys/pii
    """  # noqa: D301
    with user_modules(modules):
        source = existing_table(path, root, keyring(keys)).source
        with needing_extra("spark"):
            from starskip.spark.skipping.explain_condition import explain_condition

        with spark_session("planning") as spark:
            document = explain_condition(
                spark,
                full_path(path),
                source,
                condition,
                metadata_root=root,
                modules=modules,
                keys=named_files(keys),
            )
    echo_result(output, document, lambda: explained_text(document))


def _description(path: str, root: str | None, keys: Sequence[str]) -> dict[str, Any]:
    from starskip.file_metadata.describe_metadata import describe_metadata

    metadata = existing_table(path, root, keyring(keys))
    return describe_metadata(metadata, metadata.storage.place)


def description_text(document: Mapping[str, Any]) -> str:
    """Return a description of metadata (describe_metadata)."""
    rows = "?" if document["rows"] is None else f"{document['rows']:,}"
    lines = [
        f"{printable(document['path'])}: {document['files']:,} files of {document['format']}, "
        f"{size(document['files_bytes'])}, {rows} rows",
        f"metadata: version {document['version']}, {size(document['metadata_bytes'])} in "
        f"{document['segments']:,} segments, at {printable(document['location'])}",
    ]
    trusted = document["files_trusted"]
    young = 0 if trusted is None else document["files"] - trusted
    if young:
        lines.append(f"{young:,} files were too young to be sure of: refresh reads them again")
    if document["removed_rows"]:
        lines.append(f"{document['removed_rows']:,} rows are of files that are gone or changed: optimize")
    return "\n".join([*lines, indexes_text(document["indexes"])])


def indexes_text(indexes: Sequence[Mapping[str, Any]]) -> str:
    """Return the indexes as a table."""
    rows = [
        (
            printable(each["index"]),
            _state(each) if each["understood"] else _not_understood(each["fault"]),
            f"{each['files_known']:,}",
            size(each["size_bytes"]),
        )
        for each in indexes
    ]
    return table(("index", "state", "files", "size"), rows)


def _state(index: Mapping[str, Any]) -> str:
    key = index["key"]
    return str(index["state"]) if key is None else f"{index['state']}, key {key}"


def _not_understood(fault: str | None) -> str:
    # Other errors come from a user's own type.
    return "unknown type: --types" if fault is None or "--types" in fault else printable(fault, 60)


def explained_text(document: Mapping[str, Any]) -> str:
    """Return the files read of a table, and how many each index alone would skip."""
    total, read = document["files_total"], document["files_read"]
    lines = ["how many files are read is not known"]
    if total is not None:
        # The bytes of an Iceberg snapshot include its delete files.
        sizes = " of ".join(size(document[each]) for each in ("bytes_read", "bytes_total"))
        lines = [f"reads {read:,} of {total:,} files, {sizes}"]
    rows = [
        (printable(name), f"{skipped:,}", bar(skipped, total))
        for name, skipped in sorted(document["skipped_by"].items(), key=lambda item: (-item[1], item[0]))
    ]
    if rows:
        lines.append(table(("alone it skips", "files", ""), rows))
    lines += [f"not skipped, because {printable(reason)}" for reason in document["not_skipped_because"]]
    return "\n".join(lines)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return rows below a header, in columns."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    )


def bar(part: int, whole: int) -> str:
    """Return a share as a bar."""
    filled = round(_BAR * part / whole) if whole else 0
    return "█" * filled + "·" * (_BAR - filled)
