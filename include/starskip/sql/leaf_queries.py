"""Split a query of Pinot's multi-stage engine into its table scans, with the predicates pushed down to each.

A leaf stage scans one table. Pinot's planner (Calcite's rules for filters, see PinotQueryRuleSets) pushes a
conjunct of WHERE or ON down to a scan if it names columns of that scan alone: through inner joins,
subqueries, CTEs, UNIONs and GROUP BYs of the same columns. Here a conjunct does not pass to the null side of
an outer join, nor through a LIMIT or a window function. HAVING, an OR over several tables and conditions on a
subquery's result stay above. A CTE is planned anew wherever it is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.sql.parsed_query import parsed_query, skeleton_of
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.query_options import split_options
from starskip.sql.query_shape import aggregates

MAX_SCANS = 64
"""CTEs that name CTEs twice double the scans with each."""

ColumnSource = Callable[[str], frozenset[str] | None]
"""Gives the columns of a table by its name, or None where they are not known."""

_Filters = list[exp.Expr]
_Ctes = Mapping[str, tuple[exp.CTE, "_Ctes"]]


@dataclass(frozen=True, slots=True)
class LeafQuery:
    """The scans of one table, as one query of it alone.

    ``skeleton`` has the filters of its scans as alternatives of an OR; ``slots``: for each of its slots, the
    slot of the whole query. ``filtered_scans``: the number of ``scans`` that have a filter, be it a
    subquery's result.
    """

    table: str
    skeleton: str
    slots: tuple[int, ...]
    scans: int
    filtered_scans: int


def leaf_queries(skeleton: str, columns_of: ColumnSource) -> tuple[LeafQuery, ...]:
    """Return the leaf queries of a skeleton (see normalize_sql) by table, in the order of the text.

    Raises UnsupportedQuery with a reason: one of parsed_query's, "recursive", "nested_joins",
    "too_many_leaves", "no_table".
    """
    options, _ = split_options(skeleton)
    try:
        tree = parsed_query(skeleton).copy()
        spelled = _fold_names(tree, columns_of)
        plan = _Plan(columns_of, spelled)
        plan.query(tree, [], {})
        tables = dict.fromkeys(scan.table for scan in plan.scans)
        leaves = tuple(_leaf_query(table, plan.scans, options.words) for table in tables)
    except RecursionError as error:
        raise UnsupportedQuery("the query is nested too deeply to be read", reason="too_deep") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise UnsupportedQuery("the query has parts that cannot be written anew", reason="syntax") from error
    if not leaves:
        raise UnsupportedQuery("the query reads no table", reason="no_table")
    return leaves


@dataclass(slots=True)
class _Scan:
    table: str
    filters: _Filters
    is_filtered_by_subquery: bool


@dataclass(slots=True)
class _Source:
    """Something in FROM; ``outputs``: its columns, None where they are not known."""

    node: exp.Expr
    outputs: frozenset[str] | None
    filters: _Filters = field(default_factory=list)
    is_filtered_by_subquery: bool = False


@dataclass(slots=True)
class _Plan:
    """Gathers the scans of a query; filters that come from above name output columns, without a table."""

    columns_of: ColumnSource
    spelled: Mapping[str, str] = field(default_factory=dict)
    scans: list[_Scan] = field(default_factory=list)
    steps: int = 0

    def query(self, node: exp.Expr, above: _Filters, ctes: _Ctes) -> None:
        self.steps += 1
        if self.steps > 4 * MAX_SCANS or len(self.scans) > MAX_SCANS:
            raise UnsupportedQuery("the query has too many scans", reason="too_many_leaves")
        ctes = self._with_ctes(node, ctes)
        match node:
            case exp.Subquery() | exp.Paren():
                self.query(node.this, [] if _ends_early(node) else above, ctes)
            case exp.SetOperation():
                above = [] if _ends_early(node) else above
                names, others = _output_names(node.left), _output_names(node.right)
                self.query(node.left, above, ctes)
                self.query(node.right, _renamed(above, names, others), ctes)
            case exp.Select():
                self._select(node, above, ctes)
            case exp.Table():
                raise UnsupportedQuery("joins in brackets", reason="nested_joins")

    def _with_ctes(self, node: exp.Expr, ctes: _Ctes) -> _Ctes:
        with_ = node.args.get("with_")
        if with_ is None:
            return ctes
        if with_.args.get("recursive"):
            raise UnsupportedQuery("a recursive query", reason="recursive")
        for cte in with_.expressions:
            ctes = {**ctes, cte.alias: (cte, ctes)}
        return ctes

    def _select(self, select: exp.Select, above: _Filters, ctes: _Ctes) -> None:
        sources: dict[str, _Source] = {}
        null_side: set[str] = set()
        from_ = select.args.get("from_")
        joins = list(select.args.get("joins") or ())
        if from_ is not None:
            first, inner = _without_brackets(from_.this)
            self._add_source(sources, first, ctes)
            joins = [*inner, *joins]
        asked: list[exp.Expr | None] = [*select.expressions]
        for join in joins:
            before = sources.keys() - null_side
            name = self._add_source(sources, join.this, ctes)
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            reached = {
                "": before | {name} if kind in ("", "INNER", "CROSS") else {name},
                "LEFT": {name},
                "RIGHT": before,
            }.get(side, set())
            if join.args.get("match_condition") is not None:
                # ASOF takes the nearest row: one row less on its right matches another, so none is left out.
                null_side.add(name)
                reached = set()
            asked.append(join.args.get("on"))
            for filter_ in _conjuncts(join.args.get("on")):
                _assign(filter_, sources, reached)
            if side in ("RIGHT", "FULL"):
                null_side |= sources.keys() - {name}
            if side in ("LEFT", "FULL"):
                null_side.add(name)
        where = select.args.get("where")
        for filter_ in [*_conjuncts(where.this if where else None), *_inside(select, above)]:
            _assign(filter_, sources, sources.keys() - null_side)
        asked += [where, *(select.args.get(part) for part in ("having", "group", "order", "qualify"))]
        for source in sources.values():
            self._source(source, ctes)
        for part in filter(None, asked):
            for nested in _nested_queries(part):
                self.query(nested, [], ctes)

    def _add_source(self, sources: dict[str, _Source], node: exp.Expr, ctes: _Ctes) -> str:
        if node.args.get("joins"):
            raise UnsupportedQuery("joins in brackets", reason="nested_joins")
        outputs: frozenset[str] | None = None
        if isinstance(node, exp.Table):
            cte = ctes.get(node.name) if not node.db else None
            outputs = _known_outputs(cte[0]) if cte else self._columns(_full_name(node))
        elif isinstance(node, exp.Subquery):
            outputs = _known_outputs(node)
        name = node.alias_or_name or f"source {len(sources)}"
        sources[name] = _Source(node, outputs)
        return name

    def _columns(self, table: str) -> frozenset[str] | None:
        """Return the columns of a table, spelled as in the query."""
        columns = self.columns_of(table)
        return columns and frozenset(self.spelled.get(name.lower(), name) for name in columns)

    def _source(self, source: _Source, ctes: _Ctes) -> None:
        node, filters = source.node, source.filters
        if node.alias_column_names:
            filters = _renamed(filters, node.alias_column_names, _output_names(node.this))
        match node:
            case exp.Table() if not node.db and node.name in ctes:
                cte, known = ctes[node.name]
                if cte.alias_column_names:
                    filters = _renamed(filters, cte.alias_column_names, _output_names(cte.this))
                self.query(cte.this, filters, known)
            case exp.Table(this=exp.Identifier()):
                self.scans.append(_Scan(_full_name(node), filters, source.is_filtered_by_subquery))
            case exp.Subquery():
                self.query(node, filters, ctes)
            case _:
                for nested in _nested_queries(node):
                    self.query(nested, [], ctes)


def _without_brackets(node: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """Return the first source of ``(a JOIN b)`` and its joins, which stand as without brackets; in place."""
    joins: list[exp.Join] = []
    while (
        isinstance(node, exp.Subquery) and not node.alias and isinstance(node.this, exp.Table | exp.Subquery)
    ):
        joins = [*(node.args.get("joins") or ()), *joins]
        node = node.this
    joins = [*(node.args.get("joins") or ()), *joins]
    node.set("joins", None)
    return node, joins


def _fold_names(tree: exp.Query, columns_of: ColumnSource) -> Mapping[str, str]:
    """Spell each name of the query in one way, and make dotted names columns of a source; in place.

    Returns the spellings by their lower case. Columns of one table that differ in case only keep their own.
    """
    tables = list(tree.find_all(exp.Table))
    several = {
        low
        for table in tables
        for low, times in Counter(name.lower() for name in columns_of(_full_name(table)) or ()).items()
        if times > 1
    }
    spelled: dict[str, str] = {}
    for name in tree.find_all(exp.Identifier):
        if name.name.lower() not in several:
            name.set("this", spelled.setdefault(name.name.lower(), name.name))
    sources = {each.alias_or_name for each in (*tables, *tree.find_all(exp.Subquery, exp.CTE))}
    for column in tree.find_all(exp.Column):
        parts = [part.name for part in column.parts]
        if len(parts) > 1 and not isinstance(column.this, exp.Star):
            at = next((at for at in range(1, len(parts)) if parts[at - 1] in sources), 0)
            dotted = ".".join(parts[at:])
            dotted = spelled.setdefault(dotted.lower(), dotted)
            column.set("this", exp.to_identifier(dotted, quoted=at < len(parts) - 1 or None))
            column.set("table", exp.to_identifier(parts[at - 1]) if at else None)
            for part in ("db", "catalog"):
                column.set(part, None)
    return spelled


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        if isinstance(node, exp.And):
            waiting += [node.expression, node.this]
        elif isinstance(node, exp.Paren):
            waiting.append(node.this)
        elif node is not None:
            yield node


def _assign(filter_: exp.Expr, sources: Mapping[str, _Source], reached: Sequence[str] | set[str]) -> None:
    """Give a filter to the one source whose columns it names, if the filter reaches that source."""
    is_subquery = filter_.find(exp.Query) is not None
    asked = [filter_.this] if is_subquery and isinstance(filter_, exp.In) else [filter_]
    columns = [column for part in asked for column in part.find_all(exp.Column)]
    names = {_source_of(column, sources) for column in columns}
    name = names.pop() if len(names) == 1 else None
    if name is None or name not in reached:
        return
    if is_subquery:
        # A semi-join: Pinot filters the scan by values that no text holds.
        sources[name].is_filtered_by_subquery |= isinstance(filter_, exp.In)
        return
    sources[name].filters.append(filter_.copy().transform(_without_table))


def _source_of(column: exp.Column, sources: Mapping[str, _Source]) -> str | None:
    if column.table:
        return column.table if column.table in sources else None
    if len(sources) == 1:
        return next(iter(sources))
    having = [name for name, source in sources.items() if source.outputs and column.name in source.outputs]
    unknown = [name for name, source in sources.items() if source.outputs is None]
    found = having or unknown
    # A table whose columns are not known might have the column as well.
    return found[0] if len(found) == 1 and not (having and unknown) else None


def _without_table(node: exp.Expr) -> exp.Expr:
    return exp.Column(this=node.this) if isinstance(node, exp.Column) else node


def _inside(select: exp.Select, above: _Filters) -> Iterator[exp.Expr]:
    """Yield the filters on output columns of ``select`` that can be applied inside it."""
    if not above or _ends_early(select):
        return
    items = {item.alias_or_name: item.unalias() for item in select.expressions}
    if any(item.find(exp.Window) for item in items.values()):
        return
    group = select.args.get("group")
    is_grouped = group is not None or any(aggregates(item) for item in items.values())
    keys = [key.sql() for key in group.expressions] if group is not None else []
    has_star = any(item.is_star and not aggregates(item) for item in items.values())
    for filter_ in above:
        found = filter_.copy()
        for column in list(found.find_all(exp.Column)):
            inner = items.get(column.name) or (exp.column(column.name) if has_star else None)
            is_key = inner is not None and (inner.sql() in keys or column.name in keys)
            if inner is None or inner.find(exp.Query) or (is_grouped and not is_key):
                break
            if column is found:
                found = inner.copy()
            else:
                column.replace(inner.copy())
        else:
            yield found


def _renamed(filters: _Filters, names: Sequence[str] | None, others: Sequence[str] | None) -> _Filters:
    """Return the filters with the columns ``names`` called ``others``; none where they do not match."""
    if not filters or names is None or others is None or len(names) != len(others):
        return []
    other = dict(zip(names, others, strict=True))

    def renamed(node: exp.Expr) -> exp.Expr:
        return exp.column(other[node.name]) if isinstance(node, exp.Column) else node

    return [
        filter_.copy().transform(renamed)
        for filter_ in filters
        if all(column.name in other for column in filter_.find_all(exp.Column))
    ]


def _output_names(query: exp.Expr) -> list[str] | None:
    if not isinstance(query, exp.Query):
        return None
    names = query.named_selects
    return None if "*" in names or not all(names) else names


def _known_outputs(node: exp.Subquery | exp.CTE) -> frozenset[str] | None:
    names = node.alias_column_names or _output_names(node.this)
    return None if names is None else frozenset(names)


def _ends_early(query: exp.Expr) -> bool:
    return bool(query.args.get("limit") or query.args.get("offset"))


def _nested_queries(part: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the queries in an expression that are in no other query of it."""
    for node in part.walk(prune=lambda inner: isinstance(inner, exp.Query)):
        if isinstance(node, exp.Query):
            yield node


def _full_name(table: exp.Table) -> str:
    return ".".join(part.name for part in table.parts)


def _leaf_query(table: str, scans: Sequence[_Scan], options: str) -> LeafQuery:
    own = [scan for scan in scans if scan.table == table]
    filters = dict.fromkeys(exp.and_(*scan.filters) for scan in own if scan.filters)
    query = (
        exp.select("*").from_(exp.Table(this=exp.to_identifier(table))).order_by("1", dialect=PinotDialect)
    )
    if filters:
        # A table that is scanned twice is filtered by either filter, as by the disjuncts of an OR.
        query = query.where(exp.or_(*filters))
    skeleton, slots = skeleton_of(query.sql(dialect=PinotDialect, comments=False))
    filtered = sum(bool(scan.filters) or scan.is_filtered_by_subquery for scan in own)
    return LeafQuery(table, options + skeleton, slots, len(own), filtered)
