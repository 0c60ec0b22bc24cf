"""Former names of the modules that users import, or name in ``skipping_modules``."""

from __future__ import annotations

RENAMED = "module %s is called %s now; the former name goes with the next release"
_HOME, _FORMER_HOME = "starskip.indexes.skipping", "starskip.skipping"
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


def current_name(module: str) -> str:
    """Return the present name of a module; any other name is returned as it is."""
    for home in (_FORMER_HOME, _HOME):
        if module == home or module.startswith(f"{home}."):
            rest = module[len(home) + 1 :]
            return f"{_HOME}.{_MOVED.get(rest, rest)}".rstrip(".")
    return module
