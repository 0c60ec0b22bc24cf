"""``starskip what-if``: savings of given sets of indexes, from a log and a segment folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import log_option, segments_option
from starskip.cli.progress import progress
from starskip.cli.setting_option import given_settings, setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_config_option, table_names, tables_option
from starskip.cli.to_stderr import warn
from starskip.errors import BAD_INPUT, ConfigError, printable
from starskip.number_text import decimal, percent, percent_range, size

if TYPE_CHECKING:
    from starskip.advisor.selection.set_saving import SetSaving
    from starskip.advisor.selection.vote_list import IndexSet
    from starskip.advisor.selection.what_if import TableWhatIf

_NONE = "none"


@click.command(name="what-if", cls=SeveralValues, several=("--log", "--table-config"))
@log_option(required=True)
@segments_option(required=True)
@tables_option("all of the log")
@table_config_option
@click.option(
    "--set",
    "sets",
    multiple=True,
    required=True,
    metavar="COLUMNS",
    help="Columns with an inverted index, by commas; range:C for a range index, sorted:C alone for a sort"
    " order, none for no change; repeatable.",
)
@setting_option("--pinot-version", "scoring.pinot_version", metavar="V")
@setting_option("--message-field", "log.message_field", metavar="FIELD")
@format_option()
def what_if(
    logs: Sequence[str],
    segments: str,
    tables: str,
    configs: Sequence[str],
    sets: Sequence[str],
    output: str,
    **settings_given: Any,
) -> None:
    """Show what sets of indexes would save, beside the indexes that a table has.

    \b
    Examples:
      starskip what-if --log broker.log.gz --segments /deep/store --tables t --set a --set a,range:b
      starskip what-if --log logs/ --segments /deep/store --set sorted:a --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.advisor.families.column_indexes import INVERTED
    from starskip.advisor.families.families import configured_indexes, families_named
    from starskip.advisor.selection.tune_tables import TuneRequest
    from starskip.advisor.selection.what_if import what_if as answer_of
    from starskip.night.configuration.checked_overrides import checked_overrides
    from starskip.pinot.table_config import read_table_configs
    from starskip.settings import Settings

    parsed = [_parsed(text) for text in sets]
    try:
        settings = checked_overrides(Settings(), given_settings(settings_given), origin="arguments")
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    asked = frozenset().union(*parsed)
    kinds = {index.family for index in asked} or {INVERTED.name}
    families = families_named(",".join(sorted(kinds)))
    current = read_table_configs(configs)
    request = TuneRequest(
        logs,
        segments,
        table_names(tables),
        configured_indexes(current, families.known),
        families,
        settings,
        configs=current,
        only=asked,
    )
    answer = answer_of(request, parsed, progress)
    for warning in answer.warnings:
        warn(printable(warning))
    for table, reason in answer.failures.items():
        click.echo(f"starskip: table {printable(table, 200)}: {printable(reason)}", err=True)
    echo_result(
        output,
        {"tables": {table: _document(found, sets) for table, found in answer.tables.items()}},
        lambda: "\n\n".join(_text(table, found, sets) for table, found in answer.tables.items()),
    )
    if answer.failures:
        click.get_current_context().exit(BAD_INPUT)


def _parsed(text: str) -> IndexSet:
    """Return the indexes of one set; raises click.BadParameter."""
    from starskip.advisor.families.column_indexes import INVERTED
    from starskip.advisor.families.families import BUILT_IN, reorders
    from starskip.advisor.families.index import Index

    kinds = [family.name for family in BUILT_IN if family.path is not None]
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == [_NONE]:
        return frozenset()
    found = set()
    for name in names:
        kind, colon, column = name.partition(":")
        if colon and kind not in kinds:
            known = ", ".join(f"{each}:" for each in kinds)
            raise click.BadParameter(
                f"{printable(name, 80)}: a column, or one behind {known}", param_hint="--set"
            )
        found.add(Index(kind, column) if colon else Index(INVERTED.name, name))
    if not found:
        raise click.BadParameter("names no column; none stands for no change", param_hint="--set")
    if len(found) > 1 and any(map(reorders, found)):
        raise click.BadParameter(
            f"{printable(text, 80)}: a sort order stands alone, since its indexes are not simulated with it",
            param_hint="--set",
        )
    return frozenset(found)


def _document(found: TableWhatIf, texts: Sequence[str]) -> dict[str, Any]:
    from starskip.advisor.latency.shape_times import latency_document

    return {
        "sets": [_of_set(each, text) for each, text in zip(found.sets, texts, strict=True)],
        "latency": latency_document(found.times, found.mistrust),
    }


def _of_set(found: SetSaving, text: str) -> dict[str, Any]:
    time = found.time
    return {
        "set": text,
        "saving_ratio": found.saving.ratio,
        "interval": [found.saving.low, found.saving.high],
        "saving_ms_per_query": time.saving_ms if time else None,
        "interval_ms": [time.low_ms, time.high_ms] if time else None,
        "size_bytes": found.size_bytes,
    }


def _text(table: str, found: TableWhatIf, texts: Sequence[str]) -> str:
    lines = [printable(table, 200)]
    if found.times is not None:
        lines[0] += f": a query takes {decimal(found.times.ms_per_query)} ms"
    if found.mistrust:
        lines.append(f"  milliseconds cannot be trusted: {printable(found.mistrust)}")
    for each, text in zip(found.sets, texts, strict=True):
        saving, time = each.saving, each.time
        line = f"  {printable(text, 200)}: {percent(saving.ratio)} of the entries in filters"
        line += f" ({percent_range(saving.low, saving.high)})"
        if time is not None:
            line += (
                f", {decimal(time.saving_ms)} ms a query ({decimal(time.low_ms)} to {decimal(time.high_ms)})"
            )
        lines.append(line + ("" if each.size_bytes is None else f", takes {size(each.size_bytes)}"))
    return "\n".join(lines)
