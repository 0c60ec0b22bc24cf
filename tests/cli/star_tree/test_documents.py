r"""``starskip star-tree build`` and ``documents``: what is printed, in what order and in which form."""

from __future__ import annotations

import base64
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from typing import Any

import datasketches
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from seed_example import CONFIG, ROWS
from starskip.star_tree import document_rows

SEED_DOCUMENTS = """\
Country,Browser,Locale,SUM__Impressions
CA,Chrome,en,400
CA,Firefox,fr,200
MX,Safari,en,100
MX,Safari,es,300
USA,Chrome,en,600
USA,Firefox,en,400
USA,Firefox,es,200
CA,*,en,400
CA,*,fr,200
CA,*,*,600
MX,Safari,*,400
USA,Firefox,*,600
USA,*,en,1000
USA,*,es,200
USA,*,*,1200
*,Chrome,en,1000
*,Firefox,en,400
*,Firefox,es,200
*,Firefox,fr,200
*,Firefox,*,800
*,Safari,en,100
*,Safari,es,300
*,Safari,*,400
*,*,en,1500
*,*,es,500
*,*,fr,200
*,*,*,2200
"""
"""Star-tree index, "Star-Tree documents", as interfaces.md has it printed."""


def test_the_seeds_rows_give_its_27_documents(star_tree: Any) -> None:
    result = star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG)
    assert result.stdout.splitlines()[0] == "tree 1: 7 rows -> 27 documents"
    assert star_tree.documents() == SEED_DOCUMENTS


@pytest.mark.parametrize("form", ["backwards", "parquet", "folder", "twice"])
def test_neither_files_nor_the_order_of_rows_matter(star_tree: Any, form: str) -> None:
    header, *rows = ROWS.splitlines(keepends=True)
    if form == "backwards":
        source = star_tree.write("seed.csv", header + "".join(reversed(rows)))
    elif form == "parquet":
        source = star_tree.write("seed.parquet", pa_csv.read_csv(pa.BufferReader(ROWS.encode())))
    else:
        star_tree.write("seed/x/1.csv", header + "".join(rows[4:]))
        source = star_tree.write("seed/2.csv", header + "".join(rows[:4])).parent
    if form == "twice":
        star_tree.built(star_tree.write("other/seed.csv", header + rows[0]), CONFIG)
    star_tree.built(source, CONFIG)
    assert star_tree.documents() == SEED_DOCUMENTS


@pytest.mark.parametrize("documents_at_once", [1, 2, 26, 27, 28])
def test_documents_are_printed_some_at_a_time(
    star_tree: Any, monkeypatch: pytest.MonkeyPatch, documents_at_once: int
) -> None:
    monkeypatch.setattr(document_rows, "_DOCUMENTS_AT_ONCE", documents_at_once)
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG)
    assert star_tree.documents() == SEED_DOCUMENTS


def test_trees_of_one_table_are_printed_by_their_number(star_tree: Any, tree_config: Any) -> None:
    first, second = tree_config("Country", "MAX__Impressions"), tree_config("Locale", "COUNT__*")
    star_tree.built(star_tree.write("seed.csv", ROWS), [first, second], CONFIG)
    expected = "Country,MAX__Impressions\nCA,400\nMX,300\nUSA,600\n*,600\n"
    assert star_tree.documents() == star_tree.documents("--tree", "1") == expected
    assert star_tree.documents("--tree", "2") == "Locale,COUNT__*\nen,4\nes,2\nfr,1\n*,7\n"
    assert star_tree.documents("--tree", "3") == SEED_DOCUMENTS
    result = star_tree.call("star-tree", "documents", star_tree.tree, "--tree", "4")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.endswith("there is no tree 4; it has 3 trees\n")


def test_a_star_in_the_data_null_and_the_empty_text_are_told_apart(star_tree: Any, tree_config: Any) -> None:
    texts = ["*", None, "", "N", "\\N", "\\*", "a,b", "é", "Z", "a"]
    rows = pa.table({"t": texts, "m": [1 << n for n in range(10)]})
    star_tree.built(star_tree.write("t.parquet", rows), tree_config("t", "SUM__m MIN__t"))
    assert star_tree.documents() == (
        "t,SUM__m,MIN__t\n"
        ",4,\n"
        "\\*,1,\\*\n"
        "N,8,N\n"
        "Z,256,Z\n"
        "\\\\*,32,\\\\*\n"
        "\\\\N,16,\\\\N\n"
        "a,512,a\n"
        '"a,b",64,"a,b"\n'
        "é,128,é\n"
        "\\N,2,\\N\n"
        "*,1023,\n"
    )


def test_every_text_can_be_read_back(star_tree: Any, tree_config: Any) -> None:
    texts = ["".join(letters) for length in range(5) for letters in product("\\*N\n", repeat=length)]
    star_tree.built(star_tree.write("t.parquet", pa.table({"t": texts})), tree_config("t", "COUNT__*"))
    *cells, star = [cell for cell, _ in star_tree.cells()]
    assert star == "*" and not {"*", "\\N"} & set(cells)
    read = [cell[1:] if cell.startswith("\\") and cell.lstrip("\\") in ("*", "N") else cell for cell in cells]
    assert read == sorted(texts)


def test_avg_is_sum_and_count_and_minmaxrange_is_min_and_max(star_tree: Any, tree_config: Any) -> None:
    rows = "a,whole,price\nx,3,0.5\nx,-4,\nx,,2\ny,,\n"
    pairs = "AVG__whole MINMAXRANGE__whole AVG__price MINMAXRANGE__price COUNT__whole COUNT__*"
    star_tree.built(star_tree.write("t.csv", rows), tree_config("a", pairs))
    assert star_tree.documents() == (
        "a,AVG__whole,MINMAXRANGE__whole,AVG__price,MINMAXRANGE__price,COUNT__whole,COUNT__*\n"
        "x,-1|2,-4|3,2.5|2,0.5|2,2,3\n"
        "y,\\N|0,\\N|\\N,\\N|0,\\N|\\N,0,1\n"
        "*,-1|2,-4|3,2.5|2,0.5|2,2,4\n"
    )


VALUES: dict[str, tuple[pa.DataType, list[tuple[Any, str]]]] = {
    "whole": (pa.int64(), [(-(2**63), "-9223372036854775808"), (2, "2"), (10, "10")]),
    "double": (
        pa.float64(),
        [
            (-math.inf, "-inf"),
            (-0.5, "-0.5"),
            (0.0, "0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (400.0, "400"),
            (1e300, "1e+300"),
            (math.inf, "inf"),
            (math.nan, "nan"),
        ],
    ),
    "float": (pa.float32(), [(0.1, "0.1"), (400.0, "400")]),
    "decimal": (pa.decimal128(9, 2), [(Decimal("-3.25"), "-3.25"), (Decimal(0), "0"), (Decimal(100), "100")]),
    "bool": (pa.bool_(), [(False, "false"), (True, "true")]),
    "date": (pa.date32(), [(date(1969, 12, 31), "1969-12-31"), (date(2024, 2, 29), "2024-02-29")]),
    "time": (
        pa.timestamp("us"),
        [
            (datetime(2024, 2, 29, 1, 2, 3), "2024-02-29T01:02:03"),
            (datetime(2024, 2, 29, 1, 2, 3, 40), "2024-02-29T01:02:03.000040"),
        ],
    ),
    "zone": (pa.timestamp("us", "UTC"), [(datetime(2024, 2, 29, tzinfo=UTC), "2024-02-29T00:00:00+00:00")]),
    "bytes": (pa.binary(), [(b"\x00\xff", "AP8="), (b"*", "Kg==")]),
    "text": (pa.string(), [("10", "10"), ("2", "2"), ("~", "~"), ("\uffff", "\uffff"), ("😀", "😀")]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_stand_in_the_order_of_their_type_and_in_its_form(
    star_tree: Any, tree_config: Any, kind: str
) -> None:
    arrow_type, values = VALUES[kind]
    given = [None, *(value for value, _ in reversed(values))]
    rows = pa.table({"d": pa.array(given, arrow_type)})
    star_tree.built(star_tree.write("t.parquet", rows), tree_config("d", "COUNT__* MAX__d"))
    counted = [[form, "1", form] for _, form in values]
    assert star_tree.cells() == [*counted, ["\\N", "1", "\\N"], ["*", str(len(given)), values[-1][1]]]


def test_sketches_are_base64_that_their_library_reads(star_tree: Any, tree_config: Any) -> None:
    pairs = "DISTINCTCOUNTHLL__name PERCENTILEEST__m PERCENTILETDIGEST__m"
    rows = pa.table({"d": ["x"] * 5, "name": ["a", "b", "c", "a", None], "m": [1, 2, 3, 4, 5]})
    star_tree.built(star_tree.write("t.parquet", rows), tree_config("d", pairs))
    ((value, *sketches),) = star_tree.cells()
    names, ranks, digest = [base64.b64decode(each, validate=True) for each in sketches]
    assert value == "x"
    assert round(datasketches.hll_sketch.deserialize(names).get_estimate()) == 3
    assert datasketches.kll_doubles_sketch.deserialize(ranks).get_quantile(0.5, True) == 3
    assert datasketches.tdigest_double.deserialize(digest).get_total_weight() == 5


def test_a_column_is_cast(star_tree: Any, tree_config: Any) -> None:
    source = star_tree.write("t.csv", "code,price\n010,1.10\n9,2.20\n")
    configs = tree_config("code", "SUM__price")
    star_tree.built(source, configs)
    assert star_tree.cells() == [["9", "2.2"], ["10", "1.1"], ["*", "3.3000000000000003"]]
    casts = ("--cast", "code=string", "--cast", "price=decimal(12,2)")
    star_tree.built(source, configs, options=casts)
    assert star_tree.cells() == [["010", "1.1"], ["9", "2.2"], ["*", "3.3"]]


def test_a_table_without_rows_prints_its_header(star_tree: Any, tree_config: Any) -> None:
    star_tree.built(star_tree.write("t.csv", "a,b\n"), tree_config("a b", "COUNT__*"))
    assert star_tree.documents() == "a,b,COUNT__*\n"
