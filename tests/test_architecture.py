"""The layers of the package: who may import whom, and what each file owes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path
from pkgutil import resolve_name

import pytest

ROOT = Path(__file__).parents[1] / "include"
PACKAGE = ROOT / "starskip"
FILES = sorted(PACKAGE.rglob("*.py"))

LAYERS = [
    {"errors", "number_text", "settings"},
    {"storage"},
    {"execution"},
    {"tables"},
    {"sql", "predicates"},
    {"pinot", "lake"},
    {"workload", "latency", "verification"},
    {"run"},
    {"indexes", "skipping"},
    {"configuration"},
    {"cost"},
    {"selection"},
    {"reports"},
    {"night"},
    {"spark", "quality", "orchestration"},
    {"cli"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

HOMES = {"pyspark": "spark", "great_expectations": "quality", "airflow": "orchestration"}
"""Each engine may be imported in one part of the package only."""

ENGINES = frozenset(HOMES.values())
MAX_LINES = 400


REGISTER = PACKAGE / "run" / "stages.py"
"""Names the functions of the stages, which lie above it, for whoever runs them."""


@cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return what tests look for in a file: imports, attributes and constants; whole trees would be large."""
    kinds = (ast.Import, ast.ImportFrom, ast.Attribute, ast.Constant)
    return tuple(
        node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)
    )


def place_of(node: ast.AST) -> str:
    """Return ``package.module:name`` where a node is such a text, which is imported when it is asked for."""
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and re.fullmatch(r"starskip(\.\w+)+:\w+", value) else ""


def part_of(module: str) -> str:
    """``starskip.sql.predicate`` is of part ``sql``."""
    return module.split(".")[1] if "." in module else ""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports: at the top, in a function, for types, by ``lazy.py``."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            yield node.module or ""
            # ``from starskip import sql`` names a part, too.
            yield from (f"{node.module}.{name.name}" for name in node.names if node.module == "starskip")
        elif path != REGISTER and (place := place_of(node)):
            yield place.partition(":")[0]


@cache
def imports() -> tuple[tuple[Path, str], ...]:
    """Return files with the modules that they import; when a test asks, not for whoever collects tests."""
    return tuple((path, module) for path in FILES for module in imports_of(path))


def named(path: Path, module: str) -> str:
    return f"{module_of(path)} imports {module}"


def test_every_part_has_its_layer() -> None:
    parts = {part_of(module_of(path)) for path in FILES} - {""}
    assert parts <= LEVEL.keys()


def test_no_import_points_upward() -> None:
    upward = [
        named(path, module)
        for path, module in imports()
        if module.startswith("starskip.") and LEVEL[part_of(module)] > LEVEL.get(part_of(module_of(path)), -1)
    ]
    assert upward == []


def test_what_is_imported_when_it_is_called_exists() -> None:
    places = {
        place for path in FILES if path != REGISTER for node in nodes_of(path) if (place := place_of(node))
    }
    assert len(places) >= 11
    for place in places:
        resolve_name(place)


def test_engines_never_import_one_another() -> None:
    across = [
        named(path, module)
        for path, module in imports()
        if module.startswith("starskip.")
        and {part_of(module), part_of(module_of(path))} <= ENGINES
        and part_of(module) != part_of(module_of(path))
    ]
    assert across == []


def test_each_engine_is_imported_in_its_home_only() -> None:
    strays = [
        named(path, module)
        for path, module in imports()
        if (home := HOMES.get(module.split(".")[0])) and part_of(module_of(path)) != home
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
HOMES_OF_FAMILIES = ("indexes/", "spark/skipping/")
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
    r"starskip\.indexes\.(inverted|range|sorted_column|star_tree|skipping|secondary)\b"
)
USE_A_FAMILY = {
    "night/configuration/night_from_config.py": "types of columns are written as star-trees cast to them",
    "advisor/cost/alternatives.py": "a sort order takes the place of another one",
    "advisor/cost/baseline_ranking.py": "the scores of Pinot's own tuner are for inverted indexes",
    "advisor/cost/expression_masks.py": "expressions of filters are evaluated in the DuckDB of star-trees",
    "advisor/cost/parser_selectivity.py": "the rule of Pinot's own tuner asks what an inverted index answers",
    "advisor/cost/read_overviews.py": "the setting untracked_inverted_index",
    "advisor/cost/table_source.py": "the setting untracked_inverted_index",
    "night/parse_query_logs.py": "Spark's event logs are parsed where skipping reads them",
    "reports/write_report.py": "loads users' index types, whose words the section shows",
    "night/quality/check_stage.py": "loads users' index types before gates judge them",
    "reports/advice_evidence.py": "star-trees stand in report.json under names of their own",
    "reports/config_block.py": "star-trees stand in report.json under names of their own",
    "reports/evidence.py": "report.json has fields for star-trees and skipping indexes",
    "reports/shapes_evidence.py": "a shape tells which star-tree answers it",
    "reports/table_evidence.py": "a shape tells which star-tree answers it",
    "advisor/selection/past_nights.py": "the sort order of the last advice is an index of its own",
}
"""Modules outside of the families' folders that import from one, with the reason; none may be added."""


def test_no_other_module_uses_a_single_family() -> None:
    homes = {"indexes", "cli", "spark"}
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path, module in imports()
        if FOLDERS_OF_FAMILIES.match(module) and part_of(module_of(path)) not in homes
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
    for path in FILES:
        for module in {module.partition(".")[0] for module in imports_of(path)}:
            if module not in sys.stdlib_module_names and module != "starskip":
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
        for path in FILES
        if (tree := ast.parse(path.read_text(encoding="utf-8"))).body and not ast.get_docstring(tree)
    ]
    assert silent == []


def test_no_file_outgrows_its_reader() -> None:
    lines = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {module: count for module, count in lines.items() if count > MAX_LINES} == {}


def test_no_file_names_a_path_of_one_machine() -> None:
    rooted = re.compile(r"""["'(\s]/(?:home|root|work|tmp|Users)/""")
    assert [module_of(path) for path in FILES if rooted.search(path.read_text(encoding="utf-8"))] == []


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
    above = ENGINES | {"cli"}
    core = [module_of(path) for path in FILES if part_of(module_of(path)) not in above]
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
