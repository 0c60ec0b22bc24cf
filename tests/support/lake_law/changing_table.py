"""Delta and Iceberg tables that change by every operation that their formats have in Spark, at random."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

ROWS = 12
NAMES = ("u", "v", "w", "x y", "ä", "a-b", "a.b", "1a", "a%", "日本", "$c")
"""Of some of these Iceberg writes others into files; Delta does so of all that are renamed."""
FIELDS = ("s", "x", "x y", "ö", "f-1")
_KINDS = (
    "string",
    "int",
    "bigint",
    "struct<s: string, x: int>",
    "struct<`x y`: struct<s: string>, x: bigint>",
)
_COLUMNS = (
    "id bigint, u string, v int, p string, "
    "n struct<s: string, x: int, `in ner`: struct<s: string, `x y`: int>>"
)
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
    failed: list[str] = field(default_factory=list)
    made: int = 0
    next_id: int = 0
    kinds: ClassVar[tuple[str, ...]] = _KINDS

    def sql(self, text: str) -> Any:
        self.log.append(text)
        return self.spark.sql(text)

    def columns(self) -> StructType:
        """Return the table's columns."""
        return self.spark.sql(f"SELECT * FROM {self.name}").schema

    # -- rows

    def rows(self, count: int = ROWS) -> str:
        """Return a query of new rows in the order of the table's columns, in one file."""
        start, self.next_id = self.next_id, self.next_id + count
        salt = self.random.randrange(1000)
        limited = self.limited()
        values = ", ".join(
            f"{self._value(each, salt, is_short=each.name in limited)} AS {quoted(each.name)}"
            for each in self.columns()
        )
        return f"SELECT {values} FROM range({start}, {start + count}, 1, 1)"

    def limited(self) -> set[str]:
        """Return the columns whose texts are short; those of fields of structs always are."""
        return set()

    def _value(self, column: StructField, salt: int, above: str = "", *, is_short: bool = True) -> str:
        name, kind = f"{above}{column.name}", column.dataType
        if name == "id":
            return "id"
        drawn = f"pmod(hash(id, {salt}, '{len(name)}'), {self.random.choice((2, 7, 30))})"
        if name == "p":
            return f"element_at(array({', '.join(map(repr, PARTITIONS))}), 1 + pmod(hash(id div 6), 3))"
        if isinstance(kind, StringType):
            begin = "k" if is_short else self.random.choice(("k", "k", "k", f"{LONG}k"))
            return f"nullif(concat('{begin}', {drawn}, '{self.random.choice(('', '', ' '))}'), 'k1')"
        if isinstance(kind, StructType):
            fields = ", ".join(f"'{each.name}', {self._value(each, salt, f'{name}.')}" for each in kind)
            made = f"named_struct({fields})"
            return f"if({drawn} = 0, NULL, {made})" if self.random.random() < 0.2 else made
        return f"cast(nullif({drawn}, 1) AS {kind.simpleString()})"

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
        names = ", ".join(f"s.{quoted(name)}" for name in self.columns().names)
        self.sql(
            f"MERGE INTO {self.name} t USING (SELECT {names} FROM ({shifted}) s) s ON t.id = s.id "
            f"WHEN MATCHED AND s.id % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
            f"WHEN NOT MATCHED THEN INSERT *"
        )

    def update(self) -> None:
        if texts := self._texts():
            name = quoted(self.random.choice(texts))
            self.sql(f"UPDATE {self.name} SET {name} = 'k{self.random.randrange(30)}' WHERE {self._some()}")

    def delete(self) -> None:
        self.sql(f"DELETE FROM {self.name} WHERE {self._some()}")

    def add_column(self) -> None:
        self._add(self._free(NAMES))
        self.append()

    def _add(self, name: str) -> None:
        kind = self.random.choice(self.kinds)
        self.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({quoted(name)} {kind})")

    def rename_column(self) -> None:
        if changing := self._changing():
            self._rename(self.random.choice(changing), self._free(NAMES))

    def swap_columns(self) -> None:
        """Give two columns one another's names."""
        changing = self._changing()
        if len(changing) > 1:
            one, other = self.random.sample(changing, 2)
            between = self._free(())
            for old, new in ((one, between), (other, one), (between, other)):
                self._rename(old, new)

    def rename_field(self) -> None:
        if fields := self._fields():
            *above, old = self.random.choice(fields)
            near = [each[-1] for each in fields if each[:-1] == tuple(above)]
            path = ".".join(map(quoted, (*above, old)))
            new = quoted(self._free(FIELDS, near))
            self.sql(f"ALTER TABLE {self.name} RENAME COLUMN {path} TO {new}")

    def add_field(self) -> None:
        if fields := self._fields():
            above = self.random.choice(fields)[:-1]
            near = [each[-1] for each in fields if each[:-1] == above]
            path = ".".join(map(quoted, (*above, self._free(FIELDS, near))))
            self.sql(f"ALTER TABLE {self.name} ADD COLUMNS ({path} {self.random.choice(('string', 'int'))})")
            self.append()

    def drop_field(self) -> None:
        fields = self._fields()
        some = [each for each in fields if sum(other[:-1] == each[:-1] for other in fields) > 1]
        if some:
            path = ".".join(map(quoted, self.random.choice(some)))
            self.sql(f"ALTER TABLE {self.name} DROP COLUMNS ({path})")

    def drop_column(self) -> None:
        """Drop a column; in half of the cases another one has its name then."""
        changing = self._changing()
        if len(changing) > 1:
            name = self.random.choice(changing)
            self.sql(f"ALTER TABLE {self.name} DROP COLUMNS ({quoted(name)})")
            if self.random.random() < 0.5:
                self._add(name)
                self.append()

    def _rename(self, old: str, new: str) -> None:
        self.sql(f"ALTER TABLE {self.name} RENAME COLUMN {quoted(old)} TO {quoted(new)}")

    def _free(self, names: Sequence[str], near: Sequence[str] | None = None) -> str:
        """Return a name that no column has, or no field ``near``."""
        self.made += 1
        taken = self.columns().names if near is None else near
        return self.random.choice([each for each in (*names, f"r{self.made}") if each not in taken])

    def _fields(self) -> list[tuple[str, ...]]:
        """Return the fields of structs; without those beside CHAR, which Spark mixes up once they change."""
        limited = self.limited()
        return [path for path in fields_of_structs(self.columns()) if path[0] not in limited]

    def _changing(self) -> list[str]:
        return [name for name in self.columns().names if name not in ("id", "p")]

    def _texts(self) -> list[str]:
        return [each.name for each in self.columns() if each.dataType == StringType() and each.name != "p"]

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
            *(self.swap_columns, self.add_field, self.drop_field),
        )

    def change(self) -> None:
        """Do one operation; a format fails at some with odd names, and the table is as far as it came."""
        operation = self.random.choice(self.operations())
        try:
            operation()
        except (Py4JError, PySparkException) as error:
            self.log.append(f"-- failed: {str(error).splitlines()[0][:200]}")
            self.failed.append(operation.__name__)
        self.remember()


class DeltaTable(ChangingTable):
    """With column mapping; deletion vectors in two of three tables."""

    kinds: ClassVar[tuple[str, ...]] = (*_KINDS, "char(5)", "varchar(4)", "struct<c: char(4), s: varchar(4)>")

    def limited(self) -> set[str]:
        """Return the columns of CHAR and VARCHAR."""
        fields = deltalake.DeltaTable(self.path).schema().fields
        return {each.name for each in fields if "__CHAR_VARCHAR_TYPE_STRING" in each.metadata}

    def append_unpadded(self) -> None:
        """Write texts as they are, where a table by SQL fills those of CHAR with spaces."""
        self.log.append("-- by a DataFrame")
        self.spark.sql(self.rows()).write.format("delta").mode("append").save(self.path)

    def create(self) -> None:
        by = self.random.choice(("", "PARTITIONED BY (p)"))
        vectors = str(self.random.random() < 0.7).lower()
        self.sql(
            f"CREATE TABLE {self.name} ({_COLUMNS}, c char(5), d varchar(4)) "
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
        names = ", ".join("'a b' AS p" if name == "p" else quoted(name) for name in self.columns().names)
        self.sql(f"INSERT INTO {self.name} REPLACE WHERE p = 'a b' SELECT {names} FROM ({self.rows(3)})")

    def operations(self) -> Sequence[Callable[[], None]]:
        return (
            *super().operations(),
            *(self.optimize, self.purge, self.vacuum, self.restore, self.restore, self.replace_partition),
            *(self.append_unpadded, self.append_unpadded),
        )


class IcebergTable(ChangingTable):
    """An Iceberg table of format version 2 or 3, that writes delete files or copies files anew."""

    def create(self) -> None:
        by = self.random.choice(("", "PARTITIONED BY (p)", "PARTITIONED BY (bucket(2, id))"))
        version = self.random.choice((2, 3))
        mode = self.random.choice(("merge-on-read", "merge-on-read", "copy-on-write"))
        modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
        self.sql(
            f"CREATE TABLE {self.name} ({_COLUMNS}) "
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


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return f"`{name.replace('`', '``')}`"


def fields_of_structs(schema: StructType, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of all fields of structs."""
    for each in schema:
        path = (*above, each.name)
        if above:
            yield path
        if isinstance(each.dataType, StructType):
            yield from fields_of_structs(each.dataType, path)
