"""``starskip tune``: index advice from a log and a segment folder, in one command."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from starskip.cli.column_weights import column_weights as parsed_weights
from starskip.cli.config_out import ConfigOut
from starskip.cli.named_setting import named_setting
from starskip.cli.progress import progress
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_names
from starskip.cli.tune_document import tune_document
from starskip.cli.tune_text import tune_text
from starskip.errors import ConfigError, printable
from starskip.indexes.families import ALL, configured_indexes, families_named, load_families
from starskip.night.tune_tables import TuneRequest, tune_tables
from starskip.pinot.table_config import read_table_configs
from starskip.settings import STRATEGIES, STRATEGY_ALIASES, Settings, with_overrides
from starskip.storage.files.read_small_file import read_small_file
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
    "--config-out",
    default="",
    metavar="FILE",
    help="Write the whole table config as it should be: that of --table-config, with the advice in it.",
)
@click.option(
    "--index",
    "index_names",
    required=True,
    metavar="FAMILY[,FAMILY...]|all",
    help="Families of indexes: inverted, range, sorted, star_tree, those of --families, or all.",
)
@click.option(
    "--families",
    "family_modules",
    default="",
    metavar="MODULE[,MODULE...]",
    help="Modules with families of indexes of your own, importable or in the current folder.",
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
    "--budget-bytes",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Most bytes that a table's new indexes may take together. [default: no limit]",
)
@click.option(
    "--pinot-version", default=_DEFAULTS.pinot_version, show_default=True, help="Version to advise for."
)
@click.option(
    "--set",
    "named",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting of the night, such as exclusive_vote_ratio=0.9; repeatable.",
)
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def tune(
    logs: Sequence[str],
    segments: str,
    metadata: str,
    tables: str,
    configs: Sequence[str],
    config_out: str,
    index_names: str,
    family_modules: str,
    strategy: str,
    selectivity_threshold: float | None,
    entries_scanned_threshold: int | None,
    num_queries_threshold: int | None,
    untracked_inverted_index: str | None,
    query_weights: str | None,
    column_weights: str,
    max_indexes: int | None,
    min_gain: float | None,
    budget_bytes: int | None,
    pinot_version: str,
    named: Sequence[str],
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
      starskip tune --log a.log --segments /deep/store --index all --table-config t.json --config-out new.json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    told = dict(named_setting(text) for text in named)
    overrides = {
        "strategy": strategy,
        "selectivity_threshold": selectivity_threshold,
        "entries_scanned_threshold": entries_scanned_threshold,
        "num_queries_threshold": num_queries_threshold,
        "untracked_inverted_index": untracked_inverted_index,
        "query_weights": None if query_weights is None else _query_weights(query_weights),
        "max_indexes": max_indexes,
        "min_gain_ratio": min_gain,
        "index_budget_bytes": budget_bytes,
        "pinot_version": pinot_version,
    }
    if bool(segments) == bool(metadata):
        raise click.UsageError("give either --segments DIR or --metadata FILE")
    if column_weights and logs:
        raise click.UsageError("--column-weights stands for a log: give it without --log")
    weights = parsed_weights(column_weights)
    try:
        settings = with_overrides(_DEFAULTS, overrides, origin="arguments")
        settings = with_overrides(settings, told, origin="--set")
        untracked_indexes(settings.untracked_inverted_index)
        modules = tuple(name.strip() for name in family_modules.split(",") if name.strip())
        names = settings.index_kinds if index_names == ALL else index_names
        families = families_named(names, load_families(modules))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if config_out and len(configs) != 1:
        raise click.UsageError("--config-out writes one table config: give it with one --table-config FILE")
    wanted = table_names(tables)
    current = read_table_configs(configs)
    request = TuneRequest(
        logs,
        segments,
        wanted,
        configured_indexes(current, families.known),
        families,
        settings,
        metadata,
        weights,
        current,
    )
    out = ConfigOut(configs[0], config_out, families.asked) if config_out else None
    answer = tune_tables(request, progress)
    for warning in out.write(answer.tables) if out else ():
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    for warning in answer.warnings:
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    basis = _basis(request)
    if basis and output == "json":
        click.echo(f"starskip: note: {basis}", err=True)
    if output == "json":
        click.echo(json.dumps({"tables": {a.table: tune_document(a, families) for a in answer.tables}}))
    else:
        text = "\n\n".join(tune_text(a, families, is_guess=not logs) for a in answer.tables)
        click.echo((f"{basis}\n\n" if basis else "") + (text or "the log holds no queries"))


def _query_weights(path: str) -> str:
    """Return the text of the file, which is known to hold weights."""
    try:
        text = read_small_file(path).decode("utf-8-sig")
        parsed_query_weights(text if text.strip() else "nothing")
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
    except (ConfigError, UnicodeDecodeError) as error:
        problem = f"{path}: {error}"
    else:
        return text
    raise click.BadParameter(printable(problem), param_hint="--query-weights")


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
