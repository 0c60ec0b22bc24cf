"""An Iceberg table that changes at random by every operation that Iceberg has in Spark, or for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from lake_law.changing_table import COLUMNS, ChangingTable, quoted
from pyspark.sql.types import IntegerType


class IcebergTable(ChangingTable):
    """An Iceberg table of format version 2 or 3, that writes delete files or copies files anew."""

    def create(self) -> None:
        by = self.random.choice(("", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, id))"))
        version = self.random.choice((2, 3))
        mode = self.random.choice(("merge-on-read", "merge-on-read", "copy-on-write"))
        modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        self.sql(
            f"CREATE TABLE {self.name} ({COLUMNS}) "
            f"USING iceberg {by} TBLPROPERTIES ('format-version' = '{version}', {modes})"
        )
        self.is_whole = by == ""
        self.append()
        self.append()
        self.remember()

    is_whole: bool = False

    @property
    def call(self) -> str:
        return self.name.partition(".")[2]

    def remember(self) -> None:
        found = self.spark.sql(f"SELECT snapshot_id FROM {self.name}.refs WHERE name = 'main'").collect()
        self.history.append(f"{self.name} VERSION AS OF {found[0][0]}")

    def compact(self) -> None:
        self.sql(
            f"CALL ice.system.rewrite_data_files(table => '{self.call}', "
            "options => map('min-input-files', '2', 'delete-file-threshold', '1'))"
        )

    def compact_deletes(self) -> None:
        self.sql(f"CALL ice.system.rewrite_position_delete_files(table => '{self.call}')")

    def expire(self) -> None:
        now = self.spark.sql("SELECT date_format(current_timestamp(), 'yyyy-MM-dd HH:mm:ss.SSS')").collect()
        self.sql(
            f"CALL ice.system.expire_snapshots(table => '{self.call}', "
            f"older_than => TIMESTAMP '{now[0][0]}', retain_last => 1)"
        )
        self.history = [each for each in self.history if "'" in each]

    def roll_back(self) -> None:
        known = [each for each in self.history if "'" not in each]
        if known:
            snapshot = self.random.choice(known).rpartition(" ")[2]
            self.sql(f"CALL ice.system.set_current_snapshot('{self.call}', {snapshot})")

    def branch(self) -> None:
        self.made += 1
        name = f"b{self.made}"
        self.sql(f"ALTER TABLE {self.name} CREATE {self.random.choice(('BRANCH', 'TAG'))} {name}")
        self.history.append(f"{self.name} VERSION AS OF '{name}'")

    def write_branch(self) -> None:
        self.made += 1
        self.sql(f"ALTER TABLE {self.name} CREATE BRANCH b{self.made}")
        self.sql(f"INSERT INTO {self.name}.branch_b{self.made} {self.rows()}")
        self.sql(f"DELETE FROM {self.name}.branch_b{self.made} WHERE {self._some()}")
        self.history.append(f"{self.name} VERSION AS OF 'b{self.made}'")

    def evolve_partitions(self) -> None:
        self.made += 1
        self.is_whole = False
        how = self.random.choice(("bucket(3, id)", "truncate(2, p)", "p"))
        self.sql(f"ALTER TABLE {self.name} ADD PARTITION FIELD {how} AS f{self.made}")
        self.append()

    def widen(self) -> None:
        for each in self.columns():
            if each.dataType == IntegerType():
                self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {quoted(each.name)} TYPE bigint")
                return

    def exchange(self) -> None:
        """Write one of the table's files again in its place, with other rows, and register it again."""
        # A file that was added by reference has the names of the table's columns.
        self.made += 1
        folder = Path(self.path).parent / f"added-{Path(self.path).name}"
        file = folder / "a.parquet"
        if file.exists():
            self.sql(f"DELETE FROM {self.name} WHERE id < 0")
        folder.mkdir(exist_ok=True)
        start = -4 * self.random.randrange(1, 3)
        rows = pa.table(
            {"id": pa.array(range(start, start + 4), pa.int64()), "u": [f"k{self.random.randrange(10)}"] * 4}
        )
        pq.write_table(rows, file, compression="none", use_dictionary=False)
        self.log.append(f"-- {file.stat().st_size} bytes of {rows.to_pydict()}")
        # Older snapshots have the file, too, and other rows than they had.
        self.history.clear()
        self.sql(f"CALL ice.system.add_files(table => '{self.call}', source_table => '`parquet`.`{folder}`')")

    def delete_equal(self) -> None:
        """Delete by an equality delete file, which Spark does not write: by Iceberg's own classes."""
        texts = self._texts()
        if not (self.is_whole and texts):
            return
        name, value = self.random.choice(texts), f"k{self.random.randrange(12)}"
        self.log.append(f"-- equality delete of `{name}` = '{value}'")
        jvm: Any = self.spark._jvm
        iceberg = jvm.org.apache.iceberg
        table = iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.name)
        chosen = jvm.java.util.ArrayList()
        chosen.add(name)
        schema = table.schema().select(chosen)
        ids = self.spark.sparkContext._gateway.new_array(jvm.int, 1)
        ids[0] = table.schema().findField(name).fieldId()
        builder = getattr(iceberg.data, "GenericFileWriterFactory$Builder")(table)
        parquet = iceberg.FileFormat.PARQUET
        made = builder.deleteFileFormat(parquet).equalityFieldIds(ids).equalityDeleteRowSchema(schema).build()
        self.made += 1
        place = table.io().newOutputFile(f"{table.location()}/data/equal-{self.made}-{self.next_id}.parquet")
        out = iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(place)
        writer = made.newEqualityDeleteWriter(out, table.spec(), None)
        record = iceberg.data.GenericRecord.create(schema)
        record.setField(name, value)
        writer.write(record)
        writer.close()
        table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()

    def operations(self) -> Sequence[Callable[[], None]]:
        return (
            *super().operations(),
            *(
                self.compact,
                self.compact_deletes,
                self.expire,
                self.roll_back,
                self.branch,
                self.write_branch,
            ),
            *(self.evolve_partitions, self.widen, self.delete_equal, self.delete_equal),
            *((self.exchange, self.exchange) if self.is_whole else ()),
        )
