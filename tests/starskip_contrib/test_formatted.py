"""Names of user agents: indexed by what the user's own function says, of the same version only."""

from __future__ import annotations

import pyarrow as pa
import pytest
from skipping_law.files_metadata import Collected, Files, collected, files_matching, files_read
from skipping_law.written import negated
from starskip.errors import ConfigError
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip_contrib.formatted import Formatted
from starskip_contrib.user_agents import get_agent_name

CHROME = "Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0"
FILES = Files.of(pa.string(), [CHROME, FIREFOX, None], ["curl/8.4.0"], ["", "what?"], [None], [FIREFOX])
INDEX = Formatted(["c"], ["user_agent"])
NAME = Call("udf:getagentname", (Column(("c",), "string"),))


def is_named(*names: str) -> Expression:
    if len(names) > 1:
        return Call("In", (NAME, LiteralSet(pa.array(names))))
    return Call("EqualTo", (NAME, Literal(pa.scalar(names[0]))))


def test_names():
    agents = [CHROME, FIREFOX, "curl/8.4.0", "", "what?", None, "x" * 10_000_000]
    names = ["Chrome", "Firefox", "curl", "Other", "Other", None, "Other"]
    assert [get_agent_name(each) for each in agents] == names


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        (is_named("Firefox"), [True, False, False, False, True]),
        (is_named("Other", "curl"), [False, True, True, False, False]),
        (negated(is_named("Firefox")), [True, True, True, False, False]),
        (Call("StartsWith", (NAME, Literal(pa.scalar("Chr")))), [True, False, False, False, False]),
        (Call("EqualTo", (Literal(pa.scalar("Hacker")), NAME)), [False] * 5),
        (Call("IsNotNull", (NAME,)), [True, True, True, False, True]),
        (Call("IsNull", (NAME,)), [True] * 5),
    ],
)
def test_files_without_the_agent_are_skipped(predicate, wanted):
    read = files_read(predicate, [INDEX], collected([INDEX], FILES))
    assert read == wanted
    matching = files_matching(predicate, FILES, {"udf:getagentname": get_agent_name})
    assert all(r or not m for r, m in zip(read, matching, strict=True))


def test_names_of_another_version_are_not_known():
    metadata = collected([INDEX], FILES)
    table = dict(metadata.tables[INDEX.specification])
    table["version"] = pa.array([*table["version"].to_pylist()[:3], "ua-parser 0.9", None])
    older = Collected(5, {INDEX.specification: table})
    assert files_read(is_named("curl"), [INDEX], older) == [False, True, False, True, True]


def test_another_function_or_column_is_not_known():
    for call in (
        Call("udf:getagentversion", NAME.arguments),
        Call("udf:getagentname", (Column(("d",), "string"),)),
        Call("udf:getagentname", (*NAME.arguments, Literal(pa.scalar(1)))),
    ):
        assert INDEX.label(Call("EqualTo", (call, Literal(pa.scalar("curl"))))) is None


def test_bytes_that_are_no_text_are_named_as_spark_hands_them_over():
    texts = pa.record_batch({"values": pa.array([b"curl/8.4.0\xff"], pa.binary()).view(pa.string())})
    collector = INDEX.collector(texts.schema)
    collector.add(texts)
    assert INDEX.finish(pa.table(dict(collector.result())))["values"].to_pylist() == [["curl"]]


def test_a_format_that_is_not_known():
    with pytest.raises(ConfigError, match="one of user_agent"):
        Formatted(["c"], ["url"])
