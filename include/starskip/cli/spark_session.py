"""The Spark session of a command, which imports pyspark only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starskip.cli.to_stderr import is_quiet, is_verbose
from starskip.extras import needing_extra


@contextmanager
def spark_session(label: str, *, encrypts: bool = False) -> Iterator[Any]:
    """Yield a session that shows its progress and logs its warnings as far as the command shall."""
    with needing_extra("spark"):
        from starskip.spark.command_session import command_session

    log_level = "WARN" if is_verbose() else "ERROR"
    with command_session(label, encrypts=encrypts, is_quiet=is_quiet(), log_level=log_level) as session:
        yield session
