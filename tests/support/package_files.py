"""The files of the packages, and the modules that each imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2] / "include"


PACKAGE = ROOT / "starskip"


FILES = sorted(PACKAGE.rglob("*.py"))


BESIDE = ("starskip_contrib", "starskip_opensearch")
"""Packages of the same distribution, which the core finds by their entry points alone."""


FILES_BESIDE = sorted(path for package in BESIDE for path in (ROOT / package).rglob("*.py"))


LIBRARIES = ("file_metadata", "skipping", "secondary", "star_tree", "spark")


ABOVE_LIBRARIES = ("advisor", "night", "reports", "airflow", "cli")


HOMES = {
    "pyspark": ("spark", "night.stage_job", "night.job"),
    "great_expectations": ("night.quality",),
    "airflow": ("airflow",),
}
"""Each engine may be imported in one part of the package only, and by the main function of Spark's jobs."""


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


@cache
def imports() -> tuple[tuple[Path, str], ...]:
    """Return files with the modules that they import; when a test asks, not for whoever collects tests."""
    return tuple((path, module) for path in FILES for module in imports_of(path))


def named(path: Path, module: str) -> str:
    return f"{module_of(path)} imports {module}"
