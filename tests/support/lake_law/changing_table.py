"""A table of the lake that changes at random by the operations that Delta and Iceberg both have in Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, ClassVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

ROWS = 12
NAMES = ("u", "v", "w", "x y", "ä", "a-b", "a.b", "1a", "a%", "日本", "$c")
"""Of some of these Iceberg writes others into files; Delta does so of all that are renamed."""
FIELDS = ("s", "x", "x y", "ö", "f-1")
KINDS: tuple[str, ...] = (
    "string",
    "int",
    "bigint",
    "struct<s: string, x: int>",
    "struct<`x y`: struct<s: string>, x: bigint>",
)
COLUMNS = (
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
    kinds: ClassVar[tuple[str, ...]] = KINDS

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
