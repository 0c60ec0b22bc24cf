"""Run one stage as a job of its own, on whatever engine: arguments, printed lines, exit code and receipt."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime
from tempfile import gettempdir

from starskip.advisor.run.night import Night, StageResult
from starskip.errors import TRY_AGAIN, ConfigError, StarskipError, exit_code, printable, show_traceback
from starskip.execution.engine import Engine
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.job_receipt import (
    RECEIPT_OPTION,
    JobReceipt,
    StartedJob,
    peak_memory_of,
    write_receipt,
)
from starskip.night.listed_tables import listed_tables
from starskip.settings.environment import settings_environment
from starskip.sql.masking import mask_literals
from starskip.storage.files.full_disk import full_disk, is_full_disk

Stage = Callable[[Engine, Night], StageResult]


@dataclass(frozen=True, slots=True)
class RunningEngine:
    """An engine that is up, its name in receipts, and the process of its Java if it has one."""

    engine: Engine
    name: str
    jvm_process_id: int | None = None


EngineOf = Callable[[Night], AbstractContextManager[RunningEngine]]
"""Starts the engine for a night, and ends it; turns failures of its own into a StarskipError where it can."""


@dataclass(slots=True)
class _End:
    """The end of a job, as far as it is known; no exit code if it was interrupted."""

    exit_code: int | None = None
    result: StageResult = field(default_factory=lambda: StageResult({}))
    problem: str = ""
    engine: str = ""
    jvm_peak_memory_bytes: int | None = None


def run_stage_with_receipt(stage: Stage, engine_of: EngineOf, arguments: Sequence[str] | None = None) -> int:
    """Run ``stage`` for the night that the command line describes; return the exit code.

    Its receipt is written before that, if the command line has a token for it: of a failure that nobody
    foresaw, too, which is raised then. Without a configuration that can be read there is no store for it.
    """
    parsed = _parser(stage).parse_args(arguments)
    job, night, end = StartedJob(stage.__name__), None, _End()
    try:
        night = night_from_config(parsed.config, _night_arguments(parsed, job.started_at), os.environ)
        _check_given(listed_tables(parsed.given))
        _run(stage, engine_of, night, end)
        end.exit_code = 0
    except StarskipError as error:
        show_traceback(error)
        end.exit_code, end.problem = exit_code(error), str(error)
    except OSError as error:
        end.exit_code, end.problem = TRY_AGAIN, _unforeseen(error)
        if not is_full_disk(error):
            raise
        end.problem = str(full_disk(error, error.filename or gettempdir()))
    except Exception as error:
        end.exit_code, end.problem = TRY_AGAIN, _unforeseen(error)
        raise
    finally:
        if night is not None and parsed.receipt and end.exit_code is not None:
            receipt = job.ended(
                night,
                end.engine,
                end.result,
                exit_code=end.exit_code,
                problem=end.problem,
                jvm_peak_memory_bytes=end.jvm_peak_memory_bytes,
            )
            _leave(night, parsed.receipt, receipt, end)
    for warning in end.result.warnings:
        print(f"{stage.__name__}: warning: {warning}", file=sys.stderr)  # noqa: T201
    if end.problem:
        print(f"{stage.__name__}: {end.problem}", file=sys.stderr)  # noqa: T201
    else:
        told = {"stage": stage.__name__, "run_date": parsed.run_date, **end.result.counts}
        print(json.dumps(told))  # noqa: T201
    return end.exit_code or 0


def _check_given(places: Sequence[str]) -> None:
    """Raise ConfigError unless the settings at ``places`` have reached this process.

    Without the settings of its run a stage would publish, and build, something else than was asked for.
    """
    missing = sorted(settings_environment(dict.fromkeys(places, "")).keys() - os.environ.keys())
    if missing:
        raise ConfigError(
            "the settings of the run did not reach the driver, whose environment has no "
            f"{', '.join(missing)}: where a service submits it, it must run in deploy mode cluster "
            "(livy.spark.deploy-mode of Livy)",
            setting=places[0],
        )


def _run(stage: Stage, engine_of: EngineOf, night: Night, end: _End) -> None:
    with engine_of(night) as running:
        end.engine = running.name
        try:
            end.result = stage(running.engine, night.read_once())
        finally:
            end.jvm_peak_memory_bytes = peak_memory_of(running.jvm_process_id)


def _leave(night: Night, token: str, receipt: JobReceipt, end: _End) -> None:
    """Write the receipt; a job that cannot has failed, since nobody would learn how it ended."""
    try:
        write_receipt(night.store.storage, night.date_text, token, receipt)
    except StarskipError as error:
        end.problem = f"{end.problem}; no receipt could be written: {error}".removeprefix("; ")
        end.exit_code = end.exit_code or exit_code(error)


def _unforeseen(error: Exception) -> str:
    """Return what went wrong, without literals: it is shown where queries with literals are not."""
    # The first line of an error of Java says which call failed, the second one why.
    words = " ".join([f"{type(error).__name__}:", *str(error).splitlines()[:2]])
    return printable(mask_literals(words))


def _parser(stage: Stage) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=stage.__name__, description=stage.__doc__)
    parser.add_argument("--config", required=True, help="configuration file of the night, YAML")
    parser.add_argument("--run-date", required=True, help="the night, such as 2026-11-18")
    parser.add_argument("--run-id", default="by hand", help="who runs it; kept in the manifests")
    parser.add_argument("--tables", default="", help="comma separated tables; empty means all")
    parser.add_argument(
        "--set", action="append", default=[], metavar="GROUP.NAME=VALUE", help="a setting; repeatable"
    )
    parser.add_argument(
        "--given", default="", help="comma separated places of settings that the environment must have"
    )
    parser.add_argument("--changed", default="", help="comma separated places of settings to be marked")
    parser.add_argument("--experiment", action="store_true", help="keep the artefacts beside the night's")
    parser.add_argument(
        RECEIPT_OPTION.rstrip("="), default="", metavar="TOKEN", help="leave a receipt of this name"
    )
    return parser


def _night_arguments(parsed: argparse.Namespace, started_at: datetime) -> NightArguments:
    try:
        run_date = date.fromisoformat(parsed.run_date)
    except ValueError:
        raise StarskipError(f"--run-date {parsed.run_date!r} is not a date such as 2026-11-18") from None
    return NightArguments(
        run_date=run_date,
        run_id=parsed.run_id,
        started_at=started_at,
        tables=listed_tables(parsed.tables),
        settings=dict(item.partition("=")[::2] for item in parsed.set),
        changed=listed_tables(parsed.changed),
        is_experiment=parsed.experiment,
    )
