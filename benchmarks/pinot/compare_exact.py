"""Exact queries of both and of the rows: equal answers, and documents read as the rules predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pinot.built_case import BuiltCase
from pinot.compared_answers import same_rows
from pinot.pinots_rules import documents_scanned
from pinot.raw_rows import RawRows
from pinot.running_pinot import RunningPinot
from pinot.star_tree_cases import ALL, QUERIES, Query
from starskip.star_tree.serving.answer_sql import answer_sql


@dataclass(frozen=True, slots=True)
class Read:
    """Reads of one query: Pinot's numDocsScanned with its tree and without, and our documents_read."""

    query: Query
    pinot: int
    pinot_without: int
    ours: int

    @property
    def text(self) -> str:
        """Pinot's and ours; a word where it is not documents of the tree."""
        theirs = f"{self.pinot}" if self.query.pinot_reads == "tree" else self.query.pinot_reads
        return f"{theirs}/{self.ours if self.query.we_read == 'tree' else self.query.we_read}"


def compare_exact(built: Sequence[BuiltCase], pinot: RunningPinot, raw: RawRows) -> list[str]:
    """Ask each tree all queries that it has the columns for, print what they read; return what is wrong."""
    print(
        "\nDocuments read, Pinot's numDocsScanned/our documents_read. Pinot counts the documents of a leaf\n"
        "after the predicates that remain there, we before; Pinot adds up its segments' trees.\n"
        "  rows      read from rows: OR of two dimensions; in Pinot also LIKE, and AND below OR\n"
        "  metadata  Pinot needs no document\n"
        f"  ALL       {ALL}\n"
    )
    print("  ".join(f"{each.case.name:>13}" for each in built) + "  query")
    problems: list[str] = []
    read: dict[str, list[Read]] = {each.case.name: [] for each in built}
    for query in QUERIES:
        cells = []
        for each in built:
            if not query.columns <= set(each.case.dimensions):
                cells.append("")
                continue
            found = _asked(query, each, pinot, raw, problems)
            read[each.case.name].append(found)
            cells.append(found.text)
        text = query.sql("t").removeprefix("SELECT ").removesuffix(" LIMIT 100000").replace(ALL, "ALL")
        print("  ".join(f"{cell:>13}" for cell in cells) + f"  {text.replace(' FROM t', '')}")
    for name, number in (
        ("documents read from both trees", _from_both),
        ("rows, without the tree", _without),
    ):
        print("  ".join(f"{number(found):>13}" for found in read.values()) + f"  in all: {name}")
    print(
        f"\n{len(QUERIES)} queries, {sum(map(len, read.values()))} answers of each: Pinot, Pinot without its "
        f"tree, ours, the rows (DuckDB). {len(problems)} differ or read something else than predicted."
    )
    return problems


def _from_both(read: Sequence[Read]) -> str:
    of_trees = [each for each in read if each.query.pinot_reads == each.query.we_read == "tree"]
    return f"{sum(each.pinot for each in of_trees)}/{sum(each.ours for each in of_trees)}"


def _without(read: Sequence[Read]) -> str:
    return str(sum(each.pinot_without for each in read))


def _asked(query: Query, each: BuiltCase, pinot: RunningPinot, raw: RawRows, problems: list[str]) -> Read:
    sql = query.sql(each.case.name)
    wanted = raw.ask(query.sql("lineitem"))
    theirs, without = pinot.ask(sql), pinot.ask(sql, use_star_tree=False)
    ours = answer_sql(each.trees, sql)

    def wrong(what: str) -> None:
        problems.append(f"{each.case.name}: {sql}\n    {what}")

    for name, found in (
        ("Pinot", theirs.rows),
        ("Pinot without tree", without.rows),
        ("we", rows_of(ours.table)),
    ):
        if not same_rows(found, wanted, is_ordered=bool(query.order)):
            wrong(f"{name}: {found[:2]}, the rows: {wanted[:2]}")
    if ours.star_tree != (query.we_read == "tree"):
        wrong(f"ours is not from the {query.we_read}: {ours.reason}")
    predicted, refused = _predicted(query, each, raw)
    if theirs.documents_scanned != predicted:
        wrong(f"Pinot scanned {theirs.documents_scanned} documents, predicted: {predicted}")
    is_same_tree = each.case.segments == 1 and query.we_read == query.pinot_reads == "tree"
    if is_same_tree and ours.documents_read != predicted + refused:
        wrong(
            f"we read {ours.documents_read} documents, predicted: {predicted} and {refused} refused in leaves"
        )
    return Read(query, theirs.documents_scanned, without.documents_scanned, ours.documents_read)


def _predicted(query: Query, each: BuiltCase, raw: RawRows) -> tuple[int, int]:
    """Return how many documents Pinot scans, and how many of leaves it refuses before."""
    if query.pinot_reads != "tree":
        return raw.matching(query.condition if query.pinot_reads == "rows" else ""), 0
    scanned = refused = 0
    for tree in each.of_segments:
        masks = {name: raw.mask(name, text, tree.dictionary(name)) for name, text in query.where.items()}
        kept, others = documents_scanned(tree, masks, query.group_by)
        scanned += kept
        refused += others
    return scanned, refused


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows of an answer, whose columns may have equal names."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
