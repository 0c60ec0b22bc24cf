"""Make the database of the checkout's own Airflow, so that Airflow's commands work (``make setup``).

A night needs its tables alone; commands such as ``airflow dags trigger`` also need the DAG in it, and the DAG
that applies advice needs its pool, which no DAG file can make.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import click

from starskip.airflow.airflow_environment import airflow_environment, has_file_database, private_home
from starskip.airflow.child_process import follow_command

APPLY_POOL = ("index_advisor_apply", "1", "One Pinot table at a time")
"""Name, slots and description of the pool of the checkout's DAG that applies advice."""


@click.command()
def airflow_database() -> None:
    """Prepare the database in the folder of the checkout, and say how to call Airflow's commands."""
    checkout = Path.cwd()
    environment = airflow_environment(checkout, os.environ)
    home = checkout / ".airflow"
    log = private_home(home) / "setup.log"
    migrate_database(home, environment, log)
    _once("registered-in", ["airflow", "dags", "reserialize"], home, environment, log)
    _once("has-pool-of", ["airflow", "pools", "set", *APPLY_POOL], home, environment, log)
    click.echo("Airflow's commands, such as airflow dags list, need this once a shell:")
    click.echo('  eval "$(.venv/bin/python -m starskip.airflow.airflow_environment)"')


def migrate_database(home: Path, environment: Mapping[str, str], log: Path) -> None:
    """Create or upgrade Airflow's database, unless this version of Airflow has done it."""
    if not (home / "airflow.db").exists():
        for stamp in ("migrated-to", "registered-in", "has-pool-of"):
            (home / stamp).unlink(missing_ok=True)
    _once("migrated-to", ["airflow", "db", "migrate"], home, environment, log)


def _once(
    stamp_name: str, command: Sequence[str], home: Path, environment: Mapping[str, str], log: Path
) -> None:
    """Run ``command``, once a version of Airflow where its database is the file in its home.

    A stamp beside the file tells that it was run. A database elsewhere may have been emptied since.
    """
    stamp, wanted = home / stamp_name, version("apache-airflow-core")
    is_file = has_file_database(environment, home)
    if is_file and stamp.exists() and stamp.read_text() == wanted:
        return
    words = " ".join(command)
    click.echo(f"  preparing Airflow's database: {words}")
    exit_code, reason = follow_command(command, environment, log)
    if exit_code:
        because = f": {reason}" if reason else ""
        raise click.ClickException(f"{words} failed{because}\nThe full log is {log}")
    if is_file:
        stamp.write_text(wanted)


if __name__ == "__main__":
    airflow_database()
