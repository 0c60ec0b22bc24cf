"""Sample what random predicates are about: columns of indexes, functions of these, and values of all."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.column_name import column_name, column_path, quoted
from starskip.predicates.data_types import (
    FLOATS,
    NUMBERS,
    ORDERED,
    TIMES,
    family_of,
    literal_type_of,
)
from starskip.predicates.expression import Column, Literal
from starskip.predicates.expression_sql import expression_sql
from starskip.skipping.random_predicates import Operand
from starskip.spark.skipping.arrow_times import in_utc
from starskip.spark.skipping.failures import FAILURES
from starskip.spark.skipping.table_relation import FILE_PATH, data_types_of

_ROWS = 300
_FILES = 64
"""Files, about, whose least and greatest values are literals."""
_OTHERS = 8
"""Columns without an index that stand beside indexed ones."""
_VARIANTS = 3
"""Times that an expression with values of the table in it is asked for, with other values."""
_LONGEST = 4096
_NAME = "_starskip_{}"
_NAMED = re.compile(r"`_starskip_(\d+)`")
_TEXTS = (
    *("length({0})", "lower({0})", "upper({0})", "trim({0})", "substring({0}, 1, 3)", "right({0}, 2)"),
    *("try_cast({0} AS int)", "size(split({0}, ' '))", "octet_length({0})"),
)
_FUNCTIONS: Mapping[str, Sequence[str]] = {
    "numbers": ("cast({0} AS double)", "cast({0} AS string)", "{0} % 10", "sign({0})", "floor({0})"),
    "floats": ("isnan({0})", "abs({0})", "cast({0} AS float)"),
    "times": (
        "year({0})",
        "month({0})",
        "cast({0} AS date)",
        "cast({0} AS timestamp)",
        "trunc({0}, 'MONTH')",
    ),
    "string": _TEXTS,
    "binary": ("length({0})",),
    "boolean": ("NOT {0}",),
    "array": ("array_contains({0}, ?)", "array_contains({0}, ?)", "size({0})", "get({0}, 0)"),
    "map": ("size({0})",),
}
"""Functions of a column that raise no error on any row, by kind of column."""


@dataclass(frozen=True, slots=True)
class SampledOperands:
    """The operands of each index, and of other columns; their names stand for the SQL in ``sqls``."""

    indexed: Sequence[Sequence[Operand]]
    others: Sequence[Operand]
    sqls: Sequence[str]

    def text(self, predicate: str) -> str:
        """Return the SQL of a predicate, with expressions for the operands' names."""
        return _NAMED.sub(lambda named: self.sqls[int(named[1])], predicate)


@dataclass(frozen=True, slots=True)
class _Asked:
    """An expression to ask for; ``index``: its position among the indexes, None for another column."""

    index: int | None
    sql: str
    is_function: bool = False
    data_type: str = ""


def sampled_operands(by_file: DataFrame, metadata: TableMetadata, rng: random.Random) -> SampledOperands:
    """Return operands with values from two passes: some rows, and ends of some files (``FILE_PATH``)."""
    types = data_types_of(by_file.drop(FILE_PATH).schema)
    named = {name.lower(): name for name in types}
    columns = [
        (at, named.get(name.lower(), name))
        for at, index in enumerate(metadata.indexes)
        for name in index.columns
    ]
    indexed = {name for _, name in columns}
    free = [name for name, kind in types.items() if name not in indexed and family_of(kind) in ORDERED]
    others = rng.sample(free, min(_OTHERS, len(free)))
    plain = [_Asked(at, quoted(name), data_type=types[name]) for at, name in columns]
    plain += [_Asked(None, quoted(name), data_type=types[name]) for name in others]
    sample = _sample(by_file, [*indexed, *others], metadata, rng)
    try:
        values = _values(sample, plain)
        questions = []
        for at, index in enumerate(metadata.indexes):
            own = [(each, known) for each, known in zip(plain, values, strict=True) if each.index == at]
            asked = index.questions([each.sql for each, _ in own])
            questions += _variants(at, asked, *own[0], sample, rng) if own else []
            for each, known in own:
                texts = [form.format(each.sql) for form in _functions_of(each.data_type)]
                questions += _variants(at, texts, each, known, sample, rng)
        derived = list(_analysed(sample, {each.sql: each for each in questions}.values()))
        values += _values(sample, derived)
    finally:
        sample.unpersist()
    bounds = _bounds(by_file, plain, metadata.files, rng)
    every = [*plain, *derived]
    operands = [
        Operand(
            Column((_NAME.format(number),), each.data_type),
            values[number],
            bounds.get(number, ()),
            is_function=each.is_function,
        )
        for number, each in enumerate(every)
    ]
    of_index = [
        [operand for operand, each in zip(operands, every, strict=True) if each.index == at]
        for at in range(len(metadata.indexes))
    ]
    beside = [operand for operand, each in zip(operands, every, strict=True) if each.index is None]
    return SampledOperands(of_index, beside, [f"({each.sql})" for each in every])


def _sample(
    by_file: DataFrame, names: Sequence[str], metadata: TableMetadata, rng: random.Random
) -> DataFrame:
    """Return some rows, kept in memory; only with the named columns."""
    whole = dict.fromkeys(column_path(name)[0] for name in names)
    rows = by_file.select(*(sql.col(quoted(column_name((each,)))) for each in whole))
    total = metadata.total_rows or by_file.count()
    fraction = min(1.0, _ROWS / max(total, 1))
    # A limit would keep whichever rows arrive first: the same seed asks the same predicates.
    sampled = rows if fraction == 1.0 else rows.sample(fraction=fraction, seed=rng.randrange(1 << 31))
    return sampled.persist()


def _functions_of(data_type: str) -> Sequence[str]:
    family = family_of(data_type)
    if family in NUMBERS:
        return [*_FUNCTIONS["numbers"], *(_FUNCTIONS["floats"] if family in FLOATS else ())]
    return _FUNCTIONS.get("times" if family in TIMES else family.partition("<")[0], ())


def _variants(
    index: int,
    texts: Sequence[str],
    column: _Asked,
    known: Sequence[pa.Scalar],
    sample: DataFrame,
    rng: random.Random,
) -> list[_Asked]:
    """Return the expressions, each ``?`` in them replaced by a value of the column, or of its arrays."""
    if any("?" in each for each in texts) and column.data_type.startswith("array<"):
        of = column.data_type.removeprefix("array<").removesuffix(">")
        elements = sample.selectExpr(f"explode(slice({column.sql}, 1, 8)) AS element")
        known = _values(elements, [_Asked(None, "element", data_type=of)])[0]
    found = []
    for text in texts:
        if "?" not in text:
            found.append(_Asked(index, text, is_function=True))
        elif known:
            for _ in range(_VARIANTS):
                filled = re.sub(r"\?", lambda _: expression_sql(Literal(rng.choice(known))), text)
                found.append(_Asked(index, filled, is_function=True))
    return found


def _analysed(sample: DataFrame, asked: Iterable[_Asked]) -> Iterable[_Asked]:
    """Yield the expressions that Spark understands, with their types."""
    for each in asked:
        try:
            kind = sample.selectExpr(each.sql).schema[0].dataType.simpleString()
        except FAILURES:
            continue
        yield _Asked(each.index, each.sql, True, kind)


def _values(sample: DataFrame, asked: Sequence[_Asked]) -> list[tuple[pa.Scalar, ...]]:
    """Return the distinct values of expressions in the sample; an expression that fails has none."""
    compared = [number for number, each in enumerate(asked) if literal_type_of(each.data_type) is not None]
    found: dict[int, tuple[pa.Scalar, ...]] = {}
    waiting = [compared] if compared else []
    while waiting:
        mine = waiting.pop()
        try:
            rows = in_utc(
                sample.select(
                    *(sql.expr(_cut(asked[n].sql, asked[n].data_type)).alias(str(n)) for n in mine)
                ).toArrow()
            )
        except FAILURES:
            if len(mine) > 1:
                waiting += [mine[:1], mine[1:]] if len(mine) < 4 else [mine[::2], mine[1::2]]
            continue
        found |= {n: _scalars(rows[str(n)], asked[n].data_type) for n in mine}
    return [found.get(number, ()) for number in range(len(asked))]


def _bounds(
    by_file: DataFrame, plain: Sequence[_Asked], files: int, rng: random.Random
) -> dict[int, tuple[pa.Scalar, ...]]:
    """Return least and greatest values of some files, by position of the column."""
    ordered = [
        number
        for number, each in enumerate(plain)
        if family_of(each.data_type) in ORDERED and literal_type_of(each.data_type) is not None
    ]
    if not ordered:
        return {}
    part = max(1, files // _FILES)
    some = by_file
    if part > 1:
        chosen = sql.pmod(sql.xxhash64(sql.col(FILE_PATH)), sql.lit(part)) == rng.randrange(part)
        some = by_file.where(chosen)
    ends = [
        sql.expr(_cut(f"{end}({plain[number].sql})", plain[number].data_type)).alias(f"{end}_{number}")
        for number in ordered
        for end in ("min", "max")
    ]
    rows = in_utc(some.groupBy(FILE_PATH).agg(*ends).toArrow())
    return {
        number: tuple(
            value
            for end in ("min", "max")
            for value in _scalars(rows[f"{end}_{number}"], plain[number].data_type)
        )
        for number in ordered
    }


def _cut(expression: str, data_type: str) -> str:
    """Return the SQL of a value that is cut where it is too long for a literal: it may be of any length."""
    is_long = family_of(data_type) in ("string", "binary", "collated")
    return f"substring({expression}, 1, {_LONGEST + 1})" if is_long else expression


def _scalars(column: pa.ChunkedArray, data_type: str) -> tuple[pa.Scalar, ...]:
    """Return the distinct values, in an order that does not depend on that of rows."""
    kind = literal_type_of(data_type)
    known = pc.unique(column.combine_chunks().cast(kind)).drop_null()
    is_long = pa.types.is_string(known.type) or pa.types.is_binary(known.type)
    short = known.filter(pc.less_equal(pc.binary_length(known), _LONGEST)) if is_long else known
    return tuple(short.take(pc.array_sort_indices(short)))
