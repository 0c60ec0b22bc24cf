"""Run one night of the checkout's own Airflow, show its progress, and print the advice (``make night``).

``python -m starskip.airflow.nightly_run --run-date 2026-11-20`` is ``airflow dags test`` with the
checkout's environment: every task runs as it does at night, without a scheduler.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click

from starskip.airflow.airflow_environment import airflow_environment, has_file_database
from starskip.airflow.child_process import child_process
from starskip.airflow.connections import Connections
from starskip.airflow.night_request import CONFIG_VARIABLE, SAMPLE_CONFIG
from starskip.airflow.night_summary import night_summary
from starskip.airflow.private_home import private_home
from starskip.airflow.progress_line import progress_text
from starskip.airflow.report_places import DAG_ID
from starskip.airflow.unfinished_runs import noted_run
from starskip.errors import StarskipError, printable
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.listed_tables import listed_tables
from starskip.reports.export_reports import export_reports
from starskip.storage.file_access import READABLE_BY
from starskip.storage.files.full_disk import full_disk, is_full_disk

_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception): (.+)")


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
    home: Path,
    reports: Path,
    reports_readable_by: str,
) -> None:
    """Run the nightly DAG for one night, in the folder of the checkout."""
    checkout, night_date = Path.cwd(), run_date.date()
    home, reports = home.absolute(), reports.absolute()
    names = listed_tables(tables)
    params = {"run_date": night_date.isoformat(), "tables": names, **dict(_param(item) for item in settings)}
    environment = airflow_environment(checkout, os.environ, home=home)
    config = _config(environment.get(CONFIG_VARIABLE.upper()) or SAMPLE_CONFIG)
    environment[CONFIG_VARIABLE.upper()] = config
    log = private_home(home) / f"night-{night_date}.log"
    click.echo(f"Night of {night_date}; the full log is {log}")
    migrate_database(home, environment, log)
    # Without a date: Airflow would take it for the time at which the run began, and show the run as lasting
    # days. The params name the night.
    command = ["airflow", "dags", "test", DAG_ID, "--conf", json.dumps(params)]
    started_at = datetime.now(UTC)
    with noted_run(home) as was_killed:
        if was_killed:
            _follow([sys.executable, "-m", "starskip.airflow.unfinished_runs"], environment, log)
        exit_code, reason = _follow(command, environment, log)
    arguments = NightArguments(night_date, "make night", started_at, names)
    try:
        Connections().use(os.environ)
        night = night_from_config(config, arguments, environment)
        access = READABLE_BY[reports_readable_by]
        exported = export_reports(night.store, night.date_text, reports, night.tables, access)
        click.echo("\n" + night_summary(exported, started_at, checkout))
    except StarskipError as error:
        reason = reason or str(error)
        if not exit_code:  # the reports are published all the same
            click.echo(f"The night ended well, but its reports were not copied: {error}", err=True)
    if exit_code:
        raise click.ClickException(f"{reason or 'the night did not run to its end'}\nThe full log is {log}")


def migrate_database(home: Path, environment: Mapping[str, str], log: Path) -> None:
    """Create or upgrade Airflow's database, unless this version of Airflow has done it."""
    stamp = home / "migrated-to"
    wanted = version("apache-airflow-core")
    # The stamp is about the file beside it: a database elsewhere may have been emptied since.
    is_file = has_file_database(environment, home)
    if is_file and (home / "airflow.db").exists() and stamp.exists() and stamp.read_text() == wanted:
        return
    click.echo("  preparing Airflow's database")
    exit_code, reason = _follow(["airflow", "db", "migrate"], environment, log)
    if exit_code:
        because = f": {reason}" if reason else ""
        raise click.ClickException(f"airflow db migrate failed{because}\nThe full log is {log}")
    if is_file:
        stamp.write_text(wanted)


def _follow(command: Sequence[str], environment: Mapping[str, str], log: Path) -> tuple[int, str | None]:
    """Run ``command`` into ``log``, show its progress; return its exit code and the last exception's text."""
    reason, started = None, time.monotonic()
    text_of = {"encoding": "utf-8", "errors": "replace"}
    try:
        with (
            log.open("a", encoding="utf-8") as full,
            child_process(command, environment, subprocess.PIPE, **text_of) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                full.write(line)
                text = progress_text(line)
                if text is not None:
                    click.echo(f"  {time.monotonic() - started:5.0f} s  {text}")
                elif raised := _RAISED.match(line):
                    reason = printable(raised[1], 2000)
            return process.wait(), reason
    except OSError as error:
        if not is_full_disk(error):
            raise
        raise click.ClickException(str(full_disk(error, log.parent))) from None


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
