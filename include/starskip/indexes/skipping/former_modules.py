"""Former names of the modules that users import, or name in ``skipping_modules``."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

RENAMED = "module %s is called %s now; the former name goes with the next release"
_PACKAGE, _FORMER_PACKAGE = "starskip.indexes.skipping", "starskip.skipping"
_MOVED = {
    "clause_of": "build_clause",
    "generate_clause": "build_clause",
    "geospatial_functions": "contrib.geospatial_functions",
    "index_types.affix_index": "index_types.affixes",
    "index_types.formatted": "contrib.formatted",
    "index_types.metric_dist": "contrib.metric_dist",
    "index_types.partition": "index_types.min_max",
    "index_types.prefix": "index_types.affixes",
    "index_types.suffix": "index_types.affixes",
    "metadata.file_listing": "metadata.table_files",
    "metric_distances": "contrib.metric_distances",
    "user_agents": "contrib.user_agents",
}
"""Within the package."""
_SHARED = frozenset(
    {
        "column_name",
        "comparison",
        "data_types",
        "expression",
        "like_pattern",
        "ordered_values",
        "padded_texts",
        "prefix_bounds",
    }
)
"""Now in ``starskip.predicates``."""

log = logging.getLogger(_FORMER_PACKAGE)


def current_name(module: str) -> str:
    """Return the present name of a module; any other name is returned as it is."""
    for package in (_FORMER_PACKAGE, _PACKAGE):
        if module == package or module.startswith(f"{package}."):
            rest = module[len(package) + 1 :]
            if rest in _SHARED:
                return f"starskip.predicates.{rest}"
            return f"{_PACKAGE}.{_MOVED.get(rest, rest)}".rstrip(".")
    return module


class FormerModules(MetaPathFinder, Loader):
    """Imports a former name as the present module itself, so that its classes are the same."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the import system calls it so
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """See MetaPathFinder."""
        is_former = current_name(fullname) != fullname and fullname != _FORMER_PACKAGE
        return ModuleSpec(fullname, self) if is_former else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its present name."""
        present = current_name(spec.name)
        log.warning(RENAMED, spec.name, present)
        module = importlib.import_module(present)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back, which the import system has replaced."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state

    def install(self) -> None:
        """Let imports ask here before the finder of files, which would load a package's modules twice."""
        if not any(isinstance(finder, FormerModules) for finder in sys.meta_path):
            sys.meta_path.insert(0, self)
