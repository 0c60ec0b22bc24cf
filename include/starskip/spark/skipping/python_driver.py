"""``starskip-python``: run an application of spark-submit with skipping enabled in its session.

Set it as ``spark.pyspark.driver.python`` to enable skipping by configuration alone; ENABLED, METADATA_ROOT
and MODULES name the other settings.
"""

from __future__ import annotations

import functools
import logging
import os
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import WeakSet

from pyspark import SparkContext
from pyspark.sql import SparkSession

from starskip.errors import StarskipError
from starskip.spark.skipping.relation_facts import ENABLED
from starskip.spark.skipping.session import enable

log = logging.getLogger("starskip.skipping")


def main() -> None:
    """Run a script with its arguments as Python would; other arguments are passed to Python."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0].startswith("-"):
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606 - the interpreter itself
    builder: Any = SparkSession.Builder
    builder.getOrCreate = with_skipping(builder.getOrCreate)
    sys.argv = arguments
    # Python puts the script's folder there; until now it is this program's folder.
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


def with_skipping(get_or_create: Callable[..., SparkSession]) -> Callable[..., SparkSession]:
    """Wrap the method to enable skipping in the first session of each application."""
    enabled: WeakSet[SparkContext] = WeakSet()

    @functools.wraps(get_or_create)
    def made(builder: Any) -> SparkSession:
        spark = get_or_create(builder)
        context = SparkContext._active_spark_context
        if context is not None and context not in enabled:
            enabled.add(context)
            if str(spark.conf.get(ENABLED, "true")).lower() != "false":
                try:
                    enable(spark)
                except StarskipError as error:
                    log.warning("not skipping, because %s", error)
        return spark

    return made


if __name__ == "__main__":
    main()
