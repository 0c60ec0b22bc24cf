"""Rules for each file: a docstring that says what it is, a length, no path of one machine."""

from __future__ import annotations

import ast
import re

import pytest
from package_files import (
    FILES,
    FILES_BESIDE,
    PACKAGE,
    ROOT,
    module_of,
    nodes_of,
)

MAX_LINES = 400
PLACES = ("include", "tests", "benchmarks", "dags", "plugins", "spark_jobs", "docs")
ALL_FILES = sorted(path for place in PLACES for path in (ROOT.parent / place).rglob("*.py"))
"""All Python of the project, tests too."""
CLAUSE = re.compile(r"(?:What|Which|Who|Whose|How|Where|When|Why|Whether)\b")


def test_every_module_says_what_it_is() -> None:
    silent = [
        module_of(path)
        for path in (*FILES, *FILES_BESIDE)
        if (tree := ast.parse(path.read_text(encoding="utf-8"))).body and not ast.get_docstring(tree)
    ]
    assert silent == []


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    """A clause leaves its noun out. Texts below a constant are docstrings, too."""
    clauses = [
        f"{path.relative_to(ROOT.parent)}:{node.lineno}"
        for path in ALL_FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        and CLAUSE.match(node.value.value)
    ]
    assert clauses == []


def test_no_file_outgrows_its_reader() -> None:
    lines = {
        str(path.relative_to(ROOT.parent)): len(path.read_text(encoding="utf-8").splitlines())
        for path in ALL_FILES
    }
    assert {path: count for path, count in lines.items() if count > MAX_LINES} == {}


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
