"""Log formats from users' own modules: that of docs/add-a-log-format.md, and modules that are wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from starskip.pinot.logs.log_formats import log_formats
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-log-format.md").read_text(encoding="utf-8")
NIGHT = """
store: {{artefacts: artefacts}}
sources: {{log_paths: [proxy.log], segments_root: {segments}}}
settings: {{log: {{formats: proxy_log}}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with the page's module and its log; what is imported from there is forgotten."""
    for language, name in (("python", "proxy_log.py"), ("text", "proxy.log")):
        (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)[:1]
        (tmp_path / name).write_text(found)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    log_formats.cache_clear()
    for name in ("proxy_log", "broken"):
        sys.modules.pop(name, None)


def test_the_format_of_the_page_is_read_by_parse_log(folder: Path, call: Callable[..., Result]) -> None:
    result = call("parse-log", "proxy.log", "--formats", "proxy_log", "--format", "json")
    told = json.loads(result.stdout)
    assert (told["lines"], told["records"], told["queries"]) == (3, 2, 2)
    assert told["wrapped"] == {"collector": 2}
    without = json.loads(call("parse-log", "proxy.log", "--format", "json").stdout)
    assert not without["queries"]


def test_the_format_of_the_page_is_read_by_quantile_report(folder: Path, call: Callable[..., Result]) -> None:
    result = call("quantile-report", "--log", "proxy.log", "--formats", "proxy_log", "--format", "json")
    (report,) = json.loads(result.stdout)["tables"].values()
    assert report["queries"] == 2


def test_the_format_of_the_page_is_read_by_tune(
    folder: Path, call: Callable[..., Result], deep_store: Path
) -> None:
    common = ("--log", "proxy.log", "--segments", deep_store, "--index", "inverted", "--format", "json")
    result = call("tune", *common, "--formats", "proxy_log")
    advice = json.loads(result.stdout)["tables"]["airlineStats"]
    assert (advice["queries"], advice["unparsed"]) == (2, 0)
    assert set(advice["inverted_index_columns"]) == {"Origin", "Dest"}
    assert json.loads(call("tune", *common, "--set", "log.formats=proxy_log").stdout) == json.loads(
        result.stdout
    )


def test_the_format_of_the_page_is_read_by_a_night(
    folder: Path, call: Callable[..., Result], deep_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its module lies beside the configuration, and not in the current folder."""
    (folder / "night.yaml").write_text(NIGHT.format(segments=deep_store))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    for stage in ("collect_segment_metadata", "parse_query_logs"):
        result = call("stage", stage, "--config", folder / "night.yaml", "--run-date", "2026-11-20")
        assert result.exit_code == 0, result.stderr
    queries = ArtefactStore(storage_for(str(folder / "artefacts"))).snapshot("queries", "2026-11-20")
    assert queries is not None
    rows = queries.read_table(["airlineStats"]).to_pylist()
    assert {row["line_format"] for row in rows} == {"proxy-1"} and len(rows) == 2


@pytest.mark.parametrize("command", ["parse-log", "quantile-report", "tune", "stage"])
@pytest.mark.parametrize(
    ("text", "exit_code", "words"),
    [
        pytest.param("", 3, "it has neither a tuple FORMATS nor a tuple WRAPPERS", id="nothing in it"),
        pytest.param("1 / 0", 3, "line 1: ZeroDivisionError: division by zero", id="it fails"),
        pytest.param(None, 2, "Python finds none of that name", id="it is not there"),
    ],
)
def test_a_wrong_module_is_one_line(
    folder: Path,
    call: Callable[..., Result],
    deep_store: Path,
    command: str,
    text: str | None,
    exit_code: int,
    words: str,
) -> None:
    if text is not None:
        (folder / "broken.py").write_text(text)
    (folder / "night.yaml").write_text(NIGHT.format(segments=deep_store).replace("proxy_log}", "broken}"))
    arguments: dict[str, tuple[str | Path, ...]] = {
        "parse-log": ("proxy.log", "--formats", "broken"),
        "quantile-report": ("--log", "proxy.log", "--formats", "broken"),
        "tune": ("--log", "proxy.log", "--segments", deep_store, "--index", "all", "--formats", "broken"),
        "stage": ("parse_query_logs", "--config", "night.yaml", "--run-date", "2026-11-20"),
    }
    result = call(command, *arguments[command])
    assert result.exit_code == (3 if command == "stage" else exit_code)
    told = [line for line in result.stderr.splitlines() if "broken" in line]
    assert len(told) == 1 and words in told[0]


def test_what_a_wrapper_prints_is_not_in_the_json(folder: Path, call: Callable[..., Result]) -> None:
    (folder / "broken.py").write_text("def noisy(line):\n    print('noise')\nWRAPPERS = (noisy,)\n")
    result = call("parse-log", "proxy.log", "--formats", "broken", "--format", "json")
    assert json.loads(result.stdout)["lines"] == 3 and "noise" in result.stderr


def test_a_path_is_no_module(folder: Path, call: Callable[..., Result]) -> None:
    result = call("parse-log", "proxy.log", "--formats", "../x/proxy_log.py")
    assert result.exit_code == 2 and "give the name of a module, not a path" in result.stderr


def test_a_wrapper_that_fails_on_every_line(folder: Path, call: Callable[..., Result]) -> None:
    (folder / "broken.py").write_text("def wrong(line):\n    return line['msg']\nWRAPPERS = (wrong,)\n")
    result = call("parse-log", "proxy.log", "--formats", "broken", "--rejected", "1")
    assert "3 rejected: format_failed" in result.stdout
    assert "format_failed (module broken, line 2: wrong raised TypeError)" in result.stdout
    result = call("quantile-report", "--log", "proxy.log", "--formats", "broken")
    assert result.exit_code == 3
    assert "3 log records rejected: format_failed, the first in proxy.log" in result.stderr
