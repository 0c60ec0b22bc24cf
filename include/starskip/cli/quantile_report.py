"""``starskip quantile-report``: entries and latency of queries, and the time that indexes could save."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import log_option
from starskip.cli.progress import progress
from starskip.cli.setting_option import given_settings, setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.shared_options import format_modules
from starskip.cli.table_names import table_names, tables_option
from starskip.cli.to_stderr import warn
from starskip.errors import printable
from starskip.number_text import count, decimal, milliseconds
from starskip.settings import Settings

if TYPE_CHECKING:
    from starskip.advisor.latency.latency_report import LatencyReport

SPELLINGS = {"-log": "--log", "-tables": "--tables", "-help": "--help"}
"""The options of Pinot's own EntriesScannedQuantileReport."""

_BAR_CHARACTERS = 24
_EIGHTHS = " ▏▎▍▌▋▊▉█"


@click.command(name="quantile-report", cls=SeveralValues, several=("--log",), spellings=SPELLINGS)
@log_option(required=True)
@tables_option("all of the log")
@setting_option("--message-field", "log.message_field", metavar="FIELD")
@setting_option("--formats", "log.formats", metavar="MODULE[,MODULE...]")
@format_option()
def quantile_report(logs: Sequence[str], tables: str, output: str, **options: str | None) -> None:
    """Show quantiles of entries scanned and of latency, and the time that indexes could save at most.

    At a quantile of 0.95, 95 % of the queries scan no more entries than shown. Each column of the table
    is ranked by itself. The time that indexes could save is the entries in filter times alpha, the time
    of one entry. It is shown only if the latency model explains queries that it was not fitted on.

    \b
    Examples:
      starskip quantile-report --log broker.log.gz
      starskip quantile-report --log 'logs/*.log.gz' --tables lineitem --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.advisor.latency.quantile_report import quantile_report as report_of_log
    from starskip.night.configuration.checked_overrides import checked_overrides

    format_modules(options["log__formats"])
    settings = checked_overrides(Settings(), given_settings(options), origin="arguments")
    report = report_of_log(logs, table_names(tables), settings, progress)
    for warning in report.warnings:
        warn(printable(warning))
    found = report.tables
    document = {"tables": {table: _document(report) for table, report in found.items()}}
    text = "\n\n".join(_text(table, report) for table, report in found.items())
    echo_result(output, document, lambda: text or "the log holds no queries")


def _document(report: LatencyReport) -> dict[str, Any]:
    model = report.model
    return {
        "queries": report.queries,
        "quantiles": report.quantiles,
        "model": {
            "trusted": model.no_fit is None,
            "reason": model.no_fit.value if model.no_fit else None,
            "intercept_ms": model.intercept_ms,
            "alpha_ms": model.alpha_ms,
            "beta_ms": model.beta_ms,
            "r2_out_of_sample": model.r2_out_of_sample,
            "threshold": model.threshold,
            "bins": model.bins,
            "queries": model.queries,
        },
        "maximum_optimization_ms": report.maximum_saving_ms,
    }


def _text(table: str, report: LatencyReport) -> str:
    entries, post, latency = (
        report.quantiles.get(measure, {})
        for measure in ("entries_scanned_in_filter", "entries_scanned_post_filter", "latency_ms")
    )
    most_saved = report.maximum_saving_ms
    largest = max(entries.values(), default=0.0)
    lines = [
        f"{printable(table, 200)}: {report.queries:,} queries",
        f"{'queries':>9} {'in filter':>15} {'post filter':>15} {'latency':>9}"
        + (f" {'could win':>9}" if most_saved else "")
        + "  entries in filter",
    ]
    for rank in entries:
        won = f" {milliseconds(most_saved[rank]):>9}" if most_saved else ""
        took = milliseconds(latency[rank]) if rank in latency else "–"
        line = f"{float(rank):>9.0%} {count(entries[rank]):>15} {_or_dash(post, rank):>15} {took:>9}{won}"
        lines.append(f"{line}  {_bar(entries[rank], largest)}".rstrip())
    return "\n".join([*lines, *(f"  {line}" for line in _model_lines(report))])


def _or_dash(values: Any, rank: str) -> str:
    return count(values[rank]) if rank in values else "–"


def _model_lines(report: LatencyReport) -> list[str]:
    from starskip.advisor.latency.latency_report import NO_FIT_SENTENCES

    model = report.model
    lines = []
    if model.alpha_ms is not None and model.beta_ms is not None:
        lines.append(
            f"latency = {decimal(model.intercept_ms)} ms"
            f" + {decimal(model.alpha_ms * 1e6)} ms a million entries in filter"
            f" + {decimal(model.beta_ms * 1e6)} ms a million post filter"
        )
        lines.append(
            f"fitted on {model.bins:,} bins of {model.queries:,} queries; centred R² out of sample"
            f" {decimal(model.r2_out_of_sample)}, trusted from {decimal(model.threshold)}"
        )
    if model.no_fit is not None:
        why = NO_FIT_SENTENCES[model.no_fit]
        lines.append(f"unable to predict the optimization boundary of this table: {why}")
        lines.append("entries scanned are not time: one may cost ten times another, by the kind of predicate")
    return lines


def _bar(value: float, largest: float) -> str:
    eighths = round(value / largest * _BAR_CHARACTERS * 8) if largest > 0 else 0
    full, rest = divmod(eighths, 8)
    return "█" * full + (_EIGHTHS[rest] if rest else "")
