"""``starskip skipping`` before Spark is started: wrong arguments, modules, tables that are not there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import Result
from starskip.cli.skipping_contents import explained_text
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import TableState
from starskip.storage.local_storage import LocalStorage

Call = Callable[..., Result]

MODULE = """from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import register


@register
class Flawed(ColumnIndex):
    kind = "flawed"

    def __init__(self, columns, arguments=()):
        super().__init__(columns)
        raise ZeroDivisionError(f"of {self.columns[0]}")
"""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "starskip.spark.command_session", None)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table whose metadata is of an index type that no module told of."""
    folder = tmp_path / "t"
    state = TableState(TableSource(f"file:{folder}", "parquet", {}), {"flawed:c": True}, {})
    metadata_chain(LocalStorage(folder / "_starskip")).commit(
        lambda _: state.to_parts(), commit_id="one", created_at=datetime.now(UTC), created_by="a test"
    )
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with a module of an index type."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("starskip.skipping.registry._types", {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "flawed_types.py").write_text(MODULE)
    yield tmp_path
    sys.modules.pop("flawed_types", None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--index", "foo:ts"], "no index type is called foo"),
        (["--index", "minmax:"], "write KIND:COLUMN"),
        (["--index", "minmax:ts:extra"], "minmax takes no arguments"),
        (["--index", "bloom:id:abc"], "ratio of false positives"),
        (["--index", "bloom:id:2"], "ratio of false positives"),
        (["--index", "hybrid:url:-5"], "write hybrid:COLUMN"),
        (["--index", "prefix:url"], "write prefix:COLUMN:CHARACTERS"),
        (["--index", "prefix:url:0"], "write prefix:COLUMN:CHARACTERS"),
        (["--index", "gaplist:gap:x"], "write gaplist:COLUMN"),
        (["--index", "geobox:lat"], "write geobox:LAT,LNG"),
        (["--index", "formatted:ua"], "write formatted:COLUMN:FORMAT"),
        (["--index", "metricdist:word:foo"], "write metricdist:COLUMN"),
        (["--index", "minmax:ts", "--option", "foo"], "'foo' is not KEY=VALUE"),
        (["--index", "minmax:ts", "--option", "=foo"], "'=foo' is not KEY=VALUE"),
        (["--index", "minmax:ts", "--format", "nosuch"], "'nosuch' is not one of 'text', 'json', 'parquet'"),
        (["--index", "minmax:ts", "--index", "foo:ts"], "no index type is called foo"),
        ([], "Missing option '--index'"),
    ],
)
def test_wrong_arguments(call: Call, tmp_path: Path, arguments: list[str], message: str) -> None:
    found = call("skipping", "create", tmp_path, *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr and "Usage: " in found.stderr


@pytest.mark.parametrize(
    "command", ["refresh", "optimize", "delete", "restore", "vacuum", "describe", "list", "explain"]
)
def test_a_folder_that_is_not_there_or_has_no_metadata(call: Call, tmp_path: Path, command: str) -> None:
    condition = ["id = 3"] if command == "explain" else []
    for path, why in (("gone", "there is no such folder"), (".", "there is no metadata")):
        found = call("skipping", command, tmp_path / path, *condition)
        assert (found.exit_code, found.stdout) == (3, "")
        assert why in found.stderr and len(found.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        "create",
        "refresh",
        "optimize",
        "delete",
        "restore",
        "vacuum",
        "rotate",
        "describe",
        "list",
        "explain",
    ],
)
def test_every_command_explains_itself_with_an_example(call: Call, command: str) -> None:
    found = call("skipping", command, "--help")
    assert found.exit_code == 0
    assert f"starskip skipping {command} /lake/" in found.stdout


@pytest.mark.parametrize("group", ["skipping", "secondary"])
@pytest.mark.parametrize("grace", ["nan", "-1", "1e300"])
def test_a_grace_that_is_no_number_of_hours(call: Call, tmp_path: Path, group: str, grace: str) -> None:
    found = call(group, "vacuum", tmp_path, "--grace-hours", grace)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "--grace-hours" in found.stderr


def test_bytes_that_a_format_does_not_tell_are_shown_as_unknown() -> None:
    document = {"files_total": 4, "files_read": 1, "bytes_total": None, "bytes_read": 2048}
    text = explained_text({**document, "skipped_by": {"bloom:u": 3}, "not_skipped_because": []})
    assert text.startswith("reads 1 of 4 files, 2.05 kB of unknown\n")


def test_metadata_elsewhere_of_a_table_that_is_gone(call: Call, tmp_path: Path) -> None:
    found = call("skipping", "describe", tmp_path / "gone", "--metadata", tmp_path)
    assert found.exit_code == 3 and "there is no such folder" in found.stderr


def test_a_table_that_is_a_file(call: Call, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("{}")
    for command in ("list", "vacuum"):
        found = call("skipping", command, tmp_path / "t.json")
        assert found.exit_code == 3 and "there is no metadata" in found.stderr


def test_an_index_of_a_type_that_no_module_told_of(call: Call, table: Path) -> None:
    found = call("skipping", "refresh", table)
    assert found.exit_code == 3
    assert "no index type is called flawed" in found.stderr
    assert "name its module with --types" in found.stderr
    assert "unknown type: --types" in call("skipping", "describe", table).stdout


def test_a_module_of_the_current_folder_and_what_it_raises(call: Call, here: Path, table: Path) -> None:
    for command in (["create", "--index", "flawed:c"], ["refresh"]):
        name, *arguments = command
        found = call("skipping", name, table, *arguments, "--module", "flawed_types")
        assert (found.exit_code, found.stdout) == (3, "")
        assert found.stderr == "starskip: module flawed_types, line 11: raised ZeroDivisionError: of c\n"
    told = call("skipping", "describe", table, "--module", "flawed_types")
    assert told.exit_code == 0 and "flawed:c  ZeroDivisionError: of c" in told.stdout


def test_a_module_that_is_not_there(call: Call, here: Path, table: Path) -> None:
    found = call("skipping", "describe", table, "--module", "no_such.module")
    assert found.exit_code == 3
    assert "'no_such.module' of index types cannot be imported: Python finds none" in found.stderr
    assert "PYTHONPATH" in found.stderr


def test_what_others_raise_is_no_fault_of_a_module(
    call: Call, here: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "flawed_types.py").write_text("")
    monkeypatch.setattr("starskip.file_metadata.describe_metadata.describe_metadata", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call("skipping", "describe", table, "--module", "flawed_types")
