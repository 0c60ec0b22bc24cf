"""Fetches Delta's connector for Spark, with which the night's jobs read the sample's ``lineitem``.

``python delta_connector.py FOLDER/jars.txt`` leaves the jars in the folder and their names in the file. Spark
fetches the jars from Maven Central itself, as it does for ``spark.jars.packages``, but once and not at the
start of each job. Where Maven Central cannot be reached, the file is empty, and the sample's lake table is
plain files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

DELTA = "4.4.0"
_SECONDS = 240
_IN_SPARK = (
    *("org.apache.hadoop:*", "org.apache.parquet:*", "org.apache.logging.log4j:*", "org.slf4j:*"),
    *("com.fasterxml.jackson.*:*", "com.github.luben:*", "org.xerial.snappy:*", "io.airlift:*"),
    *("org.roaringbitmap:*", "commons-*:*", "javax.annotation:*", "com.google.code.findbugs:*"),
)
"""The connector's dependencies that Spark brings in versions of its own."""


def fetch_connector(names: Path) -> bool:
    """Write the jars beside ``names`` and their names into it; return whether they could be fetched."""
    names.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as aside:
        fetched = _fetched(Path(aside))
        for jar in fetched:
            shutil.copy(jar, names.parent / jar.name)
    names.write_text("".join(f"{jar.name}\n" for jar in fetched))
    return bool(fetched)


def _fetched(aside: Path) -> list[Path]:
    """Let spark-submit fetch the jars for a program that does nothing."""
    program = aside / "nothing.py"
    program.touch()
    spark = version("pyspark").rpartition(".")[0]
    words = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]"]
    words += ["--packages", f"io.delta:delta-spark_{spark}_2.13:{DELTA}"]
    words += ["--exclude-packages", ",".join(_IN_SPARK), "--conf", f"spark.jars.ivy={aside}", str(program)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("SPARK_HOME", "SPARK_DIST_CLASSPATH"):
        environment.pop(name, None)
    try:
        ran = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return []
    return [] if ran.returncode else sorted((aside / "jars").glob("*.jar"))


if __name__ == "__main__":
    if not fetch_connector(Path(sys.argv[1])):
        print("Delta's connector cannot be fetched from Maven Central: the sample's lineitem is plain files")
