"""``starskip tune``: index advice from a log and a segment folder, in one command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from starskip.cli.progress import progress
from starskip.cli.several_values import SeveralValues
from starskip.errors import ConfigError, printable
from starskip.pinot.table_config import read_table_configs
from starskip.settings import STRATEGIES, Settings, with_overrides
from starskip.stages.select_indexes import TableAdvice
from starskip.stages.tune_tables import TuneRequest, tune_tables

_DEFAULTS = Settings()


@click.command(name="tune", cls=SeveralValues, several=("--log", "--table-config"))
@click.option(
    "--log",
    "logs",
    required=True,
    multiple=True,
    metavar="PATH...",
    help="Log files, folders or globs.",
)
@click.option("--segments", required=True, metavar="DIR", help="Folder of tableNameWithoutType/*.tar.gz.")
@click.option("--tables", default="", help="Comma separated tables; all of the log if left out.")
@click.option("--table-config", "configs", multiple=True, metavar="FILE...", help="Current table configs.")
@click.option("--index", "index_kind", required=True, type=click.Choice(["inverted", "sorted"]))
@click.option("--strategy", type=click.Choice(STRATEGIES), default=_DEFAULTS.strategy, show_default=True)
@click.option(
    "--max-indexes", type=click.IntRange(1), default=None, metavar="K", help="At most K indexes a table."
)
@click.option(
    "--min-gain",
    type=click.FloatRange(0, 1),
    default=None,
    metavar="RATIO",
    help="Least share of all entries scanned that one more index must save; 0 = use up K. [default: 0.005]",
)
@click.option(
    "--pinot-version", default=_DEFAULTS.pinot_version, show_default=True, help="Version to advise for."
)
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def tune(
    logs: Sequence[str],
    segments: str,
    tables: str,
    configs: Sequence[str],
    index_kind: str,
    strategy: str,
    max_indexes: int | None,
    min_gain: float | None,
    pinot_version: str,
    output: str,
) -> None:
    """Recommend indexes for Pinot tables from a broker log and the tables' segments.

    \b
    Examples:
      starskip tune --log broker.log.gz --segments /deep/store --index inverted
      starskip tune --log a.log b.log --segments /deep/store --index inverted --max-indexes 3
      starskip tune --log logs/ --segments /deep/store --index sorted --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    overrides = {
        "strategy": strategy,
        "max_indexes": max_indexes,
        "min_gain_ratio": min_gain,
        "pinot_version": pinot_version,
    }
    try:
        settings = with_overrides(_DEFAULTS, overrides, origin="arguments")
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    wanted = tuple(dict.fromkeys(name.strip() for name in tables.split(",") if name.strip()))
    configured = {
        table: tuple(dict.fromkeys(c for config in of_table for c in config.inverted_index_columns))
        for table, of_table in read_table_configs(configs).items()
    }
    request = TuneRequest(logs, segments, wanted, configured, index_kind, settings)
    answer = tune_tables(request, progress)
    for warning in answer.warnings:
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    if output == "json":
        click.echo(json.dumps({"tables": {a.table: _document(a, index_kind) for a in answer.tables}}))
    else:
        click.echo("\n\n".join(_text(a, index_kind) for a in answer.tables) or "the log holds no queries")


def _document(advice: TableAdvice, index_kind: str) -> dict[str, Any]:
    recommendation = advice.recommendation
    columns = [item.structure.column for item in recommendation.chosen]
    return {
        "inverted_index_columns": columns if index_kind == "inverted" else [],
        "sorted_column": columns[0] if index_kind == "sorted" and columns else None,
        "predicted_saving_ratio": recommendation.saving.ratio,
        "predicted_interval": [recommendation.saving.low, recommendation.saving.high],
        "queries": advice.queries,
        "unparsed": advice.unparsed,
        "refused": [
            {"columns": [item.structure.column], "reason": item.reason.value, "detail": item.detail}
            for item in advice.refused
        ],
        "drops": [{"columns": [name], "kind": "inverted", "reason": "unused"} for name in advice.drops],
    }


def _text(advice: TableAdvice, index_kind: str) -> str:
    saving = advice.recommendation.saving
    columns = [printable(item.structure.column, 80) for item in advice.recommendation.chosen]
    lines = [
        f"{printable(advice.table, 200)}: "
        f"{advice.queries:,} queries scanned {advice.entries:,} entries in filters"
        + (f" ({advice.unparsed:,} not understood)" if advice.unparsed else "")
    ]
    if columns:
        what = "inverted indexes on" if index_kind == "inverted" else "sort by"
        lines.append(
            f"  {what} {', '.join(columns)}: {saving.ratio:.1%} fewer entries scanned"
            f" (90 % interval {saving.low:.0%} to {saving.high:.0%})"
        )
        lines.extend(
            f"    {rank}. {printable(item.structure.column, 80)}: alone {item.individual_saving_ratio:.1%},"
            f" adds {item.progressive_saving_ratio:.1%}"
            for rank, item in enumerate(advice.recommendation.chosen, start=1)
        )
    else:
        lines.append("  nothing to recommend: no index saves enough")
    lines.extend(
        f"  refused {printable(item.structure.column, 80)}: {item.reason.value} ({printable(item.detail)})"
        for item in advice.refused
    )
    lines.extend(
        f"  drop the inverted index on {printable(name, 80)}: no query needs it" for name in advice.drops
    )
    return "\n".join(lines)
