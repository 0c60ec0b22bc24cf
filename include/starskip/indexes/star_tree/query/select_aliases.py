"""Aliases of the SELECT put out for what they stand for.

In WHERE, GROUP BY and HAVING a column of the table goes before an alias of the same name, as the standard has
it for GROUP BY; in ORDER BY the alias goes first.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp


def resolve_aliases(select: exp.Select, columns: Collection[str] | None) -> None:
    """Replace aliases in WHERE, GROUP BY, HAVING and ORDER BY of ``select`` by their expressions; in place.

    ``columns``: those of the table; where they are not known, an alias is taken for what it stands for.
    """
    aliases = {item.alias.lower(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    if not aliases:
        return
    shadowed = {name.lower() for name in columns or ()}
    for clause in ("where", "group", "having"):
        _replace(select.args.get(clause), {a: e for a, e in aliases.items() if a not in shadowed})
    _replace(select.args.get("order"), aliases)


def _replace(clause: exp.Expr | None, aliases: dict[str, exp.Expr]) -> None:
    if clause is None:
        return
    for column in list(clause.find_all(exp.Column)):
        standing_for = aliases.get(column.name.lower())
        if standing_for is not None and not isinstance(column.this, exp.Star):
            inner = standing_for.copy()
            column.replace(inner if isinstance(column.parent, (exp.Group, exp.Ordered)) else exp.paren(inner))
