"""The command ``starskip`` and its subcommands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from starskip.cli.command_group import CommandGroup
from starskip.cli.to_stderr import told, verbosity_options
from starskip.errors import (
    BAD_INPUT,
    TRACEBACKS,
    TRY_AGAIN,
    StarskipError,
    exit_code,
    first_line,
    printable,
    show_traceback,
)
from starskip.storage.files.full_disk import full_disk, is_full_disk

CLOSED_PIPE = 141
"""128 and SIGPIPE, as shells report any tool that is ended by a closed pipe."""

_COMMANDS = {
    "parse-log": "Count what query logs hold",
    "tune": "Recommend indexes from a broker log",
    "what-if": "Show what sets of indexes would save",
    "quantile-report": "Show entries scanned and latency",
    "collect-metadata": "Pack the metadata of segments",
    "star-tree": "Build and refresh star-trees",
    "sql": "Answer an aggregation from star-trees",
    "skipping": "Index files so that Spark skips some",
    "secondary": "Index rows and intersect indexes",
    "pinot": "Read a live Pinot, apply advice to it",
    "decide": "Approve, reject or defer advice",
    "doctor": "Check a configuration's deployment",
    "stage": "Run stages of the night in this process",
    "retain": "Keep the newest nights of every table",
    "settings": "Show all settings and their bounds",
}
"""The line of each in the list of commands."""

_PINOT_NAMES = {
    "IndexTuner": "tune",
    "EntriesScannedQuantileReport": "quantile-report",
    "CollectMetadataForIndexTuning": "collect-metadata",
}
"""Names of these commands in pinot-admin.sh, which users' scripts may still use."""


def command_named(name: str) -> click.Command | None:
    """Return a command, None for another name; the modules of the others are not imported."""
    if name not in _COMMANDS:
        return None
    module = name.replace("-", "_")
    command: click.Command = getattr(import_module(f"starskip.cli.{module}"), module)
    return command


class _Commands(CommandGroup):
    """Finds commands by name, and reports Starskip's errors as one line and their exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a first use."""
        del ctx
        return list(_COMMANDS)

    def command_named(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import and return the command."""
        del ctx
        return command_named(_PINOT_NAMES.get(name, name))

    def other_names(self) -> Iterable[str]:
        """Return the names of Pinot's own tools."""
        return _PINOT_NAMES

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of commands without importing one, for a shell that waits."""
        names = [
            CompletionItem(name, help=of) for name, of in _COMMANDS.items() if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing one, for ``--help`` to answer at once."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of Starskip's, or of the file system, is one line on stderr."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if error.__cause__ is not None:
                show_traceback(error.__cause__)
            raise
        except StarskipError as error:
            show_traceback(error)
            click.echo(f"starskip: {error}", err=True)
            return ctx.exit(exit_code(error))
        except BrokenPipeError:
            # The reader of a pipe went away, as `head` does: nobody reads the buffered rest either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ctx.exit(CLOSED_PIPE)
        except Exception as error:
            if not isinstance(error, OSError) and not is_full_disk(error):
                raise
            return ctx.exit(_said(error))

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line; also a help text that cannot be written is one line on stderr."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            sys.exit(_said(error))


def _said(error: Exception) -> int:
    """Print the error of the file system, and return the exit code."""
    show_traceback(error)
    name, words = getattr(error, "filename", None), getattr(error, "strerror", None)
    if name is not None and is_full_disk(error):
        click.echo(f"starskip: {full_disk(error, name)}", err=True)
    else:
        place = "cannot read or write" if name is None else printable(str(name), 300)
        click.echo(f"starskip: {place}: {words or first_line(error)}", err=True)
    return TRY_AGAIN if is_full_disk(error) else BAD_INPUT


def _print_version(context: click.Context, _option: click.Parameter, is_asked: bool) -> None:
    if is_asked and not context.resilient_parsing:
        from starskip.cli.version_text import version_text

        click.echo(version_text())
        context.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, and what a report of a fault should name: Python, the system, libraries.",
)
@click.option(
    "--tracebacks",
    is_flag=True,
    help=f"Show the traceback of an error above its line, as {TRACEBACKS}=1 does, in the night's jobs too.",
)
@click.pass_context
def main(context: click.Context, tracebacks: bool) -> None:
    """Index advice for analytic tables, from query logs and table metadata.

    \b
    starskip parse-log broker.log.gz               which records a log holds
    starskip tune --log broker.log.gz --segments /deep/store --index inverted
                                                   which indexes to add, and why
    starskip quantile-report --log broker.log.gz   entries scanned, latency, and what indexes could win
    starskip collect-metadata --segments /deep/store --output metadata.json
                                                   facts of the segments, in one file
    starskip star-tree build --input sales.parquet --config tree.json --output trees/sales
                                                   a star-tree of a table's files
    starskip sql --star-tree trees/sales "SELECT SUM(price) FROM sales"
                                                   its answers
    starskip skipping create /lake/events --index minmax:ts
                                                   an index that lets Spark skip files
    starskip secondary create /lake/events --index btree:ts --index ngram:message
                                                   indexes that lead to rows, and their intersection
    starskip decide events --approve --config night.yaml
                                                   what a person says to advice
    starskip doctor --config night.yaml            whether its logs, segments and stores are as a night needs
    starskip stage select_indexes --config night.yaml --run-date 2026-11-18
                                                   one stage of the night by hand
    starskip retain --config night.yaml --dry-run  which old nights would go
    starskip settings                              all settings with defaults, units and bounds

    --verbose and --quiet may stand before or behind the name of a command. Completion of words in bash, zsh
    and fish: docs/commands.md.

    Exit codes: 0 done, 1 try again (a store that does not answer, a full disk), 2 wrong arguments,
    3 wrong input (one line on stderr says what),
    141 nobody reads the output any more.
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    if tracebacks:
        os.environ[TRACEBACKS] = "1"
    context.with_resource(told(context))


main.params.extend(verbosity_options())
