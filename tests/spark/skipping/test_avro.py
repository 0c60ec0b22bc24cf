"""Avro is skipped as the other formats are, in a Spark of its own with the jar that reads Avro.

Spark fetches the jar itself, once, into its cache (~/.ivy2*). The jar of 4.1.1 is the newest that is
published. It runs on the later releases, 4.2 among them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import starskip

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PACKAGE = "org.apache.spark:spark-avro_2.13:4.1.1"
IN_SPARK_ALREADY = "org.tukaani:xz,org.scala-lang.modules:scala-parallel-collections_2.13"
APPLICATION = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.spark import skipping

package, excluded, folder, asked = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars.packages", package)
    .config("spark.jars.excludes", excluded)
    .config("spark.driver.memory", "1g")
    .config("spark.sql.session.timeZone", "America/New_York")
    .config("spark.sql.warehouse.dir", folder + "/warehouse")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
path = folder + "/t"
spark.range(0, 100, 1, 5).selectExpr(
    "id",
    "lpad(cast(id AS string), 3, '0') AS s",
    "timestamp_seconds(id * 86400) AS ts",
    "date_from_unix_date(cast(id AS int)) AS day",
    "cast(id AS decimal(10,2)) / 4 AS dec",
    "if(id < 60, null, if(id < 80, double('NaN'), id)) AS d",
    "named_struct('b', id) AS n",
    "id % 2 = 0 AS even",
).write.format("avro").save(path)
aged(Path(path))
indexes = ["minmax:id", "prefix:s:2", "suffix:s:1", "minmax:ts", "valuelist:day", "bloom:dec", "minmax:d"]
skipping.create(spark, path, [*indexes, "nulls:d", "minmax:n.b"], format="avro")
spark.sql(f"CREATE TABLE t USING avro LOCATION '{path}'")


def rows(predicate):
    return sorted(row.id for row in spark.sql(f"SELECT id FROM t WHERE {predicate}").collect())


seen = []
for predicate in json.loads(asked):
    skipping.disable(spark)
    plain = rows(predicate)
    skipping.enable(spark)
    found = rows(predicate)
    (stats,) = skipping.last_query_stats(spark)
    seen.append([predicate, len(plain), plain == found, stats["files_read"], stats["files_total"]])
by_path = len(spark.read.format("avro").load(path).where("id = 7").inputFiles())
spark.range(7, 8, 1, 1).selectExpr("*").write.format("avro").save(folder + "/new")
(new,) = Path(folder, "new").glob("part-*")
new.rename(path + "/part-new.avro")
spark.sql("REFRESH TABLE t")
print("SEEN " + json.dumps([seen, by_path, rows("id = 7")]))
spark.stop()
"""
FILES = {
    "id = 7": 1,
    "s LIKE '01%'": 1,
    "s LIKE '%5' AND id < 20": 1,
    "date(ts) = '1970-01-08'": 1,
    "ts >= timestamp'1970-04-09 12:00:00'": 1,
    "day IN (date'1970-01-03', date'1970-03-01')": 2,
    "dec = 24.75": 1,
    "d IS NULL": 3,
    "d IS NOT NULL": 2,
    "d > 1e300": 1,
    "n.b = 99": 1,
    "NOT (id < 80 OR id > 90)": 1,
    "even": 5,
}


def test_avro_files_are_skipped(tmp_path: Path) -> None:
    script = tmp_path / "application.py"
    script.write_text(APPLICATION)
    support = Path(__file__).parents[2] / "support"
    paths = (str(Path(starskip.__file__).parents[1]), str(support))
    done = subprocess.run(
        [sys.executable, script, PACKAGE, IN_SPARK_ALREADY, str(tmp_path), json.dumps(list(FILES))],
        env={
            **{name: value for name, value in os.environ.items() if name != "SPARK_HOME"},
            "PYTHONPATH": os.pathsep.join(paths),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    told = [line for line in done.stdout.splitlines() if line.startswith("SEEN ")]
    assert told, f"Spark with {PACKAGE} from the Maven registry did not get through:\n{done.stderr[-3000:]}"
    seen, by_path, with_a_new_file = json.loads(told[0].removeprefix("SEEN "))
    assert [each[0] for each in seen if not each[2]] == [], "other rows than without skipping"
    assert {predicate: files for predicate, _, _, files, _ in seen} == FILES
    assert {files for *_, files in seen} == {5}
    assert all(rows for _, rows, *_ in seen)
    assert by_path == 1
    assert with_a_new_file == [7, 7]
