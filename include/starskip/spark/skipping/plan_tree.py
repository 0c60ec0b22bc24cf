"""Parse the JSON document of a Catalyst plan into a tree.

One call fetches the whole plan; a walk over its nodes through py4j takes 50 µs for each.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class Node:
    """A node of a plan or expression; ``name`` is the class without its package.

    ``of``: the parent, or for the root of an expression the plan node that holds it. ``field``: the getters
    and positions that lead from there to this node in the JVM.
    """

    __slots__ = ("_java", "children", "field", "fields", "full_name", "name", "of")

    def __init__(self, fields: Mapping[str, Any]) -> None:
        """Take the node's fields in the JSON document."""
        self.fields = fields
        self.full_name: str = fields["class"]
        self.name = self.full_name.rpartition(".")[2]
        self.children: list[Node] = []
        self.of: Node | None = None
        self.field: tuple[str | int, ...] = ()
        self._java: Any = None

    def expression(self, field: str) -> Node:
        """Return the expression in ``field`` of a plan's node."""
        return self._root(self.fields[field], (field,))

    def expressions(self, field: str) -> list[Node]:
        """Return the list of expressions in ``field`` of a plan's node."""
        return [self._root(each, (field, at)) for at, each in enumerate(self.fields[field])]

    def java(self, plan: Any) -> Any:
        """Return the object in the JVM; ``plan`` is the plan's root there."""
        if self._java is None:
            found = plan if self.of is None else self.of.java(plan)
            for step in self.field:
                found = found.apply(step) if isinstance(step, int) else getattr(found, step)()
            self._java = found
        return self._java

    def _root(self, document: Sequence[Mapping[str, Any]], field: tuple[str | int, ...]) -> Node:
        root = _tree(document)
        root.of, root.field = self, field
        return root


def plan_tree(document: str) -> Node:
    """Return the tree of a document of ``LogicalPlan.toJSON``; raise ValueError for another document."""
    return _tree(json.loads(document))


def _tree(document: Sequence[Mapping[str, Any]]) -> Node:
    # Parents come before their children: read backwards, children are complete, without recursion.
    complete: list[Node] = []
    for fields in reversed(document):
        node = Node(fields)
        count = fields["num-children"]
        if count > len(complete):
            raise ValueError("a plan's JSON lacks nodes")
        for at in range(count):
            child = complete.pop()
            child.of, child.field = node, ("children", at)
            node.children.append(child)
        complete.append(node)
    (root,) = complete
    return root
