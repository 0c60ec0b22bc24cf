"""Access paths of all families in one version of Pinot, for one table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from starskip.advisor.families.families import BUILT_IN
from starskip.advisor.families.family import AccessPath, Family
from starskip.pinot.target_version import TargetVersion, target_version
from starskip.sql.predicate import Leaf

MEASURED = TargetVersion()
"""The measured release, 0.11."""


@dataclass(frozen=True, slots=True)
class AccessRules:
    """Predicates that the indexes of each family answer; a family without an access path answers none."""

    families: tuple[Family, ...] = BUILT_IN
    target: TargetVersion = MEASURED
    _paths: Mapping[str, AccessPath] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look the paths up once: the cost model asks for them a million times."""
        paths = {family.name: family.path for family in self.families if family.path is not None}
        object.__setattr__(self, "_paths", paths)

    def serves(self, family: str, leaf: Leaf) -> bool:
        """Return whether an index of ``family`` on the leaf's column answers it; a skipped one does not."""
        path = self._paths.get(family)
        if path is None or not leaf.column or family in leaf.skipped_indexes:
            return False
        return path.serves(leaf, self.target)

    def prunes(self, family: str, leaf: Leaf) -> bool:
        """Return whether an index of ``family`` on the leaf's column lets a server leave segments out."""
        path = self._paths.get(family)
        return (
            path is not None
            and path.prunes is not None
            and bool(leaf.column)
            and path.prunes(leaf, self.target)
        )

    def is_pruning(self, family: str) -> bool:
        """Return whether an index of ``family`` lets a server leave segments out."""
        path = self._paths.get(family)
        return path is not None and path.prunes is not None

    def helps(self, family: str, leaf: Leaf) -> bool:
        """Return whether an index of ``family`` answers the leaf or prunes by it."""
        return self.serves(family, leaf) or self.prunes(family, leaf)

    def reads_ratio(self, family: str) -> float:
        """Return the entries a row that an index of ``family`` still reads to answer a predicate."""
        reads = self._paths[family].reads_ratio
        return 0.0 if reads is None else reads(self.target)

    def dictionary_reads(self, family: str, leaf: Leaf) -> float:
        """Return the entries for each value of a dictionary that an index of ``family`` costs a leaf."""
        reads = self._paths[family].dictionary_reads
        return 0.0 if reads is None else reads(leaf)

    def reorders(self, family: str) -> bool:
        """Return whether an index of ``family`` is the order of the table's rows."""
        path = self._paths.get(family)
        return path is not None and path.reorders

    def order_serves(self, leaf: Leaf) -> bool:
        """Return whether rows sorted by the leaf's column answer it."""
        return any(path.reorders and self.serves(name, leaf) for name, path in self._paths.items())

    def yields_to(self, family: str) -> Sequence[str]:
        """Return the families beside which an index of ``family`` is idle, if they answer as much."""
        path = self._paths.get(family)
        return path.yields_to if path else ()


def access_rules(
    pinot_version: str,
    short_dictionary_columns: Collection[str] = (),
    families: tuple[Family, ...] = BUILT_IN,
) -> AccessRules:
    """Return the access paths in ``pinot_version``; ``short_dictionary_columns`` as in target_version."""
    return AccessRules(families, target_version(pinot_version, short_dictionary_columns))
