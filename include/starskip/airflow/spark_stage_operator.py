"""Run one stage of the night as one Spark job, submitted by whatever the Airflow connection leads to."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.configuration import conf as airflow_conf
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from starskip.advisor.run.stages import STAGE_NAMES
from starskip.airflow.connections import Connections
from starskip.airflow.job_processes import end_processes, job_processes, with_descendants
from starskip.airflow.night_request import NightRequest, night_request
from starskip.airflow.progress_line import show_progress
from starskip.airflow.report_places import REPORTING, run_reports
from starskip.airflow.submitters.kept_receipt import forget_job
from starskip.airflow.submitters.spark_job import SparkJob, job_for
from starskip.airflow.submitters.submitter import submitter
from starskip.airflow.submitters.target import target_of
from starskip.airflow.task_failure import failing_at_once, note_failure
from starskip.airflow.watching import StageData, operator_lineage, watched_stage
from starskip.errors import ConfigError, printable
from starskip.night.job_receipt import RECEIPT_OPTION, JobReceipt, new_token, read_receipt

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

_SHOWN = 500


class ReportLink(BaseOperatorLink):
    """Link to the tab of the DAG run that shows the reports of its night."""

    name = "Index advice of this night"

    def get_link(self, operator: Any, *, ti_key: Any) -> str:
        """Return the address without its host: only the browser knows the host of its Airflow."""
        del operator
        base = urlsplit(airflow_conf.get("api", "base_url", fallback="/")).path
        return run_reports(base, ti_key.dag_id, ti_key.run_id)


class SparkStageOperator(BaseOperator):
    """Runs the stage that the task is named after, for the night that the DAG run asks for.

    A stage with little work (``night.table_groups``) runs in the task itself, without Spark.

    Returns the job's counts, which its receipt in the night's store holds. Bad input (exit code 3) fails the
    task without a retry, with the job's own message, wherever the job ran.
    """

    template_fields = ("report_source", "tables")

    def __init__(
        self,
        *,
        config: str,
        connections: Connections,
        conn_id: str = "spark_default",
        tables: Sequence[str] | None = None,
        report_source: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Keep the place of the nights' configuration, and the names of connections.

        ``conn_id``: where the job is submitted. ``tables``: the job's, None for those of the run.
        ``report_source`` is for the report pages: Airflow stores the template fields of a DAG's tasks.
        """
        super().__init__(**kwargs)
        self.config = config
        self.connections = connections
        self.conn_id = conn_id
        self.tables = tables
        self.report_source = report_source
        self._job: SparkJob | None = None
        self._submitted: Any = None
        self._data: StageData | None = None
        if self.task_id == REPORTING:
            self.operator_extra_links = (ReportLink(),)

    def execute(self, context: Any) -> Mapping[str, int]:
        """Submit the job, wait for it, and return its counts."""
        # The DAG file imports this module, so the task that submits a job imports what reads a night.
        from starskip.night.configuration.night_from_config import spark_settings
        from starskip.night.night_logs import look_for_log
        from starskip.night.stage_here import stage_here
        from starskip.night.table_groups import stage_engine

        with failing_at_once(context), ExitStack() as stack:
            self.connections.use(os.environ)
            request = self._request(context)
            night = request.night(datetime.now(UTC))
            if self.task_id == STAGE_NAMES[0]:
                look_for_log(night)
            if stage_engine(night, self.task_id) == "local":
                return self._counts(context, night, stage_here(self.task_id, night), None)
            target = target_of(self.conn_id, self.task_id)
            submitting = submitter(target)
            token = new_token()
            self._job = job_for(
                target,
                spark_settings(request.config),
                name=f"{self.task_id}:{request.run_date.isoformat()}",
                arguments=(self.task_id, f"{RECEIPT_OPTION}{token}", *request.job_arguments()),
                receipt=token,
                environment=request.job_environment(),
            )
            if end_processes(with_descendants(job_processes(_command(self._job)))):
                show_progress(f"{self.task_id}: the job of an earlier try was still running and was ended")
            self._submitted = stack.enter_context(submitting(self._job, target))
            error = _run(self._submitted, context)
            token = getattr(self._submitted, "receipt_token", token)
            receipt = read_receipt(night.store.storage, night.date_text, token)
        self._submitted = None
        if receipt is not None or error is None:
            # A job that ended well, wherever it left its receipt, is not taken up by another try.
            forget_job(context)
        if receipt is None:
            raise self._without_receipt(context, night, error)
        return self._counts(context, night, receipt, error)

    def on_kill(self) -> None:
        """End the job: elsewhere as the provider does, here with all processes of the job."""
        if self._job is None or self._submitted is None:
            return
        # Looked up before spark-submit is killed: the children of its Python are orphans afterwards.
        family = with_descendants(job_processes(_command(self._job)))
        self._submitted.on_kill()
        end_processes(family)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """Return what the stage read and wrote; OpenLineage's provider asks, where it is installed."""
        del task_instance
        return operator_lineage(self._data)

    def _request(self, context: Any) -> NightRequest:
        request = night_request(context, self.config)
        if self.tables is None:
            return request
        if not self.tables:
            raise ConfigError(f"{self.task_id} was given no table, which must not mean all", setting="tables")
        if odd := [table for table in self.tables if "," in table]:
            problem = f"table {printable(odd[0], 100)} has a comma in its name, by which names are told apart"
            raise ConfigError(problem, setting="tables")
        return replace(request, tables=tuple(self.tables))

    def _counts(
        self, context: Any, night: Night, receipt: JobReceipt, error: Exception | None
    ) -> dict[str, int]:
        for warning in receipt.warnings:
            show_progress(f"{self.task_id}: warning: {warning}")
        if not receipt.is_done:
            reason = printable(receipt.problem) or f"the job left with exit code {receipt.exit_code}"
            note_failure(context, reason)
            if not receipt.may_be_tried_again:
                raise AirflowFailException(reason)
            raise AirflowException(f"{reason}; the job's own log says more") from error
        if error is not None:
            show_progress(f"{self.task_id}: the job has ended well by its receipt, although: {_words(error)}")
        counts = {printable(name, 80): value for name, value in receipt.counts.items()}
        told = (f"{name.replace('_', ' ')} {value:,}" for name, value in counts.items())
        show_progress(f"{self.task_id}: {', '.join(told)}")
        self._data = watched_stage(night, receipt, self.dag_id)
        return counts

    def _without_receipt(self, context: Any, night: Night, error: Exception | None) -> AirflowException:
        place = night.store.storage.place
        if error is None:
            reason = (
                f"the job ended well, but left no receipt in {place}: does its driver see another store? "
                "A folder must be one that driver and worker share; an object store is one"
            )
            note_failure(context, reason)
            return AirflowFailException(reason)
        reason = _words(error)
        note_failure(context, reason)
        failure = AirflowException(f"{reason}; there is no receipt in {place}, the job's own log says more")
        # The provider's own failures are told by their words; where something else went wrong matters.
        failure.__cause__ = None if isinstance(error, AirflowException) else error
        return failure


def _run(operator: Any, context: Any) -> Exception | None:
    """Run the provider's operator; return why it failed, None if it did not."""
    try:
        # Airflow warns about operators that run others; this one was made to be run here.
        inspect.unwrap(type(operator).execute)(operator, context)
    except Exception as error:
        return error
    return None


def _command(job: SparkJob) -> list[str]:
    """Return the end of the command line of each local process of the job."""
    return [job.local_file, *job.arguments]


def _words(error: Exception) -> str:
    """Return the first line of a failure; a long one, as of a whole command, without its middle."""
    line = printable(next(iter(str(error).splitlines()), type(error).__name__), 100_000)
    half = _SHOWN // 2
    return line if len(line) <= _SHOWN else f"{line[:half]} … {line[-half:]}"
