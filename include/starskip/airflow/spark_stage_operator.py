"""Run one stage of the night as one Spark job: spark-submit with arguments, limits and exit codes."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

import psutil
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, BaseOperatorLink
from airflow.sdk.configuration import conf as airflow_conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowNotFoundException

from starskip.advisor.run.stages import STAGE_NAMES
from starskip.airflow.connections import Connections
from starskip.airflow.job_processes import end_processes, job_processes, with_descendants
from starskip.airflow.night_request import night_request
from starskip.airflow.progress_line import show_progress
from starskip.airflow.report_places import REPORTING, run_reports
from starskip.airflow.spark_settings import connection_settings, may_be_secret, package_zip, secret_file
from starskip.airflow.task_failure import failing_at_once, note_failure
from starskip.errors import BAD_INPUT, ConfigError, printable
from starskip.night.submitting_process import SUBMITTED_BY


class ReportLink(BaseOperatorLink):
    """Link to the tab of the DAG run that shows the reports of its night."""

    name = "Index advice of this night"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address without its host: only the browser knows the host of its Airflow."""
        del operator
        base = urlsplit(airflow_conf.get("api", "base_url", fallback="/")).path
        return run_reports(base, ti_key.dag_id, ti_key.run_id)


_EVERYWHERE = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
}
# A local job lives for seconds: it ends before the optimising compiler would have paid for itself.
_LOCAL = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
# Executors on this machine reach the driver without a name that a network would have to know.
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOCAL_MASTER = re.compile(r"local(?:\[.*\])?")
_LOOPBACK_MASTER = re.compile(r"(?:spark://)?(?:localhost|127(?:\.\d+){3})(?::\d+)?")
_LINES_KEPT = 500
_EXCEPTION = re.compile(r"^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b.*")


class SparkStageOperator(SparkSubmitOperator):
    """Runs the stage that the task is named after, for the night that the DAG run asks for.

    Returns the job's counts. Bad input (exit code 3) fails the task without a retry, with the job's own
    message. In cluster deploy mode Spark does not pass exit codes on, so that the task is retried.
    """

    template_fields = (*SparkSubmitOperator.template_fields, "report_source")

    def __init__(
        self,
        *,
        config: str,
        connections: Connections,
        report_source: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep the place of the nights' configuration, and the names of connections to stores.

        ``report_source`` is for the report pages: Airflow stores the template fields of a DAG's tasks.
        """
        super().__init__(application=str(files("starskip.night.job") / "run_stage.py"), **kwargs)
        self.config = config
        self.connections = connections
        self.report_source = report_source
        self._printed: deque[str] = deque(maxlen=_LINES_KEPT)
        if self.task_id == REPORTING:
            self.operator_extra_links = (ReportLink(),)

    def execute(self, context: Any) -> Mapping[str, int]:  # type: ignore[override]
        """Submit the job, wait for it, and return its counts."""
        # The DAG file imports this module, so the task that submits a job imports what reads a night.
        from starskip.night.configuration.night_from_config import spark_settings
        from starskip.night.night_logs import look_for_log

        with failing_at_once(context):
            self.connections.use(os.environ)
            request = night_request(context, self.config)
            connection = _connection(self._conn_id)
            settings = {
                **connection_settings(self._conn_id, connection.extra),
                **spark_settings(request.config),
            }
            if self.task_id == STAGE_NAMES[0]:
                look_for_log(request.night(datetime.now(UTC)))
        master = connection.master
        is_local = _LOCAL_MASTER.fullmatch(master) is not None
        self.name = f"{self.task_id}:{request.run_date.isoformat()}"
        self.application_args = [self.task_id, *request.job_arguments()]
        self.env_vars = request.job_environment()
        defaults = {**_EVERYWHERE, **conf_of_master(master)}
        secrets = {name: value for name, value in settings.items() if may_be_secret(name, value)}
        conf = {**defaults, **settings}
        self.conf = {name: value for name, value in conf.items() if name not in secrets}
        # A retry within the same process must not submit the arguments of the earlier try.
        self._hook = None
        self._printed.clear()
        if end_processes(with_descendants(job_processes([self.application, *self.application_args]))):
            show_progress(f"{self.task_id}: the job of an earlier try was still running and was ended")
        os.environ[SUBMITTED_BY] = str(os.getpid())
        program = connection.extra.get("spark-binary", "spark-submit")
        with (
            nullcontext() if is_local else package_zip() as package,
            secret_file(secrets, program) as self.properties_file,
        ):
            self.py_files = str(package) if package else None
            try:
                super().execute(context)
            except AirflowException as error:
                raise self._failed(context, error) from None
            finally:
                # The provider leaves it open; one process of Airflow may run all tasks of a night.
                if (process := self._submitted()) is not None and process.stdout is not None:
                    process.stdout.close()
        for line in self._printed:
            if line.startswith(f"{self.task_id}: warning: "):
                show_progress(line.partition(": ")[2])
        counts = job_counts(self._printed)
        show_progress(f"{self.task_id}: {', '.join(_words(name, n) for name, n in counts.items())}")
        return counts

    def on_kill(self) -> None:
        """End the job: on a cluster as the provider does, here with all processes of the job."""
        if self._hook is None:
            return
        process = self._submitted()
        # Looked up before spark-submit is killed: the children of its Python are orphans afterwards.
        family = (
            with_descendants([psutil.Process(process.pid)]) if process and process.poll() is None else set()
        )
        super().on_kill()
        end_processes(family)

    def _failed(self, context: Any, error: AirflowException) -> AirflowException:
        reason = failure_reason(self.task_id, self._printed, str(error))
        note_failure(context, reason)
        process = self._submitted()
        if process is not None and process.returncode == BAD_INPUT:
            return AirflowFailException(reason)
        return AirflowException(f"{reason}; the lines above are the job's own")

    def _submitted(self) -> Any:
        """Return the process of spark-submit, None before it was started; the provider has no public name."""
        return getattr(self._hook, "_submit_sp", None)

    def _get_hook(self) -> SparkSubmitHook:
        """Return the provider's hook, which passes the job's output on line by line and keeps none of it.

        Newer providers keep the last lines for an error of their own; the versions of Airflow 3.2 do not.
        """
        hook = super()._get_hook()
        follow = hook._process_spark_submit_log
        hook._process_spark_submit_log = lambda itr: follow(self._kept(itr))  # type: ignore[method-assign]
        return hook

    def _kept(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._printed.append(line.strip())
            yield line


def conf_of_master(master: str) -> dict[str, str]:
    """Return the Spark settings for the place of a job: in one process, on this machine, elsewhere."""
    if _LOCAL_MASTER.fullmatch(master):
        return {**_LOCAL, **_LOOPBACK}
    return dict(_LOOPBACK) if _LOOPBACK_MASTER.fullmatch(master) else {}


def job_counts(lines: Iterable[str]) -> dict[str, int]:
    """Return the counts of the JSON line with which a job ends; none if there is no such line."""
    for line in reversed(list(lines)):
        if line.startswith('{"stage": '):
            return {name: value for name, value in json.loads(line).items() if isinstance(value, int)}
    return {}


def failure_reason(stage: str, lines: Iterable[str], otherwise: str) -> str:
    """Return in one line why a job failed: its own message, else its last exception."""
    exceptions = []
    for line in reversed(list(lines)):
        if line.startswith(f"{stage}: ") and not line.startswith(f"{stage}: warning: "):
            return printable(line.removeprefix(f"{stage}: "))
        if _EXCEPTION.match(line):
            exceptions.append(line)
    return printable(exceptions[0] if exceptions else otherwise.partition("\n")[0])


def _words(name: str, value: int) -> str:
    return f"{name.replace('_', ' ')} {value:,}"


@dataclass(frozen=True, slots=True)
class _Connection:
    """The Spark master of an Airflow connection, and its extras."""

    master: str
    extra: Mapping[str, Any]


def _connection(connection_id: str) -> _Connection:
    """Return the fields of the connection; without one the provider would silently submit to YARN."""
    variable = f"AIRFLOW_CONN_{connection_id.upper()}"
    example = f"""{variable}='{{"conn_type": "spark", "host": "local[2]"}}'"""
    try:
        found = BaseHook.get_connection(connection_id)
        if found.host:
            return _Connection(str(found.host), found.extra_dejson)
        reason = "names no master, which is its host"
    except AirflowNotFoundException:
        # Airflow takes a variable that it cannot read, such as spark://local[2], for none at all.
        reason = "is missing or cannot be read"
    except (AirflowException, ValueError) as error:
        reason = f"cannot be read ({printable(str(error), 200)})"
    raise ConfigError(
        f"the Airflow connection {connection_id} {reason}: give it as JSON, {example}", setting=variable
    )
