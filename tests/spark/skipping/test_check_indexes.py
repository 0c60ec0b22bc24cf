"""Index types held against a scan: right ones pass, and each lossy one is found and named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession
from skipping_tables import aged
from starskip.cli.main import main
from starskip.skipping import registry
from starskip.spark.skipping.check_indexes import check_indexes

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "curl/8.5.0")
BUILT_IN = (
    *("minmax:d", "nulls:i", "valuelist:s", "bloom:s", "hybrid:i", "prefix:s:2", "suffix:s:2", "gaplist:i:3"),
    *("geobox:lat,lng", "elements:tags", "mapvalue:m:k", "ngrams:s", "partition:day", "minmax:st.x"),
    *("metricdist:lat,lng:euclidean", "metricdist:s:levenshtein", "formatted:agent:user_agent"),
    *("formatted:url:url_host", "formatted:url:email_domain", "ipnetworks:ip:2", "geometrybox:shape"),
)
MODULE = """import pyarrow as pa
from starskip.predicates.expression import Call, Literal, LiteralSet
from starskip.skipping.clause import NoFile
from starskip.skipping.index_types.min_max import MinMax
from starskip.skipping.index_types.null_count import NullCount
from starskip.skipping.index_types.value_list import ValueList
from starskip.skipping.registry import register


def literal_text(node):
    return repr(getattr(node.right, "python", ""))


class Wrong(MinMax):
    def label(self, node):
        changed = self.changed(node) if isinstance(node, Call) else None
        return super().label(node) if changed is None else changed

    def asked(self, node):
        return super().label(node)


@register
class Right(MinMax):
    kind = "right"


@register
class Silent(MinMax):
    kind = "silent"

    def label(self, node):
        return None


@register
class LosesIn(Wrong):
    kind = "loses_in"

    def changed(self, node):
        if node.name == "In" and len(node.right.values) > 1:
            return self.asked(Call("In", (node.left, LiteralSet(node.right.values[:1]))))


@register
class OffByOne(Wrong):
    kind = "off_by_one"

    def changed(self, node):
        if node.name == "LessThanOrEqual":
            return self.asked(Call("LessThan", node.arguments))


@register
class LosesNan(Wrong):
    kind = "loses_nan"

    def changed(self, node):
        if node.name == "EqualTo" and self.is_of(node.left) and literal_text(node) == "nan":
            return NoFile()


@register
class LosesZero(Wrong):
    kind = "loses_zero"

    def changed(self, node):
        if node.name == "EqualTo" and self.is_of(node.left) and literal_text(node) == "-0.0":
            return NoFile()


@register
class LosesNull(NullCount):
    kind = "loses_null"

    def label(self, node):
        if isinstance(node, Call) and node.name == "IsNull" and self.is_of(node.left):
            return NoFile()
        return super().label(node)


@register
class SmallLetters(ValueList):
    kind = "small_letters"

    def label(self, node):
        match node:
            case Call("EqualTo", (column, Literal() as text)) if self.is_of(column):
                node = Call("EqualTo", (column, Literal(pa.scalar(str(text.python).lower()))))
        return super().label(node)


@register
class NoInfix(ValueList):
    kind = "no_infix"

    def label(self, node):
        match node:
            case Call("Contains", arguments) if self.is_of(arguments[0]):
                node = Call("StartsWith", arguments)
        return super().label(node)


@register
class Complement(Wrong):
    kind = "complement"

    def changed(self, node):
        match node:
            case Call("Not", (Call("EqualTo", _) as inner,)):
                return self.asked(inner)


@register
class Raises(MinMax):
    kind = "raises"

    def label(self, node):
        if isinstance(node, Call) and node.name == "In":
            return {}["no such thing"]
        return super().label(node)


@register
class CannotCollect(MinMax):
    kind = "cannot_collect"

    def aggregates(self, columns):
        return {"most": "max(no_such_function(1))"}
"""
WRONG = (
    *("loses_in:i", "off_by_one:i", "loses_nan:d", "loses_zero:d", "loses_null:i", "small_letters:s"),
    *("no_infix:s", "complement:i"),
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checked")
    for number in range(6):
        write(folder / f"{number}.parquet", number)
    aged(folder)
    return folder


def write(path: Path, number: int, rows: int = 60) -> None:
    rng = np.random.default_rng(number)
    few = rng.integers(0, 9, rows)
    doubles = rng.normal(number * 10, 3, rows)
    doubles[:2] = (np.nan, 0.0) if number % 2 else (number, number)
    texts = [f"{('Alpha', 'beta', 'GAMMA', '%x_', 'é😀', '')[(number + each) % 6]}{each}" for each in few]
    day = datetime(2026, 11, number + 1, tzinfo=UTC).date()
    columns = {
        "i": pa.array(few + number * 7, pa.int32(), mask=rng.random(rows) < number % 2 / 5),
        "d": pa.array(doubles),
        "s": pa.array(texts, mask=rng.random(rows) < 0.1),
        "day": pa.array([day] * rows),
        "dec": pa.array([Decimal(int(each)) / 100 for each in few]).cast(pa.decimal128(10, 2)),
        "flag": pa.array(few < number),
        "st": pa.array([{"x": int(each) + number * 20, "y z": "k"} for each in few]),
        "tags": pa.array([[f"t{number * 3 + each}"] * (each % 3) for each in few]),
        "m": pa.array([[("k", int(each) + number * 5)] for each in few], pa.map_(pa.string(), pa.int32())),
        "lat": pa.array(number * 9 + rng.random(rows) * 5),
        "lng": pa.array(number * 8 + rng.random(rows) * 5),
        "ip": pa.array([f"10.{number}.0.{each}" for each in few]),
        "agent": pa.array([AGENTS[number % 2]] * rows),
        "url": pa.array([f"http://h{number}.org/{each}@{number}.de" for each in few]),
        "shape": pa.array([f"POINT ({number * 5 + each} {number * 5})" for each in few]),
    }
    pq.write_table(pa.table(columns), path)


@pytest.fixture
def own_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(registry, "_types", dict(registry._types))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "lossy_types.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield "lossy_types"
    sys.modules.pop("lossy_types", None)


def checked(table: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["skipping", "check", str(table), *arguments])


def test_all_types_that_come_along_pass_and_skip(spark: SparkSession, table: Path) -> None:
    before = sorted(table.rglob("*"))
    found = check_indexes(spark, str(table), BUILT_IN, predicates=50 * len(BUILT_IN), seed=20261129)
    assert (found.predicates, found.wrong, found.faults) == (50 * len(BUILT_IN), 0, {})
    assert found.never_skipped == [], found.skipped
    assert sorted(table.rglob("*")) == before


def test_each_lossy_type_is_found(spark: SparkSession, table: Path, own_types: str) -> None:
    sys.path.insert(0, str(Path.cwd()))
    registry.load_modules([own_types])
    indexes = ["right:i", "silent:i", *WRONG]
    found = check_indexes(spark, str(table), indexes, predicates=200 * len(indexes), seed=7)
    assert found.never_skipped == ["silent:i"]
    assert {*WRONG} <= found.faults.keys()
    assert not {"right:i", "silent:i"} & found.faults.keys()
    assert found.wrong >= len(WRONG)


def test_the_command_names_predicate_file_and_index(spark: SparkSession, table: Path, own_types: str) -> None:
    done = checked(table, "--index", "off_by_one:i", "--types", own_types, "--seed", "11")
    assert done.exit_code == 3
    document = json.loads(done.stdout)
    assert (document["predicates"], document["seed"]) == (400, 11) and document["wrong"] > 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("starskip: off_by_one:i: skips file:") and " <= " in line
    assert ".parquet, which has " in line and line.endswith("(--seed 11 --predicates 400)")
    asked = ("--types", own_types, "--predicates", "100")
    done = checked(table, "--index", "right:i", "--index", "silent:i", *asked)
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert (document["predicates"], document["wrong"]) == (100, 0)
    assert done.stderr.startswith("silent:i: never skipped a file")
    for index, what in (
        ("raises:i", "raises:i: raised KeyError: 'no such thing'; asked WHERE "),
        ("cannot_collect:i", "cannot_collect:i: cannot be made: "),
    ):
        done = checked(table, "--index", index, *asked)
        assert (done.exit_code, done.stdout) == (3, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"starskip: {what}")
