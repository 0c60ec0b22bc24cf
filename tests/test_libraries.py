"""Libraries know no night, packages beside the core use promised names, each import is declared."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from pkgutil import resolve_name

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from package_files import (
    ABOVE_LIBRARIES,
    BESIDE,
    FILES,
    FILES_BESIDE,
    HOMES,
    LIBRARIES,
    ROOT,
    imports,
    imports_of,
    lies_in,
    module_of,
    named,
    nodes_of,
)
from starskip.extensions import GROUPS, own_extensions

BEYOND_THE_PROMISED = {
    "starskip.errors": {"DamagedFile", "StorageOutage", "printable"},
    # Predicates, and the values that they compare.
    "starskip.predicates.column_name": {"column_name"},
    "starskip.predicates.comparison": {"Comparison", "ComparisonOperator", "comparison_of_function"},
    "starskip.predicates.data_types": {"is_collated"},
    "starskip.predicates.edit_distance": {"edit_distances"},
    "starskip.predicates.like_pattern": {"Wildcard", "like_parts"},
    "starskip.predicates.ordered_values": {"is_text", "order_keys", "same_order"},
    "starskip.predicates.prefix_bounds": {"text_after"},
    # Collectors and index types that those of starskip_contrib go on from.
    "starskip.skipping.collectors.cover_boxes": {"CoverBoxes"},
    "starskip.skipping.collectors.distinct_values": {"DistinctValues", "ValuesCollector"},
    "starskip.skipping.collectors.ranges_collector": {"RangesCollector"},
    "starskip.skipping.index_types.column_index": {"check_column", "check_family"},
    "starskip.skipping.index_types.gap_list": {"GapList"},
    "starskip.skipping.index_types.geo_box": {"number_of_boxes"},
    # Clauses that OpenSearch judges by its queries.
    "starskip.skipping.clause": {"AllOf", "AnyOf", "NoFile"},
    "starskip.skipping.failing_indexes": {"GuardedClause"},
    "starskip.skipping.index_types.hybrid": {"HybridClause"},
    "starskip.skipping.index_types.min_max": {"MinMaxClause"},
    "starskip.skipping.index_types.null_count": {"NullClause"},
    "starskip.skipping.value_ranges": {
        "Condition",
        "RangesClause",
        "bounds_judged",
        "is_possible_known",
        "possible_between",
    },
    "starskip.skipping.value_sets": {"ValueSetClause", "value_set_clause", "with_valid_texts"},
    # What a store of metadata keeps.
    "starskip.file_metadata.collect_order": {"BOUNDS"},
    "starskip.file_metadata.metadata_store": {"Groups", "StoredMetadata"},
    "starskip.file_metadata.segment": {"Segment"},
    "starskip.storage.encryption.data_key": {"DataKey"},
    "starskip.storage.manifest": {"DataFile"},
    "starskip.storage.staged_write": {"StagedWrite", "file_safe"},
    "starskip.storage.storage": {"PutVerdict", "StoredObject", "name_components"},
}
"""Names of the core beyond docs/python-api.md that the packages beside it use; none may be added."""


PROMISED = re.compile(r"^\| `(starskip[\w.]+)\.(\w+)`", re.MULTILINE)


def test_the_core_imports_no_package_beside_it() -> None:
    knowing = [named(path, module) for path, module in imports() if module.partition(".")[0] in BESIDE]
    assert knowing == []


def test_the_packages_beside_the_core_use_its_public_names_and_few_others() -> None:
    page = (ROOT.parent / "docs" / "python-api.md").read_text(encoding="utf-8")
    promised = set(PROMISED.findall(page))
    assert len(promised) > 80
    beyond: dict[str, set[str]] = {}
    for path in FILES_BESIDE:
        for node in nodes_of(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "starskip":
                module = node.module or ""
                names = {name.name for name in node.names if (module, name.name) not in promised}
                if names:
                    beyond.setdefault(module, set()).update(names)
            elif isinstance(node, ast.Import):
                assert not any(name.name.partition(".")[0] == "starskip" for name in node.names), path
    assert beyond == BEYOND_THE_PROMISED


def test_the_packages_beside_the_core_do_not_import_one_another_or_an_engine() -> None:
    for path in FILES_BESIDE:
        others = {*BESIDE, *HOMES} - {module_of(path).partition(".")[0]}
        assert others.isdisjoint(module.partition(".")[0] for module in imports_of(path)), path


def test_what_the_packages_beside_the_core_add_is_there_and_recorded() -> None:
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    added = {group: of for group, of in project["entry-points"].items() if group.startswith("starskip.")}
    assert {place.partition(".")[0] for of in added.values() for place in of.values()} == set(BESIDE)
    for group, of in added.items():
        for place in of.values():
            resolve_name(place)
        recorded = {each.name: each.value for each in own_extensions(group).values()}
        assert recorded == of, "starskip was installed with another pyproject.toml: make setup"
    assert set(added) == set(GROUPS)


def test_a_library_knows_no_night() -> None:
    knowing = [
        named(path, module)
        for path, module in imports()
        if lies_in(module_of(path), LIBRARIES) and lies_in(module, ABOVE_LIBRARIES)
    ]
    assert knowing == []


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_is_imported_where_there_is_no_advisor(library: str) -> None:
    modules = [module_of(path) for path in FILES if lies_in(module_of(path), [library])]
    assert len(modules) > 20
    engines = [engine for engine, homes in HOMES.items() if library not in homes]
    _run_without_advisor(engines, [f"import {module}" for module in modules])


def test_a_library_is_used_where_there_is_no_advisor(tmp_path: Path) -> None:
    """A secondary index leads to rows, and a star-tree answers, as a user of them alone asks."""
    pq.write_table(
        pa.table({"city": ["Oslo", "Rome"] * 500, "price": range(1_000)}), tmp_path / "rows.parquet"
    )
    os.utime(tmp_path / "rows.parquet", (1_700_000_000, 1_700_000_000))
    secondary = f"""
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes

create_indexes({str(tmp_path)!r}, ["btree:price"])
found = open_table({str(tmp_path)!r}).query("price = 7", ["city"])
assert found.to_pydict() == {{"city": ["Rome"]}}, found
"""
    star_tree = f"""
from datetime import UTC, datetime
from starskip.star_tree.build.build_trees import build_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.storage_for import storage_for

store = ArtefactStore(storage_for({str(tmp_path / "trees")!r}))
tree = StarTreeConfig.from_document(
    {{"dimensionsSplitOrder": ["city"], "functionColumnPairs": ["SUM__price"], "maxLeafRecords": 1}}
)
part = build_trees(
    staged=store.staged_write(ARTEFACT, CURRENT),
    table="rows",
    source=source_table({str(tmp_path / "rows.parquet")!r}),
    configs=[tree],
    run_tasks=lambda label, items, function: [function(item) for item in items],
    observed_at_ns=1_800_000_000 * 10**9,
)
published = {{"created_at": datetime(2027, 1, 15, tzinfo=UTC), "created_by": "a test"}}
store.publish(ARTEFACT, CURRENT, {{"rows": part}}, replace="all", **published)
answer = answer_sql(open_trees(store), "SELECT SUM(price) FROM rows WHERE city = 'Rome'")
assert answer.star_tree and answer.table.column(0).to_pylist() == [250_000], answer
"""
    _run_without_advisor(HOMES, [secondary, star_tree])


def test_the_core_runs_where_no_engine_is_installed() -> None:
    above = {home for homes in HOMES.values() for home in homes} | {"cli"}
    core = [module_of(path) for path in FILES if not lies_in(module_of(path), above)]
    assert len(core) > 80
    _run_without(HOMES, [f"import {module}" for module in core])


def _run_without_advisor(engines: Iterable[str], statements: Iterable[str]) -> None:
    """Run statements without the advisor, what it alone needs, packages beside the core, and some engines."""
    above = [*BESIDE, *_needed_above_alone(), *(f"starskip.{part}" for part in ABOVE_LIBRARIES)]
    _run_without([*engines, *above], statements)


def _run_without(absent: Iterable[str], statements: Iterable[str]) -> None:
    """Run statements in a fresh process that cannot import some modules."""
    blocked = "\n".join(["import sys", *(f"sys.modules[{module!r}] = None" for module in absent)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join([blocked, *statements])],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def _needed_above_alone() -> tuple[str, ...]:
    """Return the packages that the advisor and what lies above it import, and nobody below."""
    needed: dict[bool, set[str]] = {True: set(), False: set()}
    for path, module in imports():
        needed[lies_in(module_of(path), ABOVE_LIBRARIES)].add(module.split(".")[0])
    found = needed[True] - needed[False] - set(sys.stdlib_module_names)
    assert {"highspy", "scipy", "numba", "jinja2", "yaml", "click"} <= found
    # What libraries' own packages import themselves.
    return tuple(sorted(found - {"pandas", "psutil", "pydantic", "sqlalchemy"}))


def test_every_library_is_declared() -> None:
    """``pip install .`` brings what the package imports, an extra what few need."""
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    waiting = [*project["dependencies"], *(each for of_extra in extras.values() for each in of_extra)]
    known: set[str] = set()
    while waiting:
        name = _library(waiting.pop())
        if name not in known:
            known.add(name)
            # What these bring themselves may be imported, too, as py4j is with pyspark.
            waiting += [each for each in _requirements(name) if "extra ==" not in each]
    homes = packages_distributions()
    for path in (*FILES, *FILES_BESIDE):
        for module in {module.partition(".")[0] for module in imports_of(path)}:
            if module not in sys.stdlib_module_names and module not in ("starskip", *BESIDE):
                assert known & {_library(name) for name in homes[module]}, f"{path.name} imports {module}"


def _requirements(library: str) -> list[str]:
    try:
        return requires(library) or []
    except PackageNotFoundError:
        # Of another system, or of another Python.
        return []


def _library(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
