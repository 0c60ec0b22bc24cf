"""The core imports no library of an extra, and says in one line which extra is missing."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from package_files import FILES, ROOT, lies_in, module_of
from starskip.extras import EXTRAS

LIBRARIES = {
    library: {name for name, extra in EXTRAS.items() if library in extra.libraries}
    for extra in EXTRAS.values()
    for library in extra.libraries
}
HOMES: Mapping[str, tuple[str, ...]] = {
    "airflow": ("airflow",),
    "delta": ("lake.delta", "advisor.ledger.export_ledger"),
    "iceberg": ("lake.iceberg",),
    "pinot": ("pinot.cluster", "advisor.deployment"),
    "spark": ("spark", "night.job", "night.stage_job"),
}
"""Modules that may import libraries of an extra at their top; others import them as they import those."""
BEHIND_A_DOOR = {"starskip.sql.sandboxed_duckdb"}
"""Modules whose functions need an object that another function has made within ``needing_extra``."""


class _Imports(ast.NodeVisitor):
    """The modules that a file imports: at its top, and in functions with the extras named around them."""

    def __init__(self) -> None:
        self.at_top: set[str] = set()
        self.in_functions: list[tuple[str, frozenset[str]]] = []
        self._functions = 0
        self._around: list[str] = []

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._functions += 1
        self.generic_visit(node)
        self._functions -= 1

    def visit_With(self, node: ast.With) -> None:
        calls = [item.context_expr for item in node.items]
        named = [
            ast.literal_eval(call.args[0])
            for call in calls
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "needing_extra"
        ]
        self._around += named
        self.generic_visit(node)
        del self._around[len(self._around) - len(named) :]

    def visit_Import(self, node: ast.Import) -> None:
        self._add(*(each.name for each in node.names))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        # ``from package import name`` may name a module.
        self._add(node.module or "", *(f"{node.module}.{each.name}" for each in node.names))

    def _add(self, *names: str) -> None:
        if self._functions:
            self.in_functions += [(name, frozenset(self._around)) for name in names]
        else:
            self.at_top.update(names)


@cache
def _imports() -> dict[str, _Imports]:
    # To parse all files would take some seconds.
    homes = [f"starskip.{home}" for of in HOMES.values() for home in of]
    mentioned = re.compile("|".join(map(re.escape, [*LIBRARIES, *homes])))
    found = {}
    for path in filter(lambda path: mentioned.search(path.read_text(encoding="utf-8")), FILES):
        visitor = found[module_of(path)] = _Imports()
        visitor.visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


@cache
def _needing() -> dict[str, set[str]]:
    """Return by module the extras whose libraries it needs to be imported, directly or by another module."""
    needing: dict[str, set[str]] = {module: set() for module in _imports()}
    is_changed = True
    while is_changed:
        is_changed = False
        for module, imports in _imports().items():
            for name in imports.at_top:
                more = _extras_of(name, needing) - needing[module]
                needing[module] |= more
                is_changed = is_changed or bool(more)
    return needing


def _extras_of(name: str, needing: Mapping[str, set[str]]) -> set[str]:
    library = name.partition(".")[0]
    return LIBRARIES.get(library, set()) | needing.get(name, set())


def test_no_module_of_the_core_needs_an_extra_to_be_imported() -> None:
    at_home = {module for module in _imports() if any(lies_in(module, of) for of in HOMES.values())}
    assert {module: extras for module, extras in _needing().items() if extras and module not in at_home} == {}


def test_what_an_extra_brings_is_imported_where_a_missing_one_is_told() -> None:
    needing = _needing()
    untold = [
        f"{module} imports {name}"
        for module, imports in _imports().items()
        if module not in BEHIND_A_DOOR and not any(lies_in(module, of) for of in HOMES.values())
        for name, around in imports.in_functions
        if (extras := _extras_of(name, needing)) and not extras & around
    ]
    assert untold == []


# ``sys.modules[name] = None`` would not do: compiled code takes None for the module.
_BLOCKED = f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted({each.partition(".")[0] for each in LIBRARIES})}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""


def _without_extras(script: str, *arguments: Path | str) -> str:
    """Return what a script prints in a fresh process that can import no library of an extra."""
    done = subprocess.run(
        [sys.executable, "-c", _BLOCKED + script, *map(str, arguments)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """Return a folder with a plain table, and with Delta and Iceberg tables as their signs show them."""
    rows = pa.table({"x": [1, 2, 3]})
    for name, sign in (
        ("plain", ""),
        ("delta", "_delta_log/0.json"),
        ("iceberg", "metadata/v1.metadata.json"),
    ):
        (tmp_path / name).mkdir()
        pq.write_table(rows, tmp_path / name / "rows.parquet")
        if sign:
            (tmp_path / name / sign).parent.mkdir()
            (tmp_path / name / sign).write_text("{}")
    return tmp_path


_COMMANDS = {
    "delta": ("secondary", "create", "delta", "--index", "btree:x"),
    "iceberg": ("secondary", "create", "iceberg", "--index", "btree:x"),
    "spark": ("skipping", "create", "plain", "--index", "minmax:x"),
    "star-trees": ("tune", "--index", "star_tree", "--log", "no.log", "--segments", "no"),
}
_SCRIPT = """
import json, os
from click.testing import CliRunner
from starskip.cli.main import main
os.chdir(sys.argv[1])
results = [CliRunner().invoke(main, each) for each in json.loads(sys.argv[2])]
print(json.dumps([[each.exit_code, each.stdout, each.stderr] for each in results]))
"""


def test_a_command_names_the_missing_extra_in_one_line(tables: Path) -> None:
    found = json.loads(_without_extras(_SCRIPT, tables, json.dumps(list(_COMMANDS.values()))))
    for extra, (code, stdout, stderr) in zip(_COMMANDS, found, strict=True):
        purpose, library = EXTRAS[extra].purpose, next(iter(EXTRAS[extra].libraries.values()))
        line = f"{purpose[0].upper()}{purpose[1:]} need {library}, which is not installed"
        assert (code, stdout) == (3, ""), stderr
        assert stderr == f"starskip: {line}: pip install 'starskip[{extra}]'\n"


def test_plain_files_need_no_extra(tables: Path) -> None:
    commands = [
        ["secondary", "create", "plain", "--index", "btree:x"],
        ["secondary", "query", "plain", "x = 2"],
        ["secondary", "describe", "plain"],
    ]
    for code, _, stderr in json.loads(_without_extras(_SCRIPT, tables, json.dumps(commands))):
        assert code == 0, stderr


_NIGHT = """
store: {{artefacts: {folder}/night}}
sources:
  log_paths: [{sample}/logs]
  segments_root: {sample}/segments
  table_configs: [{sample}/config/airlineStats_table.json, {sample}/config/lineitem_table.json]
"""


@pytest.mark.slow
def test_the_night_of_pinots_tables_runs_without_any_extra(tmp_path: Path) -> None:
    sample, config = ROOT / "sample", tmp_path / "night.yaml"
    config.write_text(_NIGHT.format(folder=tmp_path, sample=sample))
    tune = ["tune", "--log", str(sample / "logs"), "--segments", str(sample / "segments"), "--index", "all"]
    tune += ["--tables", "airlineStats"]
    commands = [
        ["parse-log", str(sample / "logs")],
        ["quantile-report", "--log", str(sample / "logs")],
        [
            "collect-metadata",
            "--segments",
            str(sample / "segments"),
            "--output",
            str(tmp_path / "metadata.json"),
        ],
        tune,
        ["stage", "all", "--config", str(config), "--run-date", "2026-11-20", "--tables", "lineitem"],
    ]
    found = json.loads(_without_extras(_SCRIPT, tmp_path, json.dumps(commands)))
    assert [code for code, _, _ in found] == [0] * len(commands), found
    assert "no star-tree is advised: Star-trees and computed filters need duckdb" in found[3][2]
    (page,) = tmp_path.glob("night/reports/**/*report.html")
    text = page.read_text()
    assert "<picture>" not in text
    assert "Pictures in reports need vl-convert-python" in text
    assert "need duckdb" in text
