"""A Delta table that changes at random by every operation that Delta has in Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import deltalake
from lake_law.changing_table import COLUMNS, KINDS, ChangingTable, quoted
from skipping_tables import settings_of


class DeltaTable(ChangingTable):
    """With column mapping; deletion vectors in two of three tables."""

    kinds: ClassVar[tuple[str, ...]] = (*KINDS, "char(5)", "varchar(4)", "struct<c: char(4), s: varchar(4)>")

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
            f"CREATE TABLE {self.name} ({COLUMNS}, c char(5), d varchar(4)) "
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
        with settings_of(self.spark, {"spark.databricks.delta.retentionDurationCheck.enabled": "false"}):
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
