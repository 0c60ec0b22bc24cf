"""Packages that add to Starskip by entry points: those beside it and a user's, in the same way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import starskip

INCLUDE = Path(starskip.__file__).parents[1]

TYPE = """
from starskip.skipping.index_types.column_index import ColumnIndex

class Months(ColumnIndex):
    kind = "months"
"""
STORAGE = """
from starskip.storage.local_storage import LocalStorage

def opened(location, patience_s):
    return LocalStorage(("/shelf", location, patience_s))
"""
ENTRY_POINTS = """
[starskip.index_types]
months = of_a_user.months:Months
weeks = of_a_user.months:Months
days = of_a_user.no_such_module:Days
metricdist = of_a_user.months:Months

[starskip.storages]
shelf = of_a_user.shelf:opened

[starskip.log_formats]
proxy = of_a_user.proxy
"""
FORMAT = """
def unwrapped(line):
    return line.removeprefix("proxy ") if line.startswith("proxy ") else None

WRAPPERS = (unwrapped,)
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A folder of Python's path with a user's package, as pip installs one."""
    for name, text in {
        "of_a_user/__init__.py": "",
        "of_a_user/months.py": TYPE,
        "of_a_user/shelf.py": STORAGE,
        "of_a_user/proxy.py": FORMAT,
        "of_a_user-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: of-a-user\nVersion: 1.0\n",
        "of_a_user-1.0.dist-info/entry_points.txt": ENTRY_POINTS,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def printed(folder: Path, *lines: str) -> str:
    """Return what a fresh process prints that has ``folder`` on its path, or the last line of its error."""
    path = os.pathsep.join([str(folder), str(INCLUDE)])
    ran = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    return ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]


def kind_printed(folder: Path, specification: str, *before: str) -> str:
    """Return the class that a specification gives, or the last line of the error."""
    return printed(
        folder,
        *before,
        "from starskip.skipping.registry import index_from_specification",
        f"print(type(index_from_specification({specification!r})))",
    )


def test_an_index_type_of_an_installed_package_needs_no_module_to_be_named(installed: Path) -> None:
    assert kind_printed(installed, "months:ts") == "<class 'of_a_user.months.Months'>"


def test_a_type_that_comes_with_starskip_keeps_its_kind(installed: Path) -> None:
    assert kind_printed(installed, "metricdist:c:euclidean") == (
        "<class 'starskip_contrib.metric_dist.MetricDist'>"
    )


def test_an_entry_point_that_leads_nowhere_is_told_in_one_line(installed: Path) -> None:
    assert kind_printed(installed, "weeks:ts").endswith(
        "ConfigError: of_a_user.months:Months is no index type whose kind is weeks"
    )
    assert kind_printed(installed, "days:ts").endswith(
        "ConfigError: days needs of_a_user.no_such_module, which cannot be imported: ModuleNotFoundError: "
        "No module named 'of_a_user.no_such_module'; install of-a-user again, with what it needs"
    )


def test_a_storage_of_an_installed_package(installed: Path) -> None:
    opened = printed(
        installed,
        "from starskip.file_metadata.metadata_storage import files_root, metadata_storage",
        "print(metadata_storage('tls+shelf://x/t', patience_s=0).root, files_root('shelf://x'))",
    )
    assert opened == "('/shelf', 'tls+shelf://x/t', 0) None"


def test_a_package_beside_starskip_that_is_gone_is_named(tmp_path: Path) -> None:
    gone = "import sys; sys.modules['starskip_contrib'] = None"
    assert "ConfigError: metricdist needs starskip_contrib.metric_dist, which cannot be imported" in (
        kind_printed(tmp_path, "metricdist:c:euclidean", gone)
    )


@pytest.mark.parametrize("library", ["opensearchpy", "tenacity"])
def test_a_library_of_opensearch_that_is_absent_is_named_with_its_extra(tmp_path: Path, library: str) -> None:
    told = printed(
        tmp_path,
        f"import sys; sys.modules[{library!r}] = None",
        "from starskip.file_metadata.metadata_storage import metadata_storage",
        "metadata_storage('opensearch://127.0.0.1:1/p/t', patience_s=0).read('x')",
    )
    name = {"opensearchpy": "opensearch-py"}.get(library, library)
    assert told.endswith(
        f"ConfigError: metadata in OpenSearch needs the library {name}: pip install 'starskip[opensearch]'"
    )


def test_where_nothing_is_recorded_one_line_tells_how_to_mend_it(tmp_path: Path) -> None:
    nothing = (
        "from starskip import extensions",
        "extensions.entry_points = lambda group: ()",
        "from starskip.file_metadata.metadata_storage import metadata_storage",
    )
    mend = "install it again (in a checkout: make setup)"
    assert kind_printed(tmp_path, "metricdist:c:euclidean", *nothing).endswith(mend)
    assert printed(tmp_path, *nothing, "metadata_storage('opensearch://h/p')").endswith(mend)


def test_a_store_of_a_user_is_not_opened_to_learn_whether_metadata_is_in_files(installed: Path) -> None:
    (installed / "of_a_user/shelf.py").write_text("raise ValueError")
    root = printed(
        installed,
        "from starskip.file_metadata.metadata_storage import files_root",
        "print(files_root('shelf://x'))",
    )
    assert root == "None"


@pytest.mark.parametrize("packages", ["()", "(EntryPoint('shelf', 'of_a_user.shelf:opened', group),)"])
def test_where_starskip_is_not_recorded_another_scheme_is_told_to_be_unknown(
    installed: Path, packages: str
) -> None:
    told = printed(
        installed,
        "from importlib.metadata import EntryPoint",
        "from starskip import extensions",
        f"extensions.entry_points = lambda group: {packages}",
        "from starskip.file_metadata.metadata_storage import metadata_storage",
        "metadata_storage('hdfs://h/p')",
    )
    assert "behind hdfs:, which is not known here; Python has no record of the packages beside" in told


def test_log_formats_of_a_package_are_read_unasked(installed: Path) -> None:
    found = printed(
        installed,
        "from starskip.pinot.logs.log_formats import log_formats",
        "print([(each.module, each.name) for each in log_formats().wrappers])",
    )
    assert found == "[('of_a_user.proxy', 'unwrapped')]"
