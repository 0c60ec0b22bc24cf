"""``starskip secondary check``: indexes held against the rows of the table and against a scan."""

from __future__ import annotations

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.lake_table import metadata_root, of_metadata, of_path
from starskip.cli.progress import progress
from starskip.cli.secondary_upkeep import require_indexes
from starskip.cli.shared_options import of_seed, seed_or_any
from starskip.cli.to_stderr import note
from starskip.errors import StarskipError, printable

_PREDICATES = 200
_FILES_NAMED = 5


@click.command(name="check")
@of_path
@click.option(
    "--predicates",
    type=click.IntRange(0, 100_000),
    default=_PREDICATES,
    show_default=True,
    metavar="N",
    help="How many random predicates are asked.",
)
@of_seed
@format_option("json", "text")
@of_metadata
def check(path: str, predicates: int, seed: int | None, output: str, root: str | None) -> None:
    """Hold the indexes against the rows of the table, and print the first difference.

    Each row must have its entries, and each entry its row. Then random predicates of the table's own columns
    are asked: each index must find the rows that a scan finds. Exit code 3 if something differs.

    \b
    Examples:
      starskip secondary check /lake/events
      starskip secondary check /lake/events --predicates 2000 --seed 7
    """  # noqa: D301
    from starskip.secondary.check_answers import UnlikeScan, check_answers
    from starskip.secondary.check_indexes import check_indexes

    require_indexes(path, root)
    chosen = seed_or_any(seed)
    counts = check_indexes(path, root=metadata_root(root), watched=lambda files: progress("checking", files))
    try:
        found = check_answers(
            path,
            predicates=predicates,
            seed=chosen,
            root=metadata_root(root),
            watched=lambda files: progress("scanning", files),
        )
    except UnlikeScan as error:
        raise StarskipError(f"{error} (--seed {chosen} --predicates {predicates})") from None
    document = {
        "predicates": found.predicates,
        "entries": sum(counts.values()),
        "wrong": 0,
        "seed": chosen,
        "indexes": counts,
        "answers": found.asked,
        "files_not_indexed": len(found.beside),
    }
    if found.beside:
        some = ", ".join(printable(each, 200) for each in found.beside[:_FILES_NAMED])
        more = f" and {len(found.beside) - _FILES_NAMED:,} more" if len(found.beside) > _FILES_NAMED else ""
        note(f"new or changed since the last refresh, and scanned by queries: {some}{more}")
    lines = [
        f"{index}  {entries:,} entries agree with the rows, {found.asked[index]:,} answers with a scan"
        for index, entries in counts.items()
    ]
    echo_result(output, document, lambda: "\n".join(lines))
