"""Laws of every command: JSON, output, examples, less and more on stderr, mistyped names."""

from __future__ import annotations

import json
import logging
import os
import shlex
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from starskip.cli.choice import Choice
from starskip.cli.main import _COMMANDS, main
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import TableState
from starskip.storage.local_storage import LocalStorage

Call = Callable[..., Result]


def leaves() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(main)
    for name in _COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            for inside in command.list_commands(context):
                found = command.get_command(context, inside)
                assert found is not None
                yield f"{name} {inside}", found
        else:
            yield name, command


LEAVES = dict(leaves())
BY_SPARK = {"skipping create", "skipping refresh", "skipping explain", "skipping check"}
"""They start Spark: tests/spark calls them with ``--format json``."""
OF_A_KEY = {"skipping rotate"}
"""It needs encrypted metadata, which Spark writes; see tests/spark/skipping/test_encryption.py."""
OF_PINOT = {"pinot apply", "pinot pull", "pinot revert"}
"""They ask a Pinot, as tests/pinot/cluster/live and tests/advisor/deployment do."""
NIGHTS = {"doctor", "stage", "retain"}
"""tests/cli/test_doctor.py, test_stage.py and test_retain.py run them over whole stores."""
LOGS = {"parse-log", "tune", "what-if", "quantile-report", "collect-metadata"}
"""Their own tests read stdout as JSON throughout."""


@pytest.mark.parametrize("name", LEAVES)
def test_it_prints_json_and_writes_to_output(name: str) -> None:
    options = {option: each for each in LEAVES[name].params for option in each.opts}
    assert "json" in options["--format"].type.choices  # type: ignore[attr-defined]
    assert {"-q", "--quiet", "-v", "--verbose"} <= options.keys()
    assert not options.keys() & {"--out", "--report", "--reports", "--out-dir", "--output-dir"}
    assert ("-o" in options) == ("--output" in options)
    for each in LEAVES[name].params:
        assert not isinstance(each.type, click.Choice) or isinstance(each.type, Choice), each.name
        assert not isinstance(each, click.Option) or each.help, each.name


@pytest.mark.parametrize("name", LEAVES)
def test_its_help_has_examples_of_itself(name: str) -> None:
    text = LEAVES[name].help or ""
    assert "Example" in text
    assert f"starskip {name} " in f"{text} ".replace("\n", " \n")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, call: Call) -> Path:
    """A table with a secondary index, one with metadata of skipping, and a star-tree."""
    root = tmp_path_factory.mktemp("place")
    (root / "events").mkdir()
    pq.write_table(pa.table({"id": range(9), "kind": ["a", "b", "c"] * 3}), root / "events" / "a.parquet")
    os.utime(root / "events" / "a.parquet", (1_700_000_000, 1_700_000_000))
    source = TableSource(f"file:{root}/skipped", "parquet", {})
    state = TableState(source, {"minmax:id": True}, {})
    metadata_chain(LocalStorage(root / "skipped" / "_starskip")).commit(
        lambda _: state.to_parts(), commit_id="one", created_at=datetime.now(UTC), created_by="a test"
    )
    (root / "sales.csv").write_text("country,price\nfr,1\nde,2\n")
    config = {"dimensionsSplitOrder": ["country"], "functionColumnPairs": ["SUM__price"], "maxLeafRecords": 1}
    (root / "tree.json").write_text(json.dumps(config))
    return root


CALLS = [
    "settings",
    "decide --store ledger",
    "secondary create events --index btree:id",
    "secondary refresh events",
    "secondary describe events",
    "secondary list events",
    'secondary explain events "id = 3"',
    'secondary query events "id = 3"',
    "secondary check events --predicates 5",
    "secondary optimize events",
    "secondary delete events --index btree:id",
    "secondary vacuum events --grace-hours 2d",
    "skipping describe skipped",
    "skipping list skipped",
    "skipping optimize skipped",
    "skipping delete skipped",
    "skipping restore skipped --index minmax:id",
    "skipping vacuum skipped",
    "star-tree build --input sales.csv --config tree.json -o tree",
    "star-tree refresh tree",
    "star-tree describe tree",
    "star-tree documents tree",
    'sql --star-tree tree "SELECT SUM(price) FROM sales"',
    "star-tree vacuum tree --grace-hours 24h",
]


@pytest.mark.slow
def test_stdout_is_one_document_and_quiet_is_silent(
    place: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    for text in CALLS:
        result = call(*shlex.split(text), "--format", "json", "-q")
        assert result.exit_code == 0, f"{text}: {result.output}"
        assert isinstance(json.loads(result.stdout), dict | list), text
        assert result.stderr == "", text


def test_every_command_is_called_here_or_where_it_is_told() -> None:
    called = {name for name in LEAVES for text in CALLS if text == name or text.startswith(f"{name} ")}
    assert called | BY_SPARK | OF_A_KEY | OF_PINOT | NIGHTS | LOGS == LEAVES.keys()


@pytest.mark.parametrize("where", ["before", "behind"])
def test_verbose_tells_files_and_times_on_stderr_alone(where: str, call: Call, tmp_path: Path) -> None:
    log = tmp_path / "noise.log"
    log.write_text("nothing\n")
    arguments = ["parse-log", str(log), "--format", "json"]
    plain = call(*arguments)
    result = call("-v", *arguments) if where == "before" else call(*arguments, "-v")
    assert result.stdout == plain.stdout
    assert f"reading {log}" in result.stderr
    assert "done in " in result.stderr
    assert "done in " not in plain.stderr


def test_quiet_leaves_warnings_out_and_errors_in(call: Call, tmp_path: Path) -> None:
    log = tmp_path / "noise.log"
    log.write_text("nothing\n")
    assert "warning: " in call("parse-log", log).stderr
    assert call("--quiet", "parse-log", log).stderr == ""
    assert "no log file at" in call("-q", "parse-log", tmp_path / "gone.log").stderr
    assert call("-q", "parse-log", log, "-v").exit_code == 2


def test_warnings_of_libraries_are_told_if_asked_for(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def warns() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("an old call", FutureWarning, stacklevel=1)
        logging.getLogger("starskip.skipping").warning("a key is missing")

    monkeypatch.setitem(_COMMANDS, "warns", "Warn of something")
    monkeypatch.setitem(sys.modules, "starskip.cli.warns", SimpleNamespace(warns=warns))
    told = call("-v", "warns").stderr
    assert "FutureWarning: an old call" in told and "a key is missing" in told
    assert call("warns").stderr == "a key is missing\n"
    assert call("-q", "warns").stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ("tun", "Did you mean 'tune'?"),
        ("startree build", "Did you mean 'star-tree'?"),
        ("parse_log x", "Did you mean 'parse-log'?"),
        ("quantile", "Did you mean 'quantile-report'?"),
        ("IndexTunner", "Did you mean 'IndexTuner'?"),
        ("zzz", "Commands: parse-log, tune, "),
        ("skipping creat x", "Did you mean 'create'?"),
        ("secondary desc x", "Did you mean 'describe'?"),
        ("settings --formt json", "Did you mean '--format'?"),
        ("settings --format jsn", "Did you mean 'json'?"),
        ("tune --index all --segments x --strategy leapfrg", "Did you mean 'leapfrog'?"),
        ("tune --index all --segments x --set advice.max_index=3", "use advice.max_indexes"),
        ("tune --index all --segments x --min-gain 5", "5 is not allowed: use a share from 0 to 1, such as"),
        ("tune --index all --segments x --budget-bytes 5XB", "use a size of at least 1 byte, such as 10MB"),
        ("star-tree vacuum x --grace-hours 11y", "no time such as 24h or 7d"),
    ],
)
def test_what_is_mistyped_is_answered_with_what_was_meant(arguments: str, answer: str, call: Call) -> None:
    result = call(*arguments.split())
    assert result.exit_code == 2
    assert answer in " ".join(result.stderr.split())


def test_capitals_of_a_choice_do_not_matter(call: Call) -> None:
    assert isinstance(json.loads(call("settings", "--format", "JSON").stdout), dict)


def test_the_version_begins_with_ours_and_names_python_and_spark(call: Call) -> None:
    lines = call("--version").stdout.splitlines()
    assert lines[0].startswith("starskip ") and len(lines[0].split()) == 2
    assert lines[1].startswith("Python 3.")
    assert any(line.startswith("pyspark ") for line in lines)


HEAVY = ("pyarrow", "numpy", "duckdb", "sqlglot", "obstore", "tqdm", "cryptography", "yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("starskip ", {"tune", "star-tree", "settings"}),
        ("starskip se", {"secondary", "settings"}),
        ("starskip skipping re", {"refresh", "restore"}),
        ("starskip tune --max", {"--max-indexes"}),
        ("starskip -v tune --strategy p", {"parser"}),
        ("starskip stage w", {"write_report"}),
    ],
)
def test_words_are_completed_and_no_library_is_imported(typed: str, offered: set[str]) -> None:
    code = (
        "import sys\nfrom starskip.cli.main import main\n"
        "try: main(prog_name='starskip')\nexcept SystemExit: pass\n"
        f"print('heavy', [name for name in {HEAVY} if name in sys.modules])"
    )
    environment = {
        **os.environ,
        "_STARSKIP_COMPLETE": "bash_complete",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(typed.count(" ")),
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    *lines, heavy = ran.stdout.splitlines()
    assert heavy == "heavy []"
    assert offered <= {line.partition(",")[2] for line in lines}


@pytest.mark.parametrize(
    "typed", ["starskip parse-log ", "starskip tune --log ", "starskip sql --star-tree "]
)
def test_files_are_completed_by_the_shell(typed: str) -> None:
    from click.shell_completion import BashComplete

    completion = BashComplete(main, {}, "starskip", "_STARSKIP_COMPLETE")
    found = completion.get_completions(typed.split()[1:], "")
    assert [each.type for each in found] == ["file"]
