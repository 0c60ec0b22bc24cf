"""``starskip tune``: index advice from a log and a segment folder, in one command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import log_option, output_option, segments_option
from starskip.cli.progress import progress
from starskip.cli.setting_option import check_given_once, given_settings, named_settings, setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.shared_options import format_modules
from starskip.cli.table_names import table_config_option, table_names, tables_option
from starskip.cli.to_stderr import note, warn
from starskip.cli.user_modules import located_faults
from starskip.errors import BAD_INPUT, ConfigError, MissingExtra, printable
from starskip.extras import missing_extra
from starskip.settings.advice_groups import ALL

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
    name="tune",
    cls=SeveralValues,
    several=("--log", "--table-config", "-o", "--output", "--config-out"),
    spellings=SPELLINGS,
)
@log_option(" Left out: a guess from cardinalities.")
@segments_option()
@click.option(
    "--metadata",
    default="",
    metavar="FILE",
    type=click.Path(),
    help="Packed metadata (collect-metadata) instead of segments.",
)
@tables_option("all of the log")
@table_config_option
@output_option(
    "DIR|FILE...",
    "Write whole table configs, with the advice in them: into DIR under the names of the files of "
    "--table-config, or as one FILE for each of these.",
    "--config-out",
    multiple=True,
)
@click.option(
    "--index",
    "index_names",
    required=True,
    metavar="FAMILY[,FAMILY...]|all",
    help="Families of indexes: inverted, range, sorted, fst, star_tree, names from --families, or all, which"
    " is what advice.index_kinds names: by default each of these.",
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
    type=click.Path(),
    help='JSON: {"table": weight, "SELECT …": weight}; weights of the entries of these queries.',
)
@click.option(
    "--column-weights",
    default="",
    metavar="C=W,…|FILE.json",
    help="Without --log: how often columns are queried, 0 if not named. [default: all equally]",
)
@setting_option("--max-indexes", "advice.max_indexes", metavar="K")
@setting_option("--unit", "advice.unit")
@setting_option("--min-gain", "advice.min_gain_ratio", metavar="RATIO")
@setting_option("--budget-bytes", "advice.index_budget_bytes", metavar="SIZE")
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
@format_option()
def tune(
    logs: Sequence[str],
    segments: str,
    metadata: str,
    tables: str,
    configs: Sequence[str],
    target: Sequence[str],
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
      starskip tune --log a.log --segments /deep/store --index all --table-config t.json -o new/
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.advisor.families.families import configured_indexes, families_named, load_families
    from starskip.advisor.families.family import listed
    from starskip.advisor.families.family_faults import fault_warnings, without_faulty
    from starskip.advisor.families.family_settings import family_defaults
    from starskip.advisor.families.star_tree.family import STAR_TREE
    from starskip.advisor.selection.tune_tables import TuneRequest, tune_tables
    from starskip.cli.config_out import config_outs
    from starskip.cli.tune_document import tune_document
    from starskip.cli.tune_text import basis_of, tune_text, unadvised
    from starskip.cli.weights import column_weights_of, query_weights_text
    from starskip.night.configuration.checked_overrides import checked_overrides
    from starskip.pinot.table_config import read_table_configs

    if bool(segments) == bool(metadata):
        raise click.UsageError("give either --segments DIR or --metadata FILE")
    if column_weights and logs:
        raise click.UsageError("--column-weights stands for a log: give it without --log")
    weights = column_weights_of(column_weights)
    if query_weights is not None:
        settings_given["workload__query_weights"] = query_weights_text(query_weights)
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
    outs = config_outs(configs, target, families.asked)
    with located_faults(modules):
        answer = tune_tables(request, progress)
    warnings = [each for out in outs for each in out.write(answer.tables)]
    if not outs and not wanted:
        warnings += unadvised(request, answer)
    of_families = [each for a in answer.tables for each in fault_warnings(a.not_used, [a.table])]
    if missing:
        warnings.append(f"no star-tree is advised: {missing}")
    for warning in (*warnings, *wrong.values(), *answer.warnings, *of_families):
        warn(printable(warning))
    for table, reason in answer.failures.items():
        click.echo(f"starskip: table {printable(table, 200)}: {printable(reason)}", err=True)
    basis = basis_of(request)
    if basis and output == "json":
        note(f"starskip: note: {basis}")
    told = [(each, families.without(each.not_used)) for each in answer.tables]
    text = "\n\n".join(tune_text(each, used, is_guess=not logs) for each, used in told)
    echo_result(
        output,
        {"tables": {each.table: tune_document(each, used) for each, used in told}},
        lambda: (f"{basis}\n\n" if basis else "") + (text or "the log holds no queries"),
    )
    if answer.failures:
        click.get_current_context().exit(BAD_INPUT)
