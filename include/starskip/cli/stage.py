"""``starskip stage``: one stage of the night, or all of them, by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from starskip.advisor.run.stages import STAGE_NAMES
from starskip.cli.choice import Choice
from starskip.cli.format_option import format_option
from starskip.cli.progress import progress
from starskip.cli.setting_option import named_settings
from starskip.cli.table_names import table_names, tables_option
from starskip.cli.to_stderr import warn
from starskip.cli.user_modules import located_faults


@click.command(name="stage")
@click.argument("name", type=Choice([*STAGE_NAMES, "all"]))
@click.option("--config", required=True, type=click.Path(), help="Configuration file of the night (YAML).")
@click.option("--run-date", required=True, type=click.DateTime(["%Y-%m-%d"]), help="The night, 2026-11-18.")
@tables_option("all")
@click.option(
    "--families",
    "family_modules",
    default="",
    metavar="MODULE[,MODULE...]",
    help="Modules with families of indexes of your own, beside those that the configuration names.",
)
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="GROUP.NAME=VALUE",
    help="A setting of docs/settings.md; repeatable.",
)
@format_option(note=" As JSON when all stages are done.")
def stage(
    name: str,
    config: str,
    run_date: datetime,
    tables: str,
    family_modules: str,
    overrides: Sequence[str],
    output: str,
) -> None:
    """Run one stage of the night (or `all`) in this process, without Airflow and Spark.

    Stages read and publish the same artefacts as the nightly DAG's jobs; running one again replaces
    its artefact of that night.

    \b
    Examples:
      starskip stage parse_query_logs --config include/config/night.yaml --run-date 2026-11-20
      starskip stage select_indexes --config night.yaml --run-date 2026-11-20 --set advice.max_indexes=3
      starskip stage all --config night.yaml --run-date 2026-11-20 --tables lineitem
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.execution.local_engine import LocalEngine
    from starskip.night.configuration.night_from_config import (
        NightArguments,
        changed_settings,
        night_from_config,
    )
    from starskip.night.night_logs import look_for_log
    from starskip.night.stage_functions import stage_function
    from starskip.skipping.registry import load_modules

    settings, families = named_settings(overrides), table_names(family_modules)
    arguments = NightArguments(
        run_date=run_date.date(),
        run_id="by hand",
        started_at=datetime.now(UTC),
        tables=table_names(tables),
        settings=settings,
        changed=changed_settings(config, settings, os.environ, families),
        families=families,
    )
    night = night_from_config(config, arguments, os.environ)
    load_modules(night.skipping_modules)
    if name == "all":
        look_for_log(night)
    done = []
    for each in STAGE_NAMES if name == "all" else (name,):
        engine = LocalEngine(lambda items, each=each: progress(each, items))  # type: ignore[misc]
        with located_faults(night.family_modules, is_masked=True):
            result = stage_function(each)(engine, night.read_once())
        for warning in result.warnings:
            warn(warning, of=each)
        done.append({"stage": each, "counts": dict(result.counts), "warnings": list(result.warnings)})
        if output == "text":
            counts = ", ".join(f"{k.replace('_', ' ')} {v:,}" for k, v in result.counts.items())
            click.echo(f"{each}: {counts}")
    if output == "json":
        click.echo(json.dumps({"run_date": night.date_text, "stages": done}))
