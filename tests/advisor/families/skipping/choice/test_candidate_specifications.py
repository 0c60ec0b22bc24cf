"""Index types that are tried, by predicate."""

from __future__ import annotations

import pyarrow as pa
import pytest
from starskip.advisor.families.skipping.choice.candidate_specifications import (
    CandidateIndex,
    candidate_specifications,
)
from starskip.advisor.families.skipping.choice.column_uses import column_uses
from starskip.file_metadata.skipping_engine import ColumnMeans
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.skipping.index_types.hybrid import hybrid_threshold
from starskip.skipping.registry import index_from_specification

pytestmark = pytest.mark.slow

CITY = Column(("address", "city"), "string")
TIME = Column(("ts",), "timestamp")
LAT, LNG = Column(("lat",), "double"), Column(("lng",), "double")
AGENT = Column(("agent",), "string")
FEW, MANY = ColumnMeans(distinct_values=20, value_bytes=10), ColumnMeans(distinct_values=1e6, value_bytes=10)


def lit(value: object) -> Literal:
    return Literal(pa.scalar(value))


def call(name: str, *arguments: object) -> Call:
    made = [
        item if isinstance(item, Column | Literal | LiteralSet | Call) else lit(item) for item in arguments
    ]
    return Call(name, tuple(made))


def both(*legs: Expression) -> Expression:
    return legs[0] if len(legs) == 1 else Call("And", (legs[0], both(*legs[1:])))


def box(low: float = 1.0, high: float = 2.0, first: Column = LAT, second: Column = LNG) -> Expression:
    return both(
        *(
            call(name, column, bound)
            for column in (first, second)
            for name, bound in (("GreaterThanOrEqual", low), ("LessThanOrEqual", high))
        )
    )


def found(
    *predicates: Expression,
    facts: ColumnMeans | None = None,
    weights: list[float] | None = None,
    column: str = "address.city",
    **more: object,
) -> list[CandidateIndex]:
    known = {} if facts is None else {column: facts}
    given = weights or [1.0] * len(predicates)
    return list(candidate_specifications(predicates, given, known, file_bytes=64e6, **more))


def specifications(*predicates: Expression, facts: ColumnMeans | None = None, **more: object) -> set[str]:
    return {item.specification for item in found(*predicates, facts=facts, **more)}


def kinds(*predicates: Expression, facts: ColumnMeans | None = None) -> set[str]:
    return {item.split(":")[0] for item in specifications(*predicates, facts=facts)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (FEW, {"minmax", "valuelist"}),
        (MANY, {"minmax", "bloom", "hybrid"}),
        (None, {"minmax", "hybrid"}),
    ],
)
def test_equality_by_the_number_of_values(facts: ColumnMeans | None, expected: set[str]) -> None:
    assert kinds(call("EqualTo", CITY, "Pur"), facts=facts) == expected
    assert kinds(call("In", CITY, LiteralSet(pa.array(["a", "b"]))), facts=facts) == expected


def test_near_the_limit_both_are_tried() -> None:
    limit = hybrid_threshold(64e6, 80)
    facts = ColumnMeans(distinct_values=0.8 * limit, value_bytes=10)
    assert {"valuelist", "bloom", "hybrid"} <= kinds(call("EqualTo", CITY, "Pur"), facts=facts)


def test_threshold_of_the_seeds_example_is_handed_to_the_hybrid() -> None:
    """Extensible Data Skipping, IV-E: files of 64 MB, texts of 64 characters: 10,088 values."""
    facts = ColumnMeans(distinct_values=20_000, value_bytes=64)
    assert "hybrid:address.city:10088" in specifications(call("EqualTo", CITY, "Pur"), facts=facts)


def test_point_may_lie_in_a_gap() -> None:
    assert {"gaplist:ts:4", "gaplist:ts:16"} <= specifications(call("EqualTo", TIME, 5))


def test_each_specification_names_an_index() -> None:
    predicates = [
        call("EqualTo", CITY, "a"),
        call("StartsWith", CITY, "abc"),
        call("EndsWith", CITY, "abc"),
        call("IsNull", CITY),
        both(call("LessThan", TIME, 5), call("GreaterThan", TIME, 1)),
        box(),
    ]
    for facts in (FEW, MANY, None):
        for text in specifications(*predicates, facts=facts):
            assert index_from_specification(text).specification == text


def test_two_sided_range_has_gaps_and_one_sided_has_none() -> None:
    below = call("LessThan", TIME, 5)
    assert specifications(below) == {"minmax:ts"}
    window = both(below, call("GreaterThan", TIME, 1))
    assert specifications(window) == {"minmax:ts", "gaplist:ts:4", "gaplist:ts:16"}
    assert specifications(Call("Or", (below, call("GreaterThan", TIME, 1)))) == {"minmax:ts"}


def test_texts_have_gaps_for_ranges_and_prefixes() -> None:
    gaps = {"gaplist:address.city:4", "gaplist:address.city:16"}
    window = both(call("GreaterThanOrEqual", CITY, "b"), call("LessThan", CITY, "c"))
    assert specifications(window) == {"minmax:address.city", *gaps}
    for pattern in (call("StartsWith", CITY, "Pu"), call("Like", CITY, "Pu%")):
        assert gaps <= specifications(pattern)
    for other in (call("EqualTo", CITY, "Pur"), call("EndsWith", CITY, "Pu"), call("LessThan", CITY, "c")):
        assert not gaps & specifications(other)
    binary = Column(("raw",), "binary")
    window = both(call("GreaterThan", binary, b"\x01"), call("LessThan", binary, b"\x02"))
    assert {"gaplist:raw:4", "gaplist:raw:16"} <= specifications(window)
    day = Column(("day",), "date")
    assert {"gaplist:day:4", "gaplist:day:16"} <= specifications(call("EqualTo", day, 5))


def test_lengths_of_prefixes_are_quarters_of_the_patterns() -> None:
    patterns = [call("StartsWith", CITY, "x" * length) for length in (3, 5, 9, 12)]
    assert {item for item in specifications(*patterns) if item.startswith("prefix")} == {
        f"prefix:address.city:{length}" for length in (3, 5, 9, 12)
    }
    many = [call("StartsWith", CITY, "x" * length) for length in range(1, 201)]
    lengths = sorted(int(item.split(":")[2]) for item in specifications(*many) if item.startswith("prefix"))
    assert lengths == [50, 100]


def test_suffix_is_asked_by_like_and_by_ends_with() -> None:
    assert "suffix:address.city:3" in specifications(call("EndsWith", CITY, "Pur"))
    assert "suffix:address.city:3" in specifications(call("Like", CITY, "%_Pur"))
    assert "prefix:address.city:2" in specifications(call("Like", CITY, "Ja_pur%"))


TAGS, PROPS = Column(("tags",), "array<string>"), Column(("m",), "map<string,string>")
SHAPE = Column(("shape",), "binary")
SQUARE = "POLYGON ((0 0, 1 0, 1 1, 0 1, 0 0))"


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (call("ArrayContains", TAGS, "a"), {"elements:tags"}),
        (call("EqualTo", call("GetMapValue", PROPS, "k"), "v"), {"mapvalue:m:k"}),
        (call("EqualTo", call("ElementAt", PROPS, "a:b"), "v"), {"mapvalue:m:a:b"}),
        (call("EqualTo", call("ElementAt", PROPS, "a:1"), "v"), {"mapvalue:m:a:1:10000"}),
        (call("EqualTo", call("GetMapValue", PROPS, ""), "v"), set()),
        (
            call("EqualTo", call("GetJsonObject", AGENT, "$.a"), "v"),
            {"formatted:agent:json_path:$.a"},
        ),
        (
            call(
                "EqualTo", Call("SubstringIndex", (AGENT, lit("@"), Literal(pa.scalar(-1, pa.int32())))), "v"
            ),
            {"formatted:agent:email_domain"},
        ),
        (
            call(
                "EqualTo", Call("SubstringIndex", (AGENT, lit("@"), Literal(pa.scalar(1, pa.int32())))), "v"
            ),
            set(),
        ),
        (
            call("EqualTo", call("Invoke", Call("ParseUrlEvaluator"), AGENT, "HOST", '"evaluate"'), "v"),
            {"formatted:agent:url_host"},
        ),
        (call("udf:ip_in_network", AGENT, "10.0.0.0/8"), {"ipnetworks:agent"}),
        (call("udf:st_within", SHAPE, SQUARE), {"geometrybox:shape"}),
        (call("LessThan", call("udf:st_distance", SHAPE, SQUARE), 2.0), {"geometrybox:shape"}),
        (call("Like", AGENT, "%needle%", "\\"), {"ngrams:agent", "valuelist:agent"}),
    ],
)
def test_what_a_function_gives_of_a_column_has_an_index_of_its_own(
    predicate: Expression, expected: set[str]
) -> None:
    assert specifications(predicate) == expected


def test_infix_is_known_by_a_list_of_values_only() -> None:
    assert kinds(call("Contains", CITY, "ai"), facts=FEW) == {"valuelist"}
    assert kinds(call("Contains", CITY, "ai"), facts=MANY) == set()
    assert kinds(call("Contains", CITY, "air"), facts=MANY) == {"ngrams"}
    assert kinds(call("Contains", CITY, "ai")) == {"valuelist"}


def test_nulls_are_indexed_where_they_are_asked_for() -> None:
    assert specifications(call("IsNull", CITY)) == {"nulls:address.city"}
    assert specifications(call("IsNotNull", CITY)) == {"nulls:address.city"}
    assert specifications(call("IsNull", CITY), facts=ColumnMeans(has_nulls=False)) == set()


def test_is_not_null_that_spark_adds_is_none() -> None:
    assert "nulls:ts" not in specifications(both(call("IsNotNull", TIME), call("LessThan", TIME, 5)))


def test_coordinates_that_are_bounded_together() -> None:
    assert "geobox:lat,lng" in specifications(box())
    assert "geobox:lat,lng" in specifications(box(first=LNG, second=LAT))
    plain = box(first=Column(("x",), "double"), second=Column(("y",), "double"))
    assert "geobox:x,y" in specifications(plain)
    apart = Call("Or", (both(*[call("LessThan", LAT, 1.0)]), call("LessThan", LNG, 1.0)))
    assert not any(item.startswith("geobox") for item in specifications(apart))


def test_geospatial_function_names_its_columns() -> None:
    point = call("udf:st_point", LAT, LNG)
    assert specifications(call("udf:st_contains", "POLYGON(...)", point)) == {"geobox:lat,lng"}


def test_what_an_implication_says_is_looked_at_too() -> None:
    def implied(node: Expression) -> Expression | None:
        return box() if isinstance(node, Call) and node.name == "udf:st_contains" else None

    contains = call("udf:st_contains", "POLYGON(...)", call("udf:st_point", LAT, LNG))
    specified = specifications(contains, implications=(implied,))
    assert {"geobox:lat,lng", "minmax:lat", "minmax:lng"} <= specified
    (geobox,) = (item for item in found(contains, implications=(implied,)) if "geobox" in item.specification)
    assert geobox.weight == 1.0


def test_agent_names_and_distances() -> None:
    hacker = call("EqualTo", call("udf:getagentname", AGENT), "Hacker")
    assert specifications(hacker) == {"formatted:agent:user_agent"}
    begins = call("StartsWith", call("udf:getagentname", AGENT), "Hack")
    assert specifications(begins) == {"formatted:agent:user_agent"}
    near = call("LessThan", call("udf:levenshtein_distance", AGENT, "abc"), 3)
    assert specifications(near) == {"metricdist:agent:levenshtein"}
    assert specifications(call("LessThan", call("Levenshtein", AGENT, CITY), 3)) == set()


def test_collated_texts_and_unknown_functions_have_no_candidate() -> None:
    collated = Column(("c",), "string collate UNICODE")
    assert specifications(call("EqualTo", collated, "a")) == set()
    assert specifications(call("EqualTo", call("Cast", CITY), "a")) == set()


def test_weights_are_summed_by_query_and_the_heaviest_comes_first() -> None:
    twice = Call("Or", (call("EqualTo", CITY, "a"), call("EqualTo", CITY, "b")))
    answers = found(twice, call("LessThan", TIME, 5), call("LessThan", TIME, 6), weights=[5.0, 2.0, 4.0])
    weights = {item.specification: item.weight for item in answers}
    assert weights["minmax:address.city"] == 5.0
    assert weights["minmax:ts"] == 6.0
    assert answers[0].specification == "minmax:ts"


def test_names_that_need_quotes_have_them() -> None:
    odd = Column(("a:b", "c,d"), "int")
    assert "minmax:`a:b`.`c,d`" in specifications(call("LessThan", odd, 1))


def test_deep_and_huge_predicates_end() -> None:
    deep: Expression = call("LessThan", TIME, 5)
    for number in range(20_000):
        deep = Call("Or" if number % 2 else "And", (deep, call("GreaterThan", TIME, number)))
    assert "ts" in column_uses([deep], [1.0]).columns
