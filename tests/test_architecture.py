"""The floors of the package: who may import whom."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest
from package_files import (
    FILES,
    HOMES,
    LIBRARIES,
    PACKAGE,
    imports,
    imports_of,
    lies_in,
    module_of,
    named,
    nodes_of,
    part_of,
)

FLOORS = [
    {"errors", "extensions", "extras", "number_text", "settings", "user_modules"},
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
    {"advisor.ledger"},
    {"advisor.cost"},
    {"advisor.selection"},
    {"advisor.deployment"},
    # The rim.
    {"night"},
    {"reports"},
    {"airflow"},
    {"cli"},
    {"__main__"},
]
"""The floors of the house, lowest first; a module imports from its own floor and from those below it."""


LEVEL = {part: level for level, parts in enumerate(FLOORS) for part in parts}


ENGINES = ("spark", "night.quality", "airflow")


REGISTER = PACKAGE / "night" / "stage_functions.py"
"""Has the functions and gates of all stages for whoever runs them, those of families and of reports, too."""


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


def test_engines_never_import_one_another() -> None:
    def engine_of(module: str) -> str:
        return next((engine for engine in ENGINES if lies_in(module, [engine])), "")

    across = [
        named(path, module)
        for path, module in imports()
        if engine_of(module) and engine_of(module_of(path)) not in ("", engine_of(module))
    ]
    # A gate is a task: the DAG's file says what its tasks do, and imports it when one of them runs.
    assert across == ["starskip.airflow.nightly_dag imports starskip.night.quality.check_stage"]


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
    "pinot/segments/pulled_rows.py",
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
    # Commands and their JSON; an operator of SQL; a request for a part of an object; JSON of Pinot's.
    "cli/main.py",
    "cli/secondary.py",
    "cli/skipping.py",
    "cli/sql.py",
    "pinot/cluster/pulled_metadata.py",
    "sql/predicate.py",
    # A key of the servers' metadata of a column.
    "advisor/deployment/table_segments.py",
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
