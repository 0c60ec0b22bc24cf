"""Run one night of the checkout's own Airflow, show its progress, and print the advice (``make night``).

``python -m starskip.airflow.nightly_run --run-date 2026-11-20`` is ``airflow dags test`` with the
checkout's environment: every task runs as it does at night, without a scheduler.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from starskip.airflow.airflow_database import migrate_database
from starskip.airflow.airflow_environment import airflow_environment, private_home
from starskip.airflow.child_process import follow_command
from starskip.airflow.connections import Connections
from starskip.airflow.night_request import PUBLISH
from starskip.airflow.night_summary import night_summary
from starskip.airflow.report_places import DAG_ID
from starskip.airflow.unfinished_runs import noted_run
from starskip.errors import StarskipError
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.experiments import experiments_of
from starskip.night.listed_tables import listed_tables
from starskip.reports.export_reports import export_reports
from starskip.storage.file_access import READABLE_BY

CONFIG = "STARSKIP_CONFIG"
"""Environment variable by which the checkout's DAG file takes another configuration than the sample's."""

SAMPLE_CONFIG = "include/config/night.yaml"


@click.command()
@click.option(
    "--run-date",
    type=click.DateTime(["%Y-%m-%d"]),
    required=True,
    help="The night: the day whose queries are read.",
)
@click.option("--tables", default="", help="Comma separated tables; all by default.")
@click.option(
    "--set", "settings", multiple=True, metavar="GROUP.NAME=VALUE", help="A setting for this run; repeatable."
)
@click.option(
    "--publish",
    type=click.Choice(PUBLISH),
    default="auto",
    show_default=True,
    help="Whether this is the night's advice; auto: unless settings differ from the configuration's.",
)
@click.option(
    "--home",
    type=click.Path(path_type=Path),
    default=Path(".airflow"),
    show_default=True,
    help="Folder of Airflow's database and logs.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path),
    default=Path("night/reports"),
    show_default=True,
    help="Folder that the reports are copied to.",
)
@click.option(
    "--reports-readable-by",
    type=click.Choice(list(READABLE_BY)),
    default="owner",
    show_default=True,
    help="Who may read the copied reports.",
)
def nightly_run(
    run_date: datetime,
    tables: str,
    settings: Sequence[str],
    publish: str,
    home: Path,
    reports: Path,
    reports_readable_by: str,
) -> None:
    """Run the nightly DAG for one night, in the folder of the checkout."""
    checkout, night_date = Path.cwd(), run_date.date()
    home, reports = home.absolute(), reports.absolute()
    names = listed_tables(tables)
    asked = {"run_date": night_date.isoformat(), "tables": names, "publish": publish}
    params = {**asked, **dict(_param(item) for item in settings)}
    environment = airflow_environment(checkout, os.environ, home=home)
    config = _config(environment.get(CONFIG) or SAMPLE_CONFIG)
    environment[CONFIG] = config
    log = private_home(home) / f"night-{night_date}.log"
    click.echo(f"Night of {night_date}; the full log is {log}")
    migrate_database(home, environment, log)
    # Without a date: Airflow would take it for the time at which the run began, and show the run as lasting
    # days. The params name the night.
    command = ["airflow", "dags", "test", DAG_ID, "--conf", json.dumps(params)]
    started_at = datetime.now(UTC)
    with noted_run(home) as was_killed:
        if was_killed:
            follow_command([sys.executable, "-m", "starskip.airflow.unfinished_runs"], environment, log)
        exit_code, reason = follow_command(command, environment, log)
    arguments = NightArguments(night_date, "make night", started_at, names)
    try:
        Connections().use(os.environ)
        night = night_from_config(config, arguments, environment)
        access = READABLE_BY[reports_readable_by]
        store = night.store
        for tried in experiments_of(night)[:1]:
            if tried.ended_at >= started_at:
                store = replace(store, experiment=tried.place)
                reports = reports / "experiments" / tried.place.name
                click.echo(f"\n{tried.note} To publish it: --publish yes")
        exported = export_reports(store, night.date_text, reports, night.tables, access)
        click.echo("\n" + night_summary(exported, started_at, checkout))
    except StarskipError as error:
        reason = reason or str(error)
        if not exit_code:  # the reports are published all the same
            click.echo(f"The night ended well, but its reports were not copied: {error}", err=True)
    if exit_code:
        raise click.ClickException(f"{reason or 'the night did not run to its end'}\nThe full log is {log}")


def _config(given: str) -> str:
    """Return the configuration file as an absolute path, for a process in another folder; a URL as it is."""
    return given if ":/" in given else str(Path(given).absolute())


def _param(item: str) -> tuple[str, object]:
    name, _, value = item.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


if __name__ == "__main__":
    sys.exit(nightly_run())
