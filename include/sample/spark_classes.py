"""Make an archive of the classes that Spark loads at its start: half of the processor time of a start.

Java reads the archive in place of 250 jars if the same Java made it from the same jars, and ignores it
otherwise. ``make night`` and ``make test`` make it once: ``python spark_classes.py ARCHIVE``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

_PROGRAM = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.range(100).selectExpr("id", "id % 3 AS part", "'a' AS text").write.parquet(sys.argv[1])
rows = spark.read.parquet(sys.argv[1])
rows.where("part = 1 AND text LIKE 'a%'").groupBy("part").agg({"id": "sum"}).orderBy("part").collect()
rows.join(rows.select("part").distinct(), "part").count()
rows.repartition(2).mapInArrow(lambda batches: batches, rows.schema).count()
rows.rdd.map(lambda row: row.id).sum()
spark.stop()
"""


_OTHERS = ("SPARK_HOME", "SPARK_SUBMIT_OPTS", "SPARK_DIST_CLASSPATH")
"""Variables that let Java read an archive while it writes one, or other jars; `make night` sets both."""


def make_archive(archive: Path) -> None:
    """Run a small job and write the classes that it loaded; an empty file where Java writes none."""
    with tempfile.TemporaryDirectory() as folder:
        program, written = Path(folder, "program.py"), Path(folder, "classes.jsa")
        program.write_text(_PROGRAM)
        options = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ArchiveClassesAtExit={written}"
        ran = subprocess.run(
            [
                *(Path(sys.executable).with_name("spark-submit"), "--master", "local[2]"),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"),
                *("--conf", f"spark.driver.extraJavaOptions={options}", program, Path(folder, "rows")),
            ],
            env={
                **{name: value for name, value in os.environ.items() if name not in _OTHERS},
                "PYSPARK_PYTHON": sys.executable,
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
            capture_output=True,
            text=True,
            errors="replace",
        )
        content = written.read_bytes() if written.exists() and ran.returncode == 0 else b""
        if not content:
            why = (ran.stderr.strip() or "Java said nothing").splitlines()[-1]
            print(f"no archive: each start of Spark takes some seconds longer ({why})", file=sys.stderr)
    aside = archive.with_suffix(".unfinished")
    aside.write_bytes(content)
    aside.replace(archive)


if __name__ == "__main__":
    make_archive(Path(sys.argv[1]))
