"""Tables whose own files are encrypted are indexed with their user's keys, and nothing secret is written.

In a Spark of its own, which encrypts its temporary files and writes an event log. The client of the key
service, which parquet-hadoop asks for the table's keys, is a class of this test, as it is of a user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import starskip

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(1800)]

APPLICATION = r'''
import base64, json, logging, sys, zipfile
from pathlib import Path
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.spark import skipping
from starskip.storage.local_storage import LocalStorage

folder = Path(sys.argv[1])
KMS = """
package tests;
import org.apache.parquet.crypto.keytools.KeyToolkit;
public class KeyService implements org.apache.parquet.crypto.keytools.KmsClient {
  private org.apache.hadoop.conf.Configuration conf;
  public void initialize(org.apache.hadoop.conf.Configuration c, String id, String url, String token) {
    conf = c;
  }
  private byte[] key(String name) {
    String text = conf.get("tests.key." + name);
    if (text == null) throw new org.apache.parquet.crypto.KeyAccessDeniedException("no key " + name);
    return java.util.Base64.getDecoder().decode(text);
  }
  public String wrapKey(byte[] bytes, String name) {
    return KeyToolkit.encryptKeyLocally(bytes, key(name), name.getBytes());
  }
  public byte[] unwrapKey(String wrapped, String name) {
    return KeyToolkit.decryptKeyLocally(wrapped, key(name), name.getBytes());
  }
}
"""
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "1g")
    .config("spark.ui.enabled", "false")
    .config("spark.io.encryption.enabled", "true")
    .config("spark.local.dir", str(folder / "local"))
    .config("spark.eventLog.enabled", "true")
    .config("spark.eventLog.compress", "false")
    .config("spark.eventLog.dir", str(folder / "events"))
    .getOrCreate()
)
jvm = spark.sparkContext._jvm
compiler = jvm.org.codehaus.janino.SimpleCompiler()
compiler.setParentClassLoader(jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader())
compiler.cook(KMS)
with zipfile.ZipFile(folder / "kms.jar", "w") as jar:
    jar.writestr("tests/KeyService.class", bytes(compiler.getBytecodes()["tests.KeyService"]))
loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
loader.addURL(jvm.java.io.File(str(folder / "kms.jar")).toURI().toURL())
hadoop = spark.sparkContext._jsc.hadoopConfiguration()
hadoop.set("parquet.crypto.factory.class", "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory")
hadoop.set("parquet.encryption.kms.client.class", "tests.KeyService")
for name in ("footer", "column"):
    hadoop.set("tests.key." + name, base64.b64encode(name[::-1].ljust(16).encode()).decode())

LocalStorage.delete = lambda self, name: None  # What is removed again was written all the same.
warned = []


class Kept(logging.Handler):
    def emit(self, record):
        warned.append(record.getMessage())


logging.getLogger("starskip.skipping").addHandler(Kept())
(folder / "pii").write_bytes(b"p" * 32)
(folder / "names").write_bytes(b"n" * 32)
keys = {name: str(folder / name) for name in ("pii", "names")}
told = {}
for name, plain_footer in (("encrypted", "false"), ("plain-footer", "true")):
    path = folder / name
    spark.range(0, 80, 1, 4).selectExpr(
        "id",
        # Written backwards: what a query itself says stands in the event log.
        "reverse(concat('gro.elpmaxe@', id, '-terces-nosrep')) AS email",
        "reverse(concat(id div 20, '-terces-draw')) AS ward",
    ).write.partitionBy("ward").option("parquet.encryption.footer.key", "footer").option(
        "parquet.encryption.plaintext.footer", plain_footer
    ).option("parquet.encryption.column.keys", "column:email,id").parquet(str(path))
    aged(path)
    magic = next(path.rglob("*.parquet")).read_bytes()[-4:].decode()
    secret = ["bloom:email", "valuelist:email", "minmax:email"]
    done = skipping.create(
        spark, spark.read.option("parquet.encryption.key.list", "column:Y29sdW1u").parquet(str(path)),
        ["minmax:id", *secret], metadata_root=str(folder / "metadata"), keys=keys,
        encrypt=dict.fromkeys(secret, "pii"), encrypt_listing="names",
    )
    told[name] = {"magic": magic, "indexes": done.indexes, "files": done.collected_files}


def holders(text):
    found = []
    for place in ("local", "events", "metadata"):
        for each in (folder / place).rglob("*"):
            if each.is_file() and text in each.read_bytes():
                found.append(str(each.relative_to(folder)))
    return found

secrets = (b"person-secret", b"ward-secret", b"p" * 32, b"n" * 32, b"Y29sdW1u")
told["holders"] = {text.decode(): holders(text) for text in secrets}
told["logs"] = [each for each in warned if "secret" in each]
told["files"] = {
    place: sum(1 for each in (folder / place).rglob("*") if each.is_file())
    for place in ("local", "events", "metadata")
}
for name in ("encrypted", "plain-footer"):
    reads = {}
    for have in (["pii", "names"], ["names"], []):
        skipping.enable(spark, str(folder / "metadata"), keys={each: keys[each] for each in have})
        for where in ("id = 7", "email = 'person-secret-7@example.org'"):
            frame = spark.read.parquet(str(folder / name)).where(where).select("id")
            rows = [row.id for row in frame.collect()]
            (stats,) = skipping.last_query_stats(spark)
            reads["+".join(have) + ": " + where[:5]] = [rows, stats["files_read"], stats["skipped_by"]]
    told[name]["reads"] = reads
print(json.dumps(told))
spark.stop()
'''


def test_encrypted_tables_are_skipped_in_and_nothing_secret_is_written(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    paths = [str(Path(starskip.__file__).parents[1]), str(Path(__file__).parents[3] / "support")]
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION, str(tmp_path)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        },
        capture_output=True,
        text=True,
        timeout=1700,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (told["encrypted"]["magic"], told["plain-footer"]["magic"]) == ("PARE", "PAR1")
    everything = ["bloom:email", "minmax:email", "minmax:id", "valuelist:email"]
    for name in ("encrypted", "plain-footer"):
        table = told[name]
        assert (sorted(table["indexes"]), table["files"]) == (everything, 4)
        reads = table["reads"]
        assert all(rows == [7] for rows, _, _ in reads.values())
        assert {asked: read for asked, (_, read, _) in reads.items()} == {
            "pii+names: id = ": 1,
            "pii+names: email": 1,
            "names: id = ": 1,
            "names: email": 4,
            ": id = ": 4,
            ": email": 4,
        }
        assert set(reads["pii+names: email"][2]) == {"bloom:email", "minmax:email", "valuelist:email"}
    assert all(told["files"].values()), "there is something to search"
    assert not any(told["holders"].values()), told["holders"]
    assert told["logs"] == []
    assert "person-secret" not in done.stderr
