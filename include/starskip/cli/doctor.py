"""``starskip doctor``: check a configuration against the deployment that it describes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from datetime import UTC, date, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from starskip.cli.format_option import echo_result, format_option
from starskip.errors import BAD_INPUT, StarskipError
from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.night.doctor.finding import Finding


@click.command(name="doctor")
@click.option("--config", required=True, type=click.Path(), help="Configuration file of the night (YAML).")
@click.option(
    "--run-date",
    type=click.DateTime(["%Y-%m-%d"]),
    help="The night whose log must be there, 2026-11-18; the newest day in the log if left out.",
)
@click.option("--spark-conn-id", help="Airflow's connection to Spark, if the DAG names another one.")
@click.option("--store-conn-id", help="Airflow's connection with the keys of the stores, likewise.")
@click.option("--pool", help="Airflow's pool of the stages, if the DAG names one.")
@format_option()
def doctor(config: str, run_date: datetime | None, output: str, **names: str | None) -> None:
    """Check a configuration against its logs, segments, stores, versions and connections.

    Each line is a check: ok, warning or failed, and what to do. Nothing is changed: the store of artefacts
    gets an object that is deleted again. Of the log some records are read, and one segment of a few tables.
    Exit code 3 if a check failed.

    \b
    Examples:
      starskip doctor --config night.yaml
      starskip doctor --config night.yaml --run-date 2026-11-18
      starskip doctor --config night.yaml --spark-conn-id emr --pool starskip
      starskip doctor --config night.yaml --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    from starskip.night.doctor.finding import FAILED, WARNING

    asked = run_date.date() if run_date else None
    found = list(_findings(config, asked, os.environ, names))
    document = {
        "checks": [{"check": each.check, "verdict": each.verdict, "words": each.words} for each in found],
        "failed": sum(each.verdict == FAILED for each in found),
        "warnings": sum(each.verdict == WARNING for each in found),
    }
    echo_result(output, document, lambda: "\n".join(_lines(found)))
    if document["failed"]:
        click.get_current_context().exit(BAD_INPUT)


def _findings(
    config: str, asked: date | None, environment: MutableMapping[str, str], names: Mapping[str, str | None]
) -> Iterator[Finding]:
    from starskip.night.configuration.night_from_config import NightArguments
    from starskip.night.doctor.examine import configured_night, examine, examine_versions

    yield from examine_versions(environment)
    # First, since its connections may have the keys of the stores.
    yield from _of_airflow(config, environment, names)
    now = datetime.now(UTC)
    night, found = configured_night(config, NightArguments(asked or now.date(), "doctor", now), environment)
    yield from found
    if night is not None:
        yield from examine(night, asked, environment)


def _of_airflow(
    config: str, environment: MutableMapping[str, str], names: Mapping[str, str | None]
) -> Iterator[Finding]:
    from starskip.night.doctor.finding import OK, Finding, findings_of

    if find_spec("airflow") is None:
        return
    if not any(name.startswith("AIRFLOW_") for name in environment):
        # Importing Airflow would make a home for it.
        words = "not checked: AIRFLOW_HOME names no Airflow whose connections to look at"
        yield Finding("Airflow", OK, words)
        return
    with needing_extra("airflow"):
        from starskip.airflow.check_airflow import check_connections, check_pools
    given = {"spark": names["spark_conn_id"], "store": names["store_conn_id"]}
    named = {place: name for place, name in given.items() if name}
    settings = _spark_settings(config)
    yield from findings_of(
        "Airflow", lambda: check_connections(environment, spark_settings=settings, **named)
    )
    yield from findings_of("Airflow", lambda: check_pools(names["pool"]))


def _spark_settings(config: str) -> Mapping[str, str]:
    from starskip.night.configuration.night_from_config import spark_settings

    try:
        return spark_settings(config)
    except StarskipError:
        return {}  # the check of the configuration says why


def _lines(found: list[Finding]) -> Iterator[str]:
    width = max(len(each.check) for each in found)
    for each in found:
        yield f"{each.verdict:<7}  {each.check:<{width}}  {each.words}"
