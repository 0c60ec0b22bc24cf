"""docs/python-api.md promises names: each is there, says what it is, and examples take no others."""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.skipping import own_types
from starskip.spark import skipping
from starskip.star_tree import build_and_ask

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = (DOCS / "python-api.md").read_text(encoding="utf-8")
NAMES = re.findall(r"^\| `(starskip(?:\.\w+)+)` \| \S", PAGE, flags=re.MULTILINE)
VALUES = {"Expression", "FORMATS", "Mask", "NUMBERS", "ORDERED", "TEXTS", "TIMES"}
"""Promised values: a value has no docstring of its own, the page says what it is."""


# Airflow reads its environment when it is first imported: tests/dags asks for its names.
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("starskip.airflow.")])
def test_a_promised_name_is_there_and_says_what_it_is(name: str) -> None:
    found = resolve_name(name)
    if name.rpartition(".")[2] in VALUES:
        assert not inspect.isroutine(found) and not isinstance(found, ModuleType)
    else:
        told = found.__doc__ or ""
        # A dataclass without a docstring gets its signature for one.
        assert told.strip() and not told.startswith(f"{name.rpartition('.')[2]}(")


def test_names_are_promised_once() -> None:
    assert len(NAMES) == len(set(NAMES)) > 80


@pytest.mark.parametrize("module", [skipping, own_types, build_and_ask])
def test_a_public_module_is_promised_whole(module: ModuleType) -> None:
    promised = {name.rpartition(".")[2] for name in NAMES if name.startswith(f"{module.__name__}.")}
    assert promised == set(module.__all__)


def imported(code: str) -> Iterator[str]:
    """Yield the names that some code imports from the package, by their full names."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "starskip":
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.partition(".")[0] == "starskip")


def examples() -> Iterator[Any]:
    for page in sorted([ROOT / "README.md", *DOCS.glob("*.md")]):
        text = page.read_text(encoding="utf-8")
        for number, code in enumerate(re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)):
            if "starskip" in code:
                yield pytest.param(code, id=f"{page.stem}-{number}")
    for file in sorted((DOCS / "examples").rglob("*.py")):
        yield pytest.param(file.read_text(encoding="utf-8"), id=file.name)


@pytest.mark.parametrize("code", list(examples()))
def test_an_example_imports_promised_names_alone(code: str) -> None:
    # ``from starskip.spark import skipping``: a module whose functions are promised.
    modules = {name.rpartition(".")[0] for name in NAMES}
    assert set(imported(code)) <= {*NAMES, *modules}


def test_the_example_of_a_star_tree_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"city": ["Oslo", "Rome"] * 500, "price": range(1_000)}), "sales.parquet")
    os.utime("sales.parquet", (1_700_000_000, 1_700_000_000))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["answer"].star_tree
    assert names["answer"].table.column(0).to_pylist() == [250_000]
