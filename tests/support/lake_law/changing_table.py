"""Delta and Iceberg tables that change by every operation that their formats have in Spark, at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from pyspark.sql import SparkSession

ROWS = 12
_KINDS = {"string": "string", "int": "int", "bigint": "bigint"}
LONG = "é" * 33
"""Begins texts of which the logs of both formats have bounds that are cut."""
PARTITIONS = ("a b", "é/x", "c=1%")


@dataclass
class ChangingTable:
    """``name``: as SQL has it; ``history``: FROM clauses of states that can still be read."""

    spark: SparkSession
    random: Random
    name: str
    path: str
    history: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    made: int = 0
    next_id: int = 0

    def sql(self, text: str) -> Any:
        self.log.append(text)
        return self.spark.sql(text)

    def columns(self) -> list[tuple[str, str]]:
        """Return names and types of the table's columns."""
        return self.spark.sql(f"SELECT * FROM {self.name}").dtypes

    # -- rows

    def rows(self, count: int = ROWS) -> str:
        """Return a query of new rows in the order of the table's columns, in one file."""
        start, self.next_id = self.next_id, self.next_id + count
        salt = self.random.randrange(1000)
        values = ", ".join(f"{self._value(name, kind, salt)} AS `{name}`" for name, kind in self.columns())
        return f"SELECT {values} FROM range({start}, {start + count}, 1, 1)"

    def _value(self, name: str, kind: str, salt: int) -> str:
        if name == "id":
            return "id"
        drawn = f"pmod(hash(id, {salt}, '{len(name)}'), {self.random.choice((2, 7, 30))})"
        if name == "p":
            return f"element_at(array({', '.join(map(repr, PARTITIONS))}), 1 + pmod(hash(id div 6), 3))"
        if kind == "string":
            begin = self.random.choice(("k", "k", "k", f"{LONG}k"))
            return f"nullif(concat('{begin}', {drawn}), 'k1')"
        if kind.startswith("struct"):
            inner = kind.removeprefix("struct<").removesuffix(">").split(",")
            parts = (each.split(":") for each in inner)
            fields = ", ".join(f"'{part}', {self._value(f'n.{part}', of, salt)}" for part, of in parts)
            return f"named_struct({fields})"
        return f"cast(nullif({drawn}, 1) AS {kind})"

    # -- operations that both formats have

    def append(self) -> None:
        for _ in range(self.random.choice((1, 1, 3))):
            self.sql(f"INSERT INTO {self.name} {self.rows()}")

    def overwrite(self) -> None:
        self.sql(f"INSERT OVERWRITE {self.name} {self.rows()}")

    def merge(self) -> None:
        near = self.random.randrange(max(self.next_id, 1))
        source = self.rows()
        shifted = (
            f"SELECT * EXCEPT (id), if(id % 2 = 0, id, id - {self.next_id - near}) AS id FROM ({source})"
        )
        names = ", ".join(f"s.`{name}`" for name, _ in self.columns())
        self.sql(
            f"MERGE INTO {self.name} t USING (SELECT {names} FROM ({shifted}) s) s ON t.id = s.id "
            f"WHEN MATCHED AND s.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
            f"WHEN NOT MATCHED THEN INSERT *"
        )

    def update(self) -> None:
        texts = [name for name, kind in self.columns() if kind == "string" and name != "p"]
        if texts:
            name = self.random.choice(texts)
            self.sql(f"UPDATE {self.name} SET `{name}` = 'k{self.random.randrange(30)}' WHERE {self._some()}")

    def delete(self) -> None:
        self.sql(f"DELETE FROM {self.name} WHERE {self._some()}")

    def add_column(self) -> None:
        kind = self.random.choice(tuple(_KINDS))
        names = {name for name, _ in self.columns()}
        free = [name for name in ("u", "v", "w", "x y", "ä") if name not in names]
        if free:
            self.sql(f"ALTER TABLE {self.name} ADD COLUMNS (`{self.random.choice(free)}` {kind})")
            self.append()

    def rename_column(self) -> None:
        changing = self._changing()
        if changing:
            self.made += 1
            old = self.random.choice(changing)
            names = {name for name, _ in self.columns()}
            new = self.random.choice([n for n in ("u", "v", "w", "x y", f"r{self.made}") if n not in names])
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN `{old}` TO `{new}`")

    def rename_field(self) -> None:
        fields = dict(self.columns()).get("n", "").removeprefix("struct<").removesuffix(">")
        names = [each.partition(":")[0] for each in fields.split(",") if each]
        if names:
            self.made += 1
            old = self.random.choice(names)
            new = self.random.choice([n for n in ("s", "x", f"f{self.made}") if n not in names])
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN n.`{old}` TO `{new}`")

    def drop_column(self) -> None:
        changing = self._changing()
        if len(changing) > 1:
            self.sql(f"ALTER TABLE {self.name} DROP COLUMNS (`{self.random.choice(changing)}`)")

    def _changing(self) -> list[str]:
        return [name for name, kind in self.columns() if name not in ("id", "p", "n")]

    def _some(self) -> str:
        low = self.random.randrange(max(self.next_id, 1))
        return self.random.choice(
            (f"id BETWEEN {low} AND {low + 5}", f"id % 5 = {low % 5}", f"id = {low}", f"id % 12 = {low % 12}")
        )

    def remember(self) -> None:
        """Add the present state to those that are asked for later."""

    def operations(self) -> Sequence[Callable[[], None]]:
        return (
            *(self.append, self.append, self.overwrite, self.merge, self.update, self.delete, self.delete),
            *(self.add_column, self.rename_column, self.rename_column, self.rename_field, self.drop_column),
        )

    def change(self) -> None:
        """Do one operation."""
        self.random.choice(self.operations())()
        self.remember()


class DeltaTable(ChangingTable):
    """With column mapping; deletion vectors in two of three tables."""

    def create(self) -> None:
        by = self.random.choice(("", "PARTITIONED BY (p)"))
        vectors = str(self.random.random() < 0.7).lower()
        self.sql(
            f"CREATE TABLE {self.name} (id bigint, u string, v int, n struct<s: string, x: int>, p string) "
            f"USING delta {by} TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
            f"'delta.enableDeletionVectors' = '{vectors}')"
        )
        self.append()
        self.append()
        self.remember()

    def remember(self) -> None:
        logs: Any = self.spark._jvm.org.apache.spark.sql.delta.DeltaLog
        version = logs.forTable(self.spark._jsparkSession, self.path).unsafeVolatileSnapshot().version()
        self.history.append(f"{self.name} VERSION AS OF {version}")

    def optimize(self) -> None:
        self.sql(f"OPTIMIZE {self.name}")

    def purge(self) -> None:
        self.sql(f"REORG TABLE {self.name} APPLY (PURGE)")

    def vacuum(self) -> None:
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        self.sql(f"VACUUM {self.name} RETAIN 0 HOURS")
        self.history.clear()

    def restore(self) -> None:
        if self.history:
            version = self.random.choice(self.history).rpartition(" ")[2]
            self.sql(f"RESTORE TABLE {self.name} TO VERSION AS OF {version}")

    def replace_partition(self) -> None:
        names = ", ".join("'a b' AS p" if name == "p" else f"`{name}`" for name, _ in self.columns())
        self.sql(f"INSERT INTO {self.name} REPLACE WHERE p = 'a b' SELECT {names} FROM ({self.rows(3)})")

    def operations(self) -> Sequence[Callable[[], None]]:
        return (
            *super().operations(),
            *(self.optimize, self.purge, self.vacuum, self.restore, self.restore, self.replace_partition),
        )


class IcebergTable(ChangingTable):
    """An Iceberg table of format version 2 or 3, that writes delete files or copies files anew."""

    def create(self) -> None:
        by = self.random.choice(("", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, id))"))
        version = self.random.choice((2, 3))
        mode = self.random.choice(("merge-on-read", "merge-on-read", "copy-on-write"))
        modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        self.sql(
            f"CREATE TABLE {self.name} (id bigint, u string, v int, n struct<s: string, x: int>, p string) "
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
        for name, kind in self.columns():
            if kind == "int" and name != "n":
                self.sql(f"ALTER TABLE {self.name} ALTER COLUMN `{name}` TYPE bigint")
                return

    def delete_equal(self) -> None:
        """Delete by an equality delete file, which Spark does not write: by Iceberg's own classes."""
        texts = [name for name, kind in self.columns() if kind == "string" and name != "p"]
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
        )
