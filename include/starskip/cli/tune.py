"""``starskip tune``: index advice from a log and a segment folder, in one command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from starskip.cli.column_weights import column_weights as parsed_weights
from starskip.cli.progress import progress
from starskip.cli.several_values import SeveralValues
from starskip.errors import ConfigError, printable
from starskip.pinot.table_config import configured_indexes, read_table_configs
from starskip.scoring.structure import Structure
from starskip.selection.recommendation import Refusal
from starskip.settings import STRATEGIES, STRATEGY_ALIASES, Settings, with_overrides
from starskip.stages.advise_table import TableAdvice
from starskip.stages.tune_tables import TuneRequest, tune_tables
from starskip.tables.untracked_indexes import untracked_indexes
from starskip.workload.query_weights import query_weights as parsed_query_weights

_DEFAULTS = Settings()


SPELLINGS = {
    "-metadata": "--metadata",
    "-log": "--log",
    "-index": "--index",
    "-strategy": "--strategy",
    "-selectivityThreshold": "--selectivity-threshold",
    "-entriesScannedThreshold": "--entries-scanned-threshold",
    "-numQueriesThreshold": "--num-queries-threshold",
    "-tables": "--tables",
    "-untrackedInvertedIndex": "--untracked-inverted-index",
    "-help": "--help",
}
"""The options of Pinot's own IndexTuner."""

_LARGEST_FILE_BYTES = 16 << 20


@click.command(name="tune", cls=SeveralValues, several=("--log", "--table-config"), spellings=SPELLINGS)
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="PATH...",
    help="Log files, folders or globs. Left out: a guess from cardinalities.",
)
@click.option("--segments", default="", metavar="DIR", help="Folder of tableNameWithoutType/*.tar.gz.")
@click.option(
    "--metadata", default="", metavar="FILE", help="Packed metadata (collect-metadata) instead of segments."
)
@click.option("--tables", default="", help="Comma separated tables; all of the log if left out.")
@click.option("--table-config", "configs", multiple=True, metavar="FILE...", help="Current table configs.")
@click.option(
    "--index", "index_kind", required=True, type=click.Choice(["inverted", "range", "sorted", "all"])
)
@click.option(
    "--strategy",
    type=click.Choice([*STRATEGIES, *STRATEGY_ALIASES]),
    default=_DEFAULTS.strategy,
    show_default=True,
)
@click.option(
    "--selectivity-threshold",
    type=click.FloatRange(0),
    default=None,
    metavar="S",
    help="Only columns of a selectivity (about their cardinality) above S get votes. [default: 1]",
)
@click.option(
    "--entries-scanned-threshold",
    type=click.IntRange(0),
    default=None,
    metavar="N",
    help="Only queries that scanned more than N entries in filter vote. [default: 0]",
)
@click.option(
    "--num-queries-threshold",
    type=click.IntRange(0),
    default=None,
    metavar="N",
    help="No advice for a table with fewer than N such queries. [default: 0]",
)
@click.option(
    "--untracked-inverted-index",
    default=None,
    metavar="JSON",
    help='Inverted indexes that no metadata shows: \'{"table": ["column"]}\'.',
)
@click.option(
    "--query-weights",
    type=click.Path(exists=True, dir_okay=False),
    default=None,
    metavar="FILE",
    help='JSON: {"table": weight, "SELECT …": weight}; what the entries of these queries count.',
)
@click.option(
    "--column-weights",
    default="",
    metavar="C=W,…|FILE.json",
    help="Without --log: how often columns are queried; others never are. [default: all equally]",
)
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
    metadata: str,
    tables: str,
    configs: Sequence[str],
    index_kind: str,
    strategy: str,
    selectivity_threshold: float | None,
    entries_scanned_threshold: int | None,
    num_queries_threshold: int | None,
    untracked_inverted_index: str | None,
    query_weights: str | None,
    column_weights: str,
    max_indexes: int | None,
    min_gain: float | None,
    pinot_version: str,
    output: str,
) -> None:
    """Recommend indexes for Pinot tables from a broker log and the tables' segments.

    With --metadata instead of --segments strategy leapfrog, which needs rows, gives way to estimation.
    Without --log the advice is a guess from cardinalities alone. The options of Pinot's own IndexTuner
    are understood in its spelling too: -log, -metadata, -entriesScannedThreshold and so on.

    \b
    Examples:
      starskip tune --log broker.log.gz --segments /deep/store --index inverted
      starskip tune --log a.log b.log --segments /deep/store --index inverted --max-indexes 3
      starskip tune --log logs/ --segments /deep/store --index sorted --format json
      starskip tune --log broker.log --metadata metadata.json --index inverted --strategy parser
      starskip tune --segments /deep/store --index inverted --column-weights Carrier=3,Origin=1
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    overrides = {
        "strategy": strategy,
        "selectivity_threshold": selectivity_threshold,
        "entries_scanned_threshold": entries_scanned_threshold,
        "num_queries_threshold": num_queries_threshold,
        "untracked_inverted_index": untracked_inverted_index,
        "query_weights": _text_of(query_weights) if query_weights else None,
        "max_indexes": max_indexes,
        "min_gain_ratio": min_gain,
        "pinot_version": pinot_version,
    }
    if bool(segments) == bool(metadata):
        raise click.UsageError("give either --segments DIR or --metadata FILE")
    if column_weights and logs:
        raise click.UsageError("--column-weights stands for a log: give it without --log")
    weights = parsed_weights(column_weights)
    try:
        settings = with_overrides(_DEFAULTS, overrides, origin="arguments")
        untracked_indexes(settings.untracked_inverted_index)
        parsed_query_weights(settings.query_weights)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    wanted = tuple(dict.fromkeys(name.strip() for name in tables.split(",") if name.strip()))
    configured = configured_indexes(read_table_configs(configs))
    request = TuneRequest(logs, segments, wanted, configured, index_kind, settings, metadata, weights)
    answer = tune_tables(request, progress)
    for warning in answer.warnings:
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    basis = _basis(request)
    if basis and output == "json":
        click.echo(f"starskip: note: {basis}", err=True)
    if output == "json":
        click.echo(json.dumps({"tables": {a.table: _document(a, index_kind) for a in answer.tables}}))
    else:
        text = "\n\n".join(_text(a, index_kind, is_guess=not logs) for a in answer.tables)
        click.echo((f"{basis}\n\n" if basis else "") + (text or "the log holds no queries"))


def _text_of(path: str) -> str:
    if Path(path).stat().st_size > _LARGEST_FILE_BYTES:
        raise click.BadParameter(
            f"{path} is over {_LARGEST_FILE_BYTES >> 20} MB", param_hint="--query-weights"
        )
    return Path(path).read_text(encoding="utf-8", errors="replace")


def _basis(request: TuneRequest) -> str:
    """Return what the advice rests on, where it is not what was asked for or less than all."""
    if not request.log_paths:
        asked = "weighted as given" if request.column_weights else "every column queried equally"
        return f"A guess without a log, from cardinalities alone: {asked}."
    if not request.metadata_path:
        return ""
    if request.settings.strategy == "leapfrog":
        return "Strategy estimation: leapfrog needs rows of segments, and the metadata has none."
    return f"Strategy {request.settings.strategy}; savings are estimated from the metadata."


def _document(advice: TableAdvice, index_kind: str) -> dict[str, Any]:
    recommendation = advice.recommendation
    chosen = [item.structure for item in recommendation.chosen]
    order = recommendation if index_kind == "sorted" else advice.sort_order
    # Kinds are told where several may be meant: what is asked for one kind keeps the seed's two.
    has_kinds = index_kind not in ("inverted", "sorted")
    ranges = {"range_index_columns": [item.column for item in chosen if item.kind == "range"]}
    return {
        "inverted_index_columns": [item.column for item in chosen if item.kind == "inverted"],
        **(ranges if has_kinds else {}),
        "sorted_column": order.chosen[0].structure.column if order and order.chosen else None,
        "predicted_saving_ratio": recommendation.saving.ratio,
        "predicted_interval": [recommendation.saving.low, recommendation.saving.high],
        "queries": advice.queries,
        "unparsed": advice.unparsed,
        "refused": [
            {
                "columns": [item.structure.column],
                **({"kind": item.structure.kind} if has_kinds else {}),
                "reason": item.reason.value,
                "detail": item.detail,
            }
            for item in advice.refused
        ],
        "drops": [
            {
                "columns": [drop.structure.column],
                "kind": drop.structure.kind,
                "reason": "unused",
                "detail": drop.detail,
            }
            for drop in advice.drops
        ],
    }


def _text(advice: TableAdvice, index_kind: str, *, is_guess: bool) -> str:
    saving = advice.recommendation.saving
    columns = [_named(item.structure, index_kind) for item in advice.recommendation.chosen]
    lines = [
        f"{printable(advice.table, 200)}: "
        + (
            "no log"
            if is_guess
            else f"{advice.queries:,} queries scanned {advice.entries:,} entries in filters"
        )
        + (f" ({advice.unparsed:,} not understood)" if advice.unparsed else "")
    ]
    if advice.unlogged_queries:
        lines.append(
            f"  with those that the broker did not log, about {advice.queries + advice.unlogged_queries:,.0f}"
            f" queries scanned {advice.entries + advice.unlogged_entries:,.0f} entries"
        )
    if columns:
        what = {"sorted": "sort by", "all": "indexes on"}.get(index_kind, f"{index_kind} indexes on")
        lines.append(
            f"  {what} {', '.join(columns)}: {saving.ratio:.1%} fewer entries scanned"
            f" (90 % interval {saving.low:.0%} to {saving.high:.0%})"
        )
        lines.extend(
            f"    {rank}. {_named(item.structure, index_kind)}: alone {item.individual_saving_ratio:.1%},"
            f" adds {item.progressive_saving_ratio:.1%}"
            for rank, item in enumerate(advice.recommendation.chosen, start=1)
        )
    elif advice.refused and advice.refused[0].reason is Refusal.NOT_ENOUGH_QUERIES:
        return "\n".join([*lines, f"  {printable(advice.refused[0].detail.partition(';')[0])}"])
    else:
        lines.append("  nothing to recommend: no index saves enough")
    lines.extend(
        f"  refused {_named(item.structure, index_kind)}: {item.reason.value} ({printable(item.detail)})"
        for item in advice.refused
    )
    lines.extend(
        f"  drop the {drop.structure.kind} index on {printable(drop.structure.column, 80)}: {drop.detail}"
        for drop in advice.drops
    )
    return "\n".join(lines)


def _named(structure: Structure, index_kind: str) -> str:
    column = printable(structure.column, 80)
    return f"{column} ({structure.kind})" if index_kind == "all" else column
