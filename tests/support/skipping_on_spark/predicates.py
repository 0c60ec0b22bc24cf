"""Strategies of predicate trees, as Spark's SQL over the columns of a data set; none can fail in any row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from skipping_on_spark.column_kinds import KINDS, UNCOMPARABLE, text_literal
from skipping_on_spark.data_set import DataSet

_COMPARED = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_NUMBERS = {"tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,6)"}
_PLAIN_NUMBERS = ("1.5", "0", "-0.0D", "1e300D", "127", "2147483648", "0.1", "100000000.00")
_AREAS = (
    "POLYGON ((0 0, 10 0, 10 10, 0 10, 0 0))",
    "POLYGON ((2 48, 3 48, 3 49, 2 49, 2 48))",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)), ((170 -90, 181 -90, 181 0, 170 -90)))",
    "POINT (2.5 48.85)",
    "POLYGON ((-180 -90, 180 -90, 180 90, -180 90, -180 -90))",
    "POLYGON EMPTY",
)
_MANY = (1000, 3000)
Leaf = Callable[[st.DrawFn, DataSet], str]


@st.composite
def predicates(draw: st.DrawFn, data: DataSet, depth: int, leaves: Sequence[Leaf] = ()) -> str:
    """Draw one of ``leaves``, or of all; what it is about are mostly values that the data set has."""
    if depth and draw(st.booleans()):
        left = draw(predicates(data, depth - 1, leaves))
        kind = draw(st.sampled_from(("AND", "OR", "NOT", "NOT", "<=>", "null")))
        if kind == "NOT":
            return f"NOT ({left})"
        if kind == "null":
            return draw(
                st.sampled_from((f"({left}) IS NULL", f"({left}) <=> null", f"coalesce({left}, true)"))
            )
        return f"(({left}) {kind} ({draw(predicates(data, depth - 1, leaves))}))"
    leaf = draw(st.sampled_from(leaves or LEAVES))
    return leaf(draw, data)


def _of(data: DataSet, *types: str) -> list[str]:
    return [name for name, kind in data.kinds.items() if kind.sql in types]


def _value(draw: st.DrawFn, data: DataSet, name: str) -> str:
    kind, known = data.kinds[name], data.known(name)
    chosen = draw(st.integers(0, 19))
    if chosen == 19:
        return "null"
    return kind.literal(draw(st.sampled_from(known) if known and chosen < 14 else kind.values))


def _column(draw: st.DrawFn, data: DataSet) -> str:
    return draw(st.sampled_from([name for name, kind in data.kinds.items() if kind.sql not in UNCOMPARABLE]))


def _compared(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(_COMPARED))


def comparison(draw: st.DrawFn, data: DataSet) -> str:
    """Draw a comparison of a column with a value."""
    name = _column(draw, data)
    operator, value = _compared(draw), _value(draw, data, name)
    return f"{name} {operator} {value}" if draw(st.booleans()) else f"{value} {operator} {name}"


def _membership(draw: st.DrawFn, data: DataSet) -> str:
    name = _column(draw, data)
    listed = [_value(draw, data, name) for _ in range(draw(st.integers(1, 5)))]
    # More than ten become a set in Spark's plan.
    listed += [data.kinds[name].literal(each) for each in data.known(name)[: draw(st.sampled_from((0, 30)))]]
    return f"{name} {draw(st.sampled_from(('IN', 'NOT IN')))} ({', '.join(listed)})"


def _long_membership(draw: st.DrawFn, data: DataSet) -> str:
    if draw(st.integers(0, 2)) < 2:
        return _membership(draw, data)  # long ones take Spark long, too
    names = _of(data, "int", "bigint", "string", "decimal(10,2)")
    name, count = draw(st.sampled_from(names)), draw(st.sampled_from(_MANY))
    low, step = draw(st.integers(-20, 20)), draw(st.integers(1, 3))
    numbers = range(low, low + count * step, step)
    texts = [f"'k{each}'" for each in numbers] if data.kinds[name].sql == "string" else map(str, numbers)
    listed = [*texts, *(_value(draw, data, name) for _ in range(draw(st.integers(0, 3))))]
    return f"{name} {draw(st.sampled_from(('IN', 'IN', 'NOT IN')))} ({', '.join(listed)})"


def _between(draw: st.DrawFn, data: DataSet) -> str:
    name = _column(draw, data)
    return f"{name} BETWEEN {_value(draw, data, name)} AND {_value(draw, data, name)}"


def null_test(draw: st.DrawFn, data: DataSet) -> str:
    """Draw IS NULL or IS NOT NULL of a column or of a struct."""
    structs = ["n", "n.deep"] if "n.x" in data.kinds else []
    name = draw(st.sampled_from([*data.kinds, *structs]))
    return f"{name} {draw(st.sampled_from(('IS NULL', 'IS NOT NULL')))}"


def _part(draw: st.DrawFn, data: DataSet, name: str) -> str:
    value = draw(st.sampled_from(data.known(name) or ["ab"]))
    start = draw(st.integers(0, min(3, len(value))))
    return value[start : start + draw(st.integers(0, 4))]


def _text(draw: st.DrawFn, data: DataSet) -> str:
    name = draw(st.sampled_from(_of(data, "string")))
    part = _part(draw, data, name)
    other, quoted = _part(draw, data, name), text_literal(part)
    literally = part.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    form = draw(st.sampled_from(("{}%", "%{}", "%{}%", "_{}%", "{}", "{}%" + other.replace("\\", "\\\\"))))
    filled = draw(st.sampled_from((literally, part.replace("\\", "\\\\"))))
    pattern = text_literal(form.replace("{}", filled, 1))
    escaped = text_literal(part.replace("/", "//").replace("_", "/_") + "%")
    return draw(
        st.sampled_from(
            (
                *(f"{name} LIKE {pattern}", f"{name} LIKE {pattern}", f"{name} NOT LIKE {pattern}"),
                f"startswith({name}, {quoted})",
                f"endswith({name}, {quoted})",
                f"contains({name}, {quoted})",
                f"{name} LIKE {escaped} ESCAPE '/'",
                f"lower({name}) = {quoted}",
                f"{name} collate UNICODE_CI = {quoted}",
                f"{name} collate UTF8_LCASE IN ({quoted}, 'A')",
                f"length({name}) > {draw(st.integers(0, 3))}",
                f"substr({name}, 1, 1) = {quoted}",
                f"try_cast({name} AS int) {_compared(draw)} {draw(st.integers(-1, 10))}",
                f"levenshtein({name}, {quoted}) {_compared(draw)} {draw(st.integers(0, 3))}",
            )
        )
    )


def _collated(draw: st.DrawFn, data: DataSet) -> str:
    names = _of(data, KINDS["low"].sql, KINDS["ci"].sql)
    if not names:
        return _text(draw, data)
    name = draw(st.sampled_from(names))
    quoted = text_literal(_part(draw, data, name))
    return draw(
        st.sampled_from(
            (
                f"{name} {_compared(draw)} {quoted}",
                f"startswith({name}, {quoted})",
                f"endswith({name}, {quoted})",
                f"{name} IN ({quoted}, 'a', 'B')",
                f"cast({name} AS string) collate UTF8_BINARY {_compared(draw)} {quoted}",
            )
        )
    )


def _time(draw: st.DrawFn, data: DataSet) -> str:
    names = _of(data, "timestamp", "timestamp_ntz", "date")
    if not names:
        return comparison(draw, data)
    name, operator = draw(st.sampled_from(names)), _compared(draw)
    value = _value(draw, data, name)
    instant = KINDS["ts"].literal(draw(KINDS["ts"].values))
    return draw(
        st.sampled_from(
            (
                f"year({name}) {operator} {draw(st.sampled_from((1582, 1969, 1970, 2024, 2026)))}",
                f"date({name}) {operator} date({value})",
                f"to_date({name}) BETWEEN date_sub(date({value}), 1) AND date({value})",
                f"date_trunc('MONTH', {name}) = date_trunc('MONTH', {value})",
                f"trunc(date({name}), 'YEAR') {operator} trunc(date({value}), 'YEAR')",
                f"{name} > current_timestamp() - interval 2 years",
                f"{name} {operator} date'2026-11-01' - interval 1 day",
                f"{name} {operator} timestamp'2026-11-01 01:30:00'",
                f"{name} {operator} make_date(2024, 2, 29)",
                f"date_add(date({name}), 1) {operator} date({value})",
                f"cast({name} AS timestamp) {operator} {instant}",
                f"cast({name} AS string) LIKE '2026-%'",
                f"datediff({name}, {value}) = 0",
                f"hour(cast({name} AS timestamp)) < 2",
            )
        )
    )


def _number(draw: st.DrawFn, data: DataSet) -> str:
    numbers = _of(data, *_NUMBERS)
    name, other = draw(st.sampled_from(numbers)), draw(st.sampled_from(numbers))
    small = draw(st.sampled_from(_of(data, "tinyint", "int")))
    operator = _compared(draw)
    return draw(
        st.sampled_from(
            (
                f"{name} {operator} {other}",
                f"{name} {operator} {draw(st.sampled_from(_PLAIN_NUMBERS))}",
                f"{name} {operator} {_value(draw, data, other)}",
                f"{small} + 1 {operator} {draw(st.integers(-3, 20))}",
                f"abs(int({small})) > 3",
                f"coalesce({name}, {_value(draw, data, name)}) {operator} {_value(draw, data, name)}",
                f"isnan(double({name}))",
                f"cast({name} AS double) {operator} {_value(draw, data, name)}",
                f"cast({name} AS float) {operator} float('0.1')",
                f"cast({small} AS string) = '1'",
                f"cast({small} AS decimal(20,1)) {operator} 1.5",
                f"-int({small}) {operator} {draw(st.integers(-3, 3))}",
            )
        )
    )


def _branch(draw: st.DrawFn, data: DataSet) -> str:
    condition = comparison(draw, data)
    known = ["flag", "NOT flag", "flag = true", "flag <=> false", f"({condition}) = flag"]
    return draw(
        st.sampled_from(
            (
                f"CASE WHEN {condition} THEN true ELSE false END",
                f"if({condition}, {null_test(draw, data)}, {comparison(draw, data)})",
                f"nullif({condition}, true) IS NULL",
                *("true", "false", "cast(null AS boolean)"),
                *(known if "flag" in data.kinds else ()),
            )
        )
    )


def _function(draw: st.DrawFn, data: DataSet) -> str:
    """Draw a call of a function that is written in Python, most of which are mapped."""
    operator = _compared(draw)
    made = []
    for lat, lng in (("lat", "lng"), ("d", "f")):
        if lat in data.kinds and lng in data.kinds:
            area, far = draw(st.sampled_from(_AREAS)), draw(st.sampled_from(("0D", "1.5D", "60D")))
            made += [
                f"ST_Contains('{area}', {lat}, {lng})",
                f"ST_Distance('{area}', {lat}, {lng}) {operator} {far}",
                f"euclidean_distance({lat}, {lng}, 1.0D, 2.5D) {operator} 9.5D",
                f"manhattan_distance({lat}, {lng}, 10.0D, 0.0D) {operator} 9.5D",
            ]
    if "vec" in data.kinds:
        point = f"array({draw(st.sampled_from(('1.0D, 2.5D', '48.85D, 0D', '1D')))})"
        made.append(f"array_contains(vec, double({draw(st.sampled_from(('1', '-0.0', 'NaN', '7')))!r}))")
        made += [f"{each}_distance(vec, {point}) {operator} 9.5D" for each in ("euclidean", "manhattan")]
    made += _of_shapes(draw, data)
    if "agent" in data.kinds:
        made += [
            f"getAgentName(agent) {operator} 'Firefox'",
            "getAgentName(agent) IN ('Chrome', 'curl')",
            "getAgentName(agent) LIKE 'Ch%'",
            "getAgentName(agent) IS NOT NULL",
        ]
    return draw(st.sampled_from(made)) if made else _number(draw, data)


def _of_shapes(draw: st.DrawFn, data: DataSet) -> list[str]:
    if "shape" not in data.kinds:
        return []
    area = text_literal(draw(st.sampled_from(_AREAS)))
    function = draw(st.sampled_from(("ST_Contains", "ST_Within", "ST_Intersects")))
    column = draw(st.sampled_from(("shape", "ST_GeomFromText(shape)")))
    far = draw(st.sampled_from(("1.5D", "60D")))
    pairs = draw(
        st.sampled_from((f"{column}, {area}", f"{area}, {column}", f"ST_WKTToSQL({area}), {column}"))
    )
    return [f"{function}({pairs})", f"ST_Distance({pairs}) {_compared(draw)} {far}"]


def _derived(draw: st.DrawFn, data: DataSet) -> str:
    """Draw a predicate on what a function gives of a column: of arrays, maps, addresses, URLs and JSON."""
    operator = _compared(draw)
    made = []
    if "tags" in data.kinds:
        made += [f"array_contains(tags, {draw(st.sampled_from(('a', 'ä', '', 'z')))!r})"]
    if "m" in data.kinds:
        key, value = draw(st.sampled_from(("k", "x:y", "ä", "z"))), draw(st.integers(0, 5))
        made += [f"m['{key}'] {operator} {value}", f"element_at(m, '{key}') IN ({value}, 4)"]
        made += [f"m['{key}'] IS NULL"]
    if "ip" in data.kinds:
        networks = ("10.0.0.0/8", "10.0.3.0/24", "0.0.0.0/0", "2001:db8::/32", "::/0", "10.0.0.1", "none")
        made += [f"ip_in_network(ip, '{draw(st.sampled_from(networks))}')"]
    if "url" in data.kinds:
        host = draw(st.sampled_from(("a.org", "b.org", "c.org", "d.com", "z.org", "A.org", "B.ORG")))
        made += [f"try_parse_url(url, 'HOST') {operator} '{host}'", "try_parse_url(url, 'HOST') LIKE '%.org'"]
    if "mail" in data.kinds:
        domain = draw(st.sampled_from(("a.org", "c.de", "none", "", "ä.de")))
        made += [f"substring_index(mail, '@', -1) {operator} '{domain}'"]
    if "doc" in data.kinds:
        made += [
            f"get_json_object(doc, '$.a.b') {operator} '{draw(st.sampled_from(('v', '4', 'ä', '[1]')))}'"
        ]
        made += ["get_json_object(doc, '$.a.b') IS NOT NULL"]
    shapes = _of_shapes(draw, data)
    return draw(st.sampled_from([*made, *shapes])) if made or shapes else _text(draw, data)


LEAVES: tuple[Leaf, ...] = (
    *(comparison, comparison, comparison, _membership, _membership, _between),
    *(null_test, _text, _text, _collated, _time, _time, _number, _branch),
    *(comparison, comparison, _text, _number, _function, _long_membership, _derived, _derived, _derived),
)
