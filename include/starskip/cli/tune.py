"""``starskip tune``: index advice from a log and a segment folder, in one command."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import click

from starskip.advisor.families.families import configured_indexes, families_named, load_families
from starskip.advisor.families.family import listed
from starskip.advisor.families.family_faults import fault_warnings, without_faulty
from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.selection.advice_without_log import ColumnWeights
from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest, tune_tables
from starskip.advisor.workload.query_weights import query_weights as parsed_query_weights
from starskip.cli.config_out import ConfigOut
from starskip.cli.format_modules import format_modules
from starskip.cli.named_setting import check_given_once, named_settings
from starskip.cli.progress import progress
from starskip.cli.setting_option import given_settings, setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.table_names import table_names
from starskip.cli.tune_document import tune_document
from starskip.cli.tune_text import tune_text
from starskip.cli.user_modules import located_faults
from starskip.errors import BAD_INPUT, ConfigError, MissingExtra, printable
from starskip.extras import missing_extra
from starskip.night.configuration.checked_overrides import checked_overrides
from starskip.pinot.table_config import read_table_configs
from starskip.settings.advice_groups import ALL
from starskip.storage.files.open_file import read_small_file

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


@click.command(
    name="tune", cls=SeveralValues, several=("--log", "--table-config", "--config-out"), spellings=SPELLINGS
)
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
    "config_outs",
    multiple=True,
    metavar="FILE...",
    help="Write whole table configs: the files of --table-config in their order, with the advice in them.",
)
@click.option(
    "--index",
    "index_names",
    required=True,
    metavar="FAMILY[,FAMILY...]|all",
    help="Families of indexes: inverted, range, sorted, star_tree, names from --families, or all, which is"
    " what advice.index_kinds names: by default each of these.",
)
@setting_option("--strategy", "scoring.strategy")
@setting_option("--selectivity-threshold", "scoring.selectivity_threshold", metavar="S")
@setting_option("--entries-scanned-threshold", "workload.entries_scanned_threshold", metavar="N")
@setting_option("--num-queries-threshold", "workload.num_queries_threshold", metavar="N")
@setting_option("--untracked-inverted-index", "scoring.untracked_inverted_index", metavar="JSON")
@click.option(
    "--query-weights",
    default=None,
    metavar="FILE",
    help='JSON: {"table": weight, "SELECT …": weight}; weights of the entries of these queries.',
)
@click.option(
    "--column-weights",
    default="",
    metavar="C=W,…|FILE.json",
    help="Without --log: how often columns are queried, 0 if not named. [default: all equally]",
)
@setting_option("--max-indexes", "advice.max_indexes", metavar="K")
@setting_option("--min-gain", "advice.min_gain_ratio", metavar="RATIO")
@setting_option("--budget-bytes", "advice.index_budget_bytes", metavar="N")
@setting_option("--pinot-version", "scoring.pinot_version", metavar="V")
@setting_option("--message-field", "log.message_field", metavar="FIELD")
@setting_option("--formats", "log.formats", metavar="MODULE[,MODULE...]")
@click.option(
    "--families",
    "family_modules",
    default="",
    metavar="MODULE[,MODULE...]",
    help="Modules with families of indexes of your own, importable or in the current folder.",
)
@click.option(
    "--set",
    "named",
    multiple=True,
    metavar="GROUP.NAME=VALUE",
    help="Any other setting of the night, such as scoring.exclusive_vote_ratio=0.9; repeatable.",
)
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def tune(
    logs: Sequence[str],
    segments: str,
    metadata: str,
    tables: str,
    configs: Sequence[str],
    config_outs: Sequence[str],
    index_names: str,
    query_weights: str | None,
    column_weights: str,
    family_modules: str,
    named: Sequence[str],
    output: str,
    **settings_given: Any,
) -> None:
    """Recommend indexes for Pinot tables from a broker log and the tables' segments.

    With --metadata instead of --segments, estimation replaces strategy leapfrog, which needs rows.
    Without --log the advice is a guess from cardinalities alone. The options of Pinot's own IndexTuner
    are accepted in its spelling too: -log, -metadata, -entriesScannedThreshold and so on.

    \b
    Examples:
      starskip tune --log broker.log.gz --segments /deep/store --index inverted
      starskip tune --log a.log b.log --segments /deep/store --index inverted --max-indexes 3
      starskip tune --log logs/ --segments /deep/store --index sorted --format json
      starskip tune --log broker.log --metadata metadata.json --index inverted --strategy parser
      starskip tune --segments /deep/store --index inverted --column-weights Carrier=3,Origin=1
      starskip tune --log a.log --segments /deep/store --index all --table-config t.json --config-out new.json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    if bool(segments) == bool(metadata):
        raise click.UsageError("give either --segments DIR or --metadata FILE")
    if column_weights and logs:
        raise click.UsageError("--column-weights stands for a log: give it without --log")
    weights = parsed_weights(column_weights)
    if query_weights is not None:
        settings_given["workload__query_weights"] = _query_weights(query_weights)
    modules = table_names(family_modules)
    wrong: dict[str, str] = {}
    try:
        settings = family_defaults(modules, wrong)
        given = given_settings(settings_given)
        settings = checked_overrides(settings, given, origin="arguments")
        by_name = named_settings(named)
        settings = checked_overrides(settings, by_name, origin="--set")
        check_given_once(settings, given, by_name)
        names = settings.advice.index_kinds if index_names == ALL else index_names
        known = load_families(modules, {})
        left_out = wrong.keys() - {family.name for family in known}
        names = ",".join(each for each in listed(names) if each not in left_out) or names
        families = families_named(names, known)
        format_modules(settings.log.formats)
    except ConfigError as error:
        raise click.UsageError("; ".join([str(error), *wrong.values()])) from error
    if config_outs and len(configs) != len(config_outs):
        raise click.UsageError("--config-out: give one FILE for each FILE of --table-config")
    if len({os.path.realpath(each) for each in config_outs}) < len(config_outs):
        raise click.UsageError("--config-out: one FILE is given twice")
    missing = missing_extra("star-trees") if families.has(STAR_TREE) else ""
    if missing and STAR_TREE.name in listed(index_names):
        raise MissingExtra(missing, extra="star-trees")
    wanted = table_names(tables)
    current = read_table_configs(configs)
    in_force, faults = without_faulty(
        {}, lambda names: configured_indexes(current, families.without(names).known)
    )
    request = TuneRequest(
        logs, segments, wanted, in_force, families, settings, metadata, weights, current, faults
    )
    outs = [ConfigOut(*each, families.asked) for each in zip(configs, config_outs, strict=False)]
    with located_faults(modules):
        answer = tune_tables(request, progress)
    for warning in [each for out in outs for each in out.write(answer.tables)]:
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    if not config_outs and not wanted:
        for warning in _unadvised(request, answer):
            click.echo(f"starskip: warning: {printable(warning)}", err=True)
    of_families = [each for a in answer.tables for each in fault_warnings(a.not_used, [a.table])]
    without = [f"no star-tree is advised: {missing}"] if missing else []
    for warning in (*wrong.values(), *answer.warnings, *without, *of_families):
        click.echo(f"starskip: warning: {printable(warning)}", err=True)
    for table, reason in answer.failures.items():
        click.echo(f"starskip: table {printable(table, 200)}: {printable(reason)}", err=True)
    basis = _basis(request)
    if basis and output == "json":
        click.echo(f"starskip: note: {basis}", err=True)
    told = [(each, families.without(each.not_used)) for each in answer.tables]
    if output == "json":
        click.echo(json.dumps({"tables": {each.table: tune_document(each, used) for each, used in told}}))
    else:
        text = "\n\n".join(tune_text(each, used, is_guess=not logs) for each, used in told)
        click.echo((f"{basis}\n\n" if basis else "") + (text or "the log holds no queries"))
    if answer.failures:
        click.get_current_context().exit(BAD_INPUT)


def _unadvised(request: TuneRequest, answer: TuneAnswer) -> Iterator[str]:
    """Yield a warning that names tables with a config and without advice: their names may be misspelt."""
    known = {each.table for each in answer.tables} | answer.failures.keys()
    given = sorted(request.configs.items())
    left = [name for name, configs in given if not any(map(configs[0].is_of, known))]
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        missing = "query in the log" if request.log_paths else "segment"
        yield f"--table-config: no advice for {', '.join(left[:3])}{more}: no {missing} of such a table"


def _query_weights(path: str) -> str:
    """Return the text of the file, after checking that it holds weights."""
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
    """Return the basis of the advice, if it is less than all that was asked for."""
    if not request.log_paths:
        asked = "weighted as given" if request.column_weights else "every column queried equally"
        return f"A guess without a log, from cardinalities alone: {asked}."
    if not request.metadata_path:
        return ""
    if request.settings.scoring.strategy == "leapfrog":
        return "Strategy estimation: leapfrog needs rows of segments, and the metadata has none."
    return f"Strategy {request.settings.scoring.strategy}; savings are estimated from the metadata."


def parsed_weights(text: str) -> ColumnWeights:
    """Return the weights that ``a=3,b=1`` or a JSON file names: ``{"a": 3}``, or ``{"table": {"a": 3}}``.

    Raises click.BadParameter naming the fault.
    """
    if not text.strip():
        return {}
    document = _weight_file(text) if text.endswith(".json") else _weight_pairs(text)
    by_table: dict[str, dict[str, float]] = {}
    for name, value in document.items():
        if isinstance(value, dict):
            by_table[name] = {column: _weight(column, weight) for column, weight in value.items()}
        else:
            by_table.setdefault("", {})[name] = _weight(name, value)
    return by_table


def _weight_pairs(text: str) -> dict[str, Any]:
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    for name, equals, value in pairs:
        if not equals or not name.strip():
            given = printable(name + equals + value, 60)
            raise _wrong_weights(f"'{given}' is neither COLUMN=WEIGHT nor a file FILE.json")
    return {name.strip(): value for name, _, value in pairs}


def _weight_file(path: str) -> dict[str, Any]:
    try:
        document = json.loads(read_small_file(path))
    except OSError as error:
        raise _wrong_weights(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong_weights(f"{path} is no JSON: {printable(str(error), 100)}") from error
    if not isinstance(document, dict):
        raise _wrong_weights(f'{path} must hold an object such as {{"column": 3}}')
    return document


def _weight(column: str, value: Any) -> float:
    try:
        weight = float(value)
    except (TypeError, ValueError):
        weight = -1.0
    if isinstance(value, bool) or not isfinite(weight) or weight < 0:
        raise _wrong_weights(f"the weight of {printable(column, 60)} is no number of at least 0")
    return weight


def _wrong_weights(problem: str) -> click.BadParameter:
    return click.BadParameter(problem, param_hint="--column-weights")
