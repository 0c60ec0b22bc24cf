"""Main function of every job file: read arguments, run one stage on Spark, print its counts, exit."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from tempfile import gettempdir

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from starskip.advisor.run.night import Night, StageResult
from starskip.errors import TRY_AGAIN, StarskipError, exit_code, show_traceback
from starskip.execution.engine import Engine
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.listed_tables import listed_tables
from starskip.night.submitting_process import end_with_submitter
from starskip.pinot.logs.log_formats import module_names
from starskip.skipping.registry import load_modules
from starskip.spark.command_session import require_java
from starskip.spark.spark_engine import SparkEngine
from starskip.spark.understood_failure import understood_failure
from starskip.storage.files.full_disk import full_disk, is_full_disk
from starskip.user_modules import module_files


def stage_job(stage: Callable[[Engine, Night], StageResult]) -> int:
    """Run ``stage`` for the night that the command line describes; return the exit code."""
    parsed = _parser(stage).parse_args()
    end_with_submitter(os.environ)
    try:
        night = night_from_config(parsed.config, _night_arguments(parsed), os.environ)
        load_modules(night.skipping_modules)
        session = SparkSession.builder.appName(f"{stage.__name__}:{parsed.run_date}").getOrCreate()
        try:
            require_java(session)
            formats = module_names(night.settings.log.formats)
            for file in module_files((*night.family_modules, *night.skipping_modules, *formats)):
                session.sparkContext.addPyFile(file)
            result = stage(SparkEngine(session), night)
        except (PySparkException, Py4JError) as error:
            raise understood_failure(error) from error
        finally:
            session.stop()
    except StarskipError as error:
        show_traceback(error)
        print(f"{stage.__name__}: {error}", file=sys.stderr)  # noqa: T201
        return exit_code(error)
    except OSError as error:
        if not is_full_disk(error):
            raise
        print(f"{stage.__name__}: {full_disk(error, error.filename or gettempdir())}", file=sys.stderr)  # noqa: T201
        return TRY_AGAIN
    for warning in result.warnings:
        print(f"{stage.__name__}: warning: {warning}", file=sys.stderr)  # noqa: T201
    print(json.dumps({"stage": stage.__name__, "run_date": parsed.run_date, **result.counts}))  # noqa: T201
    return 0


def _parser(stage: Callable[[Engine, Night], StageResult]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=stage.__name__, description=stage.__doc__)
    parser.add_argument("--config", required=True, help="configuration file of the night, YAML")
    parser.add_argument("--run-date", required=True, help="the night, such as 2026-11-18")
    parser.add_argument("--run-id", default="by hand", help="who runs it; kept in the manifests")
    parser.add_argument("--tables", default="", help="comma separated tables; empty means all")
    parser.add_argument(
        "--set", action="append", default=[], metavar="GROUP.NAME=VALUE", help="a setting; repeatable"
    )
    parser.add_argument("--changed", default="", help="comma separated places of settings to be marked")
    parser.add_argument("--experiment", action="store_true", help="keep the artefacts beside the night's")
    return parser


def _night_arguments(parsed: argparse.Namespace) -> NightArguments:
    try:
        run_date = date.fromisoformat(parsed.run_date)
    except ValueError:
        raise StarskipError(f"--run-date {parsed.run_date!r} is not a date such as 2026-11-18") from None
    return NightArguments(
        run_date=run_date,
        run_id=parsed.run_id,
        started_at=datetime.now(UTC),
        tables=listed_tables(parsed.tables),
        settings=dict(item.partition("=")[::2] for item in parsed.set),
        changed=listed_tables(parsed.changed),
        is_experiment=parsed.experiment,
    )
