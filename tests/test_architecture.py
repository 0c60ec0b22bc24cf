"""The floors of the package: who may import whom, and what each file owes."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from pkgutil import resolve_name

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.extensions import GROUPS, comes_with_starskip, extensions

ROOT = Path(__file__).parents[1] / "include"
PACKAGE = ROOT / "starskip"
FILES = sorted(PACKAGE.rglob("*.py"))
BESIDE = ("starskip_contrib", "starskip_opensearch")
"""Packages of the same distribution, which the core finds by their entry points alone."""
FILES_BESIDE = sorted(path for package in BESIDE for path in (ROOT / package).rglob("*.py"))

FLOORS = [
    {"errors", "extensions", "number_text", "settings"},
    {"storage", "execution"},
    {"sql", "predicates"},
    {"lake"},
    {"tables", "pinot"},
    # Libraries: usable alone.
    {"skipping"},
    {"file_metadata"},
    {"secondary", "star_tree"},
    {"spark"},
    # The advisor.
    {"advisor.workload", "advisor.latency", "advisor.verification"},
    {"advisor.run"},
    {"advisor.families"},
    {"advisor.cost"},
    {"advisor.selection"},
    # The rim.
    {"night"},
    {"reports"},
    {"orchestration"},
    {"cli"},
]
"""The floors of the house, lowest first; a module imports from its own floor and from those below it."""

LEVEL = {part: level for level, parts in enumerate(FLOORS) for part in parts}

LIBRARIES = ("file_metadata", "skipping", "secondary", "star_tree", "spark")
ABOVE_LIBRARIES = ("advisor", "night", "reports", "orchestration", "cli")

HOMES = {
    "pyspark": ("spark", "night.stage_job"),
    "great_expectations": ("night.quality",),
    "airflow": ("orchestration",),
}
"""Each engine may be imported in one part of the package only, and by the main function of Spark's jobs."""

ENGINES = ("spark", "night.quality", "orchestration")
MAX_LINES = 400


REGISTER = PACKAGE / "night" / "stage_functions.py"
"""Has the functions and gates of all stages for whoever runs them, those of families and of reports, too."""


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return what tests look for in a file: imports, attributes and constants; whole trees would be large."""
    kinds = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Constant)
    return tuple(
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)
    )


def part_of(module: str) -> str:
    """Return the name of a module's floor, such as ``sql``, or of one of the advisor's: ``advisor.cost``."""
    names = module.split(".")[1:]
    return ".".join(names[: 2 if names[:1] == ["advisor"] else 1])


def lies_in(module: str, places: Iterable[str]) -> bool:
    """Return whether a module lies in one of some folders of the package, or is one of some modules."""
    return any(f"{module}.".startswith(f"starskip.{place}.") for place in places)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports: at the top, in a function, for types."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""
            # ``from starskip import sql`` names a part, too.
            yield from (f"{node.module}.{name.name}" for name in node.names if node.module == "starskip")


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
    added = project["entry-points"]
    assert {place.partition(".")[0] for of in added.values() for place in of.values()} == set(BESIDE)
    for group, of in added.items():
        for place in of.values():
            resolve_name(place)
        recorded = {each.name: each.value for each in extensions(group).values() if comes_with_starskip(each)}
        assert recorded == of, "starskip was installed with another pyproject.toml: make setup"
    assert set(added) == set(GROUPS)


@cache
def imports() -> tuple[tuple[Path, str], ...]:
    """Return files with the modules that they import; when a test asks, not for whoever collects tests."""
    return tuple((path, module) for path in FILES for module in imports_of(path))


def named(path: Path, module: str) -> str:
    return f"{module_of(path)} imports {module}"


def test_every_part_has_its_floor() -> None:
    parts = {part_of(module_of(path)) for path in FILES} - {"", "advisor"}
    assert parts == LEVEL.keys()


def test_no_import_points_upward() -> None:
    upward = [
        named(path, module)
        for path, module in imports()
        if module.startswith("starskip.")
        and LEVEL[part_of(module)] > LEVEL.get(part_of(module_of(path)), -1)
        and not (path == REGISTER and lies_in(module, ["reports"]))
    ]
    assert upward == []


def test_no_imports_go_in_a_circle() -> None:
    """Imports in functions and those for types count: who reads one module of a circle has to read all."""
    modules = {module_of(path) for path in FILES}
    imported: dict[str, set[str]] = {}
    for path in FILES:
        named = {
            f"{node.module}.{name.name}"
            for node in nodes_of(path)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }
        # ``from package import name`` names a module, or something of the package itself.
        found = {each if each in modules else each.rpartition(".")[0] for each in named}
        imported[module_of(path)] = (found | set(imports_of(path))) & modules
    with_it = {module: others - {module} for module, others in imported.items()}
    try:
        TopologicalSorter(with_it).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_no_function_is_named_by_a_text() -> None:
    """An import in a function says the same, and editors and mypy follow it."""
    place = re.compile(r"starskip(\.\w+)+:\w+")
    named = [
        (module_of(path), node.value)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and place.fullmatch(node.value)
    ]
    assert named == []


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
    _run_without(engines, [f"import {module}" for module in modules])


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
    _run_without(HOMES, [secondary, star_tree])


def _run_without(engines: Iterable[str], statements: Iterable[str]) -> None:
    """Run statements in a fresh process, without the advisor, what it alone needs, and some engines."""
    absent = [*engines, *BESIDE, *_needed_above_alone(), *(f"starskip.{part}" for part in ABOVE_LIBRARIES)]
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


def test_engines_never_import_one_another() -> None:
    def engine_of(module: str) -> str:
        return next((engine for engine in ENGINES if lies_in(module, [engine])), "")

    across = [
        named(path, module)
        for path, module in imports()
        if engine_of(module) and engine_of(module_of(path)) not in ("", engine_of(module))
    ]
    assert across == []


def test_each_engine_is_imported_in_its_home_only() -> None:
    strays = [
        named(path, module)
        for path, module in imports()
        if (homes := HOMES.get(module.split(".")[0])) and not lies_in(module_of(path), homes)
    ]
    assert strays == []


def test_duckdb_has_one_home() -> None:
    homes = {module_of(path) for path, module in imports() if module.split(".")[0] == "duckdb"}
    assert homes == {"starskip.sql.sandboxed_duckdb"}


FOOTERS_ELSEWHERE = {
    # Of files that this package has written itself, whose names are compared there: nobody else opens one.
    "storage/checked_parquet.py",
    "advisor/families/star_tree/recommend/document_bytes.py",
    # Of a table's files, whose row groups are read: one has the footer from ``lake`` already, the other reads
    # all of a file at once.
    "secondary/read_rows.py",
    "star_tree/build/source_table.py",
}


def test_footers_of_a_tables_files_are_read_in_one_part() -> None:
    calls = {
        (path.relative_to(PACKAGE).as_posix(), node.attr)
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute)
        and node.attr in ("read_metadata", "ParquetFile")
        and isinstance(node.value, ast.Name)
        and node.value.id == "pq"
    }
    assert {path for path, name in calls if name == "read_metadata"} == {"lake/parquet/parquet_footers.py"}
    outside = {path for path, _ in calls if not path.startswith("lake/")}
    assert outside == FOOTERS_ELSEWHERE
    given = (PACKAGE / "secondary/read_rows.py").read_text(encoding="utf-8")
    assert given.count("pq.ParquetFile(") == given.count("metadata=footer") == 1


FAMILIES = {"inverted", "range", "sorted", "star_tree", "skipping", "secondary"}
HOMES_OF_FAMILIES = ("advisor/families/", "pinot/column_indexes/", *(f"{library}/" for library in LIBRARIES))
NAMED_OTHERWISE = {
    # Commands and their JSON; an operator of SQL; a request for a part of an object.
    "cli/main.py",
    "cli/secondary.py",
    "cli/skipping.py",
    "cli/sql.py",
    "sql/predicate.py",
    "storage/files/object_reader.py",
}


def test_families_are_values_and_nobody_asks_for_their_names() -> None:
    named_families = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in FAMILIES
    }
    outside = {path for path in named_families if not path.startswith(HOMES_OF_FAMILIES)}
    assert outside == NAMED_OTHERWISE


FOLDERS_OF_FAMILIES = re.compile(
    r"starskip\.advisor\.families\.(column_indexes|star_tree|skipping|secondary)\b"
)
USE_A_FAMILY = {
    "reports/advice_evidence.py": "star-trees stand in report.json under names of their own",
    "reports/config_block.py": "star-trees stand in report.json under names of their own",
    "reports/evidence.py": "report.json has fields for star-trees and skipping indexes",
    "reports/shapes_evidence.py": "a shape tells which star-tree answers it",
    "reports/table_evidence.py": "a shape tells which star-tree answers it",
}
"""Modules outside of the families' folders that import from one, with the reason; none may be added."""


def test_no_other_module_uses_a_single_family() -> None:
    homes = ("advisor.families", "cli")
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path, module in imports()
        if FOLDERS_OF_FAMILIES.match(module) and not lies_in(module_of(path), homes) and path != REGISTER
    }
    assert users == set(USE_A_FAMILY), "name what is new as a hook of Family; take off what is gone"


def test_no_template_outside_of_the_families_asks_for_their_names() -> None:
    quoted = re.compile(rf"""["']({"|".join(FAMILIES)})["']""")
    templates = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.j2")}
    assert sum(name.startswith(HOMES_OF_FAMILIES) for name in templates) >= 4
    outside = {name: path for name, path in templates.items() if not name.startswith(HOMES_OF_FAMILIES)}
    assert [name for name, path in outside.items() if quoted.search(path.read_text(encoding="utf-8"))] == []


def test_nothing_reads_what_lies_outside_of_the_package() -> None:
    outside = {"include", "tests", "dags", "plugins", "spark_jobs", "benchmarks"}
    assert [named(path, module) for path, module in imports() if module.split(".")[0] in outside] == []


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


def test_every_module_says_what_it_is() -> None:
    silent = [
        module_of(path)
        for path in (*FILES, *FILES_BESIDE)
        if (tree := ast.parse(path.read_text(encoding="utf-8"))).body and not ast.get_docstring(tree)
    ]
    assert silent == []


def test_no_file_outgrows_its_reader() -> None:
    lines = {
        module_of(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in (*FILES, *FILES_BESIDE)
    }
    assert {module: count for module, count in lines.items() if count > MAX_LINES} == {}


def test_no_file_names_a_path_of_one_machine() -> None:
    rooted = re.compile(r"""["'(\s]/(?:home|root|work|tmp|Users)/""")
    assert [
        module_of(path) for path in (*FILES, *FILES_BESIDE) if rooted.search(path.read_text(encoding="utf-8"))
    ] == []


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5, as in Debian 12, loses its place in ``(?:a|b)*+``, not in ``(?>(?:a|b)*)``."""
    repeated = re.compile(r"\)(?:[*+?]|\{[\d,]+\})\+")
    texts = {
        (module_of(path), node.value if isinstance(node.value, str) else node.value.decode("latin-1"))
        for path in FILES
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    }
    assert len(texts) > 1_000
    assert {place for place, text in texts if repeated.search(text)} == set()


@pytest.mark.parametrize("folder", ["utils", "helpers", "common", "base", "manager", "core"])
def test_no_module_is_called(folder: str) -> None:
    assert [path.name for path in PACKAGE.rglob("*") if path.stem == folder] == []


def test_the_core_runs_where_no_engine_is_installed() -> None:
    above = {home for homes in HOMES.values() for home in homes} | {"cli"}
    core = [module_of(path) for path in FILES if not lies_in(module_of(path), above)]
    assert len(core) > 80
    script = "\n".join(
        [
            "import importlib, sys",
            f"for engine in {sorted(HOMES)!r}:",
            "    sys.modules[engine] = None",
            f"for module in {core!r}:",
            "    importlib.import_module(module)",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
