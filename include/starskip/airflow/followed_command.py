"""Run a command of Airflow's into a log, and show its progress and why it failed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from starskip.airflow.child_process import child_process
from starskip.airflow.progress_line import progress_text
from starskip.errors import printable
from starskip.storage.files.full_disk import full_disk, is_full_disk

_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception): (.+)")


def follow_command(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> tuple[int, str | None]:
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
