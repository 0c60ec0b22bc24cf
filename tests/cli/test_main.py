"""Help with examples; and of every bad input one line on stderr with the right exit code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Call = Callable[..., Any]

LOG = str(Path(__file__).parents[2] / "include" / "sample" / "logs" / "broker-2026-11-18.log.gz")
INSTALLED = str(Path(sys.executable).with_name("starskip"))
TUNE = ("tune", "--log", LOG, "--index", "inverted")
STAGE = ("stage", "collect_segment_metadata", "--run-date", "2026-11-18", "--config")


COMMANDS = ["parse-log", "tune", "quantile-report", "collect-metadata", "stage", "retain"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_shows_examples_one_a_line(command: str, option: str, call: Call) -> None:
    result = call(command, option)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    examples = lines[lines.index("  Examples:") + 1 :]
    examples = examples[: examples.index("")]
    assert len(examples) >= 2
    assert all(f" starskip {command} " in text for text in examples)
    assert "\\b" not in result.stdout


def test_the_commands_are_listed_with_an_example_each(call: Call) -> None:
    result = call("--help")
    assert result.exit_code == 0
    for command in COMMANDS:
        assert f"\n  starskip {command} " in result.stdout
    for code in ("0 done", "1 try again", "2 wrong arguments", "3 wrong input", "141 nobody reads"):
        assert code in " ".join(result.stdout.split())


def test_help_answers_without_loading_a_command() -> None:
    code = (
        "import sys; from starskip.cli.main import main; main(['--help'], standalone_mode=False);"
        "print(sorted(name for name in ('pyarrow', 'numpy', 'duckdb') if name in sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_help_behind_an_option_of_several_values(call: Call) -> None:
    result = call("tune", "--log", "a", "b", "-h")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Examples:" in result.stdout


LAKES = b"store: {artefacts: a}\nsources: {segments_root: b, lake_tables: "


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bad things, which is the current one."""
    files = {
        "noise.bin": bytes(range(256)) * 9,
        "list.yaml": b"- a\n",
        "unknown.yaml": b"store: {artefacts: a}\nsegment_root: b\n",
        "settings.yaml": b"store: {artefacts: a}\nsources: {segments_root: b}\nsettings: [1]\n",
        "setting.yaml": b"store: {artefacts: a}\nsettings: {advice: {max_indexes: many}}\n",
        "inside.yaml": b"store: {artefacts: a, place: b}\n",
        "section.yaml": b"store: a\n",
        "flat.yaml": b"artefacts: a\nsegments_root: b\n",
        "group.yaml": b"store: {artefacts: a}\nsettings: {advise: {max_indexes: 3}}\n",
        "logs.yaml": b"store: {artefacts: a}\nsources: {segments_root: b, log_paths: 5}\n",
        "lake.yaml": LAKES + b"[lineitem]}\n",
        "lakes.yaml": LAKES + b"{t: here}}\n",
        "path.yaml": LAKES + b"{t: {casts: {}}}}\n",
        "key.yaml": LAKES + b"{t: {path: c, cast: {}}}}\n",
        "cast.yaml": LAKES + b"{t: {path: c, casts: {d: text}}}}\n",
        "number.yaml": LAKES + b"{t: {path: c, casts: {d: 5}}}}\n",
        "ftp.yaml": b"store: {artefacts: 'ftp://bucket/a'}\nsources: {segments_root: b}\n",
        "open.yaml": b"artefacts: [a\nsegments_root: b\n",
        "deep.yaml": b"[" * 5_000,
        "deep.json": b"[" * 100_000,
        "list.json": b"[]",
        "module.yaml": b"store: {artefacts: a}\nsources: {lake_tables: {t: {path: c}}}\n"
        b"skipping: {modules: [no_such_module]}\n",
        "digits.yaml": b"artefacts: " + b"9" * 5_000,
        "day.yaml": b"artefacts: 2026-13-45",
        "keys.yaml": b"5: a\nb: c\n",
        "nul.yaml": b'store: {artefacts: "a\\0b"}\nsources: {segments_root: b}\n',
        "half.yaml": b'store: {artefacts: a}\nsources: {segments_root: b}\ntables: ["\\ud800"]\n',
        "good.yaml": b"store: {artefacts: a}\nsources: {segments_root: nowhere}\n",
        "store.yaml": b"store: {artefacts: noise.bin}\nsources: {segments_root: .}\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "empty").mkdir()
    (tmp_path / "none" / "lineitem").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


BAD_INPUTS: list[tuple[Sequence[str], str]] = [
    (["parse-log", "missing.log"], "no log file at missing.log"),
    (["parse-log", "missing*.log"], "no log file at missing*.log"),
    (["parse-log", "noise.bin/x"], "no log file at noise.bin/x"),
    (["parse-log", "a\n\x1b[2Jb"], "no log file at a\\n\\x1b[2Jb"),
    (["parse-log", "n" * 5_000], "cannot read nnn"),
    (["parse-log", "/dev/null"], "/dev/null is neither a file nor a folder"),
    ([*TUNE, "--segments", "empty"], "empty holds no table: give the folder with one folder a table"),
    (
        ["tune", "--log", "noise.bin", "--segments", "none", "--index", "all"],
        "rejected: unknown_file_format, the",
    ),
    (["quantile-report", "--log", "noise.bin"], "first in noise.bin (starskip parse-log --rejected 5 shows"),
    ([*TUNE, "--segments", "nowhere"], "segment directory nowhere does not exist"),
    ([*TUNE, "--segments", "noise.bin"], "segment directory noise.bin does not exist or is no folder"),
    ([*TUNE, "--segments", "none", "--tables", "lineitem"], "table lineitem has no segments"),
    ([*TUNE, "--segments", "none", "--table-config", "no.json"], "no.json: cannot be read"),
    ([*TUNE, "--segments", "none", "--table-config", "noise.bin"], "noise.bin: is no JSON table config"),
    ([*TUNE, "--segments", "none", "--table-config", "list.json"], "list.json: is no table config"),
    ([*TUNE, "--segments", "none", "--table-config", "deep.json"], "deep.json: is no JSON table config"),
    ([*TUNE, "--segments", "none", "--table-config", "empty"], "empty: cannot be read"),
    ([*STAGE, "missing.yaml"], "cannot read the configuration missing.yaml"),
    ([*STAGE, "empty"], "cannot read the configuration empty: Is a directory"),
    ([*STAGE, "noise.bin"], "noise.bin is not YAML"),
    (
        [*STAGE, "open.yaml"],
        'open.yaml is not YAML: while parsing a flow sequence in "<unicode string>", line 1',
    ),
    ([*STAGE, "deep.yaml"], "deep.yaml is not YAML"),
    ([*STAGE, "list.yaml"], "list.yaml must map keys to values"),
    ([*STAGE, "unknown.yaml"], "unknown.yaml: key 'segment_root' is not known: use store, sources, "),
    ([*STAGE, "inside.yaml"], "key 'store.place' is not known: use store.artefacts, store.readable_by"),
    ([*STAGE, "section.yaml"], "section.yaml: store must map keys to values"),
    ([*STAGE, "flat.yaml"], "flat.yaml: key 'artefacts' is not known: use store, sources, skipping"),
    ([*STAGE, "group.yaml"], "group.yaml: setting 'advise' is not known: use "),
    ([*STAGE, "settings.yaml"], "settings.yaml: settings must map names to values"),
    (
        [*STAGE, "setting.yaml"],
        "setting.yaml: advice.max_indexes: many is not allowed: use a whole",
    ),
    ([*STAGE, "logs.yaml"], "logs.yaml: sources.log_paths must be a list of texts"),
    ([*STAGE, "lake.yaml"], "lake.yaml: sources.lake_tables must map names to values"),
    ([*STAGE, "lakes.yaml"], "lakes.yaml: sources.lake_tables: t must have a path, and may have casts"),
    ([*STAGE, "path.yaml"], "path.yaml: path is missing: give a path"),
    ([*STAGE, "key.yaml"], "key.yaml: sources.lake_tables: t must have a path, and may have casts"),
    ([*STAGE, "cast.yaml"], "lake_tables: t: casts: 'text' is no type such as string, int32, int64"),
    ([*STAGE, "number.yaml"], "lake_tables: t: casts: 5 is no type such as string, int32, int64"),
    ([*STAGE, "ftp.yaml"], "no place for artefacts: ftp://… is not known here"),
    ([*STAGE, "module.yaml"], "module 'no_such_module' of index types cannot be imported: Python finds"),
    ([*STAGE, "digits.yaml"], "digits.yaml is not YAML: Exceeds the limit"),
    ([*STAGE, "day.yaml"], "day.yaml is not YAML: month must be in 1..12"),
    ([*STAGE, "keys.yaml"], "keys.yaml: key 5 is not known: use store, sources, "),
    ([*STAGE, "nul.yaml"], "nul.yaml: store.artefacts 'a\\x00b' holds characters that no name can hold"),
    ([*STAGE, "half.yaml"], "half.yaml: tables '\\ud800' holds characters that no name can hold"),
    ([*STAGE, "/dev/zero"], "cannot read the configuration /dev/zero: it holds more than 16 MB"),
    ([*STAGE, "good.yaml", "--run-date", "0001-01-01"], "run date 0001-01-01 is no night of a log"),
    ([*STAGE, "good.yaml", "--run-date", "9999-12-31"], "run date 9999-12-31 is no night of a log"),
    ([*STAGE, "good.yaml", "--set", "workload.query_weights=x"], "workload.query_weights is no JSON"),
    (
        [*STAGE, "good.yaml", "--set", "scoring.untracked_inverted_index=x"],
        "untracked_inverted_index x: is no JSON",
    ),
    ([*STAGE, "good.yaml", "--set", "workload.look_back_nights=1e12"], "use a whole number from 1 to 3,650"),
    ([*STAGE, "good.yaml", "--set", "star_tree.max_star_trees=7"], "use a whole number from 1 to 6"),
    (["retain", "--config", "missing.yaml"], "cannot read the configuration missing.yaml"),
    ([*STAGE, "good.yaml"], "nowhere does not exist"),
    ([*STAGE, "store.yaml", "--tables", "x"], "unknown table x: "),
    ([*STAGE, "good.yaml", "--set", "max_index=1"], "arguments: setting 'max_index' is not known"),
    ([*STAGE, "good.yaml", "--set", "advice.max_indexes=-1"], "advice.max_indexes: -1 is not allowed: use"),
    (
        [*STAGE, "good.yaml", "--set", "advice.min_gain_ratio=nan"],
        "nan is not allowed: use a share from 0",
    ),
    ([*STAGE, "good.yaml", "--set", "scoring.strategy=best"], "best is not allowed: use one of leapfrog"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUTS, ids=[message for _, message in BAD_INPUTS])
def test_bad_input_is_one_line_and_exit_code_3(
    arguments: Sequence[str], message: str, place: Path, call: Call
) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("starskip: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert len(result.stderr) < 600


BAD_ARGUMENTS: list[tuple[Sequence[str], str]] = [
    ([], "Usage: "),
    (["parselog"], "No such command 'parselog'"),
    (["parse-log"], "Missing argument 'PATH...'"),
    (["parse-log", LOG, "--format", "xml"], "'xml' is not one of 'text', 'json'"),
    (["parse-log", LOG, "--rejected", "-1"], "-1 is not in the range x>=0"),
    (["tune"], "Missing option"),
    ([*TUNE, "--segments", "none", "--max-indexes", "-1"], "'--max-indexes': -1"),
    ([*TUNE, "--segments", "none", "--max-indexes", "0"], "'--max-indexes': 0"),
    ([*TUNE, "--segments", "none", "--min-gain", "2"], "'--min-gain': 2 is not allowed"),
    ([*TUNE, "--segments", "none", "--strategy", "best"], "'--strategy': 'best'"),
    ([*TUNE, "--segments", "none", "--bogus"], "No such option '--bogus'"),
    (["tune", "--log", LOG, "--index", "bitmap", "--segments", "none"], "'bitmap' is no family of indexes"),
    (["stage", "sleep", "--config", "good.yaml", "--run-date", "2026-11-18"], "'sleep' is not one of"),
    (["stage", "all", "--config", "good.yaml"], "Missing option '--run-date'"),
    (["stage", "all", "--config", "good.yaml", "--run-date", "2026-13-18"], "'2026-13-18'"),
    ([*STAGE, "good.yaml", "--set", "max_indexes"], "'max_indexes' is not GROUP.NAME=VALUE"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), BAD_ARGUMENTS, ids=[message for _, message in BAD_ARGUMENTS]
)
def test_wrong_arguments_are_exit_code_2(
    arguments: Sequence[str], message: str, place: Path, call: Call
) -> None:
    result = call(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_folder_that_may_not_be_read(place: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    # The tests may run as root, who is refused nothing.
    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr("starskip.storage.files.list_folder.os.scandir", refuse)
    for arguments in (["parse-log", "empty"], [*TUNE, "--segments", "none"]):
        result = call(*arguments)
        assert (result.exit_code, result.stdout) == (3, "")
        assert result.stderr.count("\n") == 1
        assert arguments[-1] in result.stderr
        assert "Permission denied" in result.stderr


@pytest.mark.parametrize("name", ["deep.yaml", "settings.yaml"])
def test_the_installed_command_shows_no_stack_trace(name: str, place: Path, installed: Call) -> None:
    done = installed(*STAGE, name, cwd=place)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"starskip: {name}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--help"], ["parse-log", LOG]])
def test_an_output_that_takes_nothing(arguments: Sequence[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([INSTALLED, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr == b"starskip: cannot read or write: No space left on device\n"


def test_a_reader_that_went_away_is_no_bad_input(place: Path) -> None:
    pipe = f"set -o pipefail; '{INSTALLED}' parse-log noise.bin | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, check=False, cwd=place)
    assert done.returncode == 141
    assert all(line.startswith(b"starskip: warning: ") for line in done.stderr.splitlines())


def test_tracebacks_are_shown_above_the_line_if_asked_for(
    place: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("stage", "select_indexes", "--config", place / "nothing.yaml", "--run-date", "2026-11-20")
    assert "Traceback" not in call(*arguments).stderr
    monkeypatch.setenv("STARSKIP_TRACEBACKS", "1")
    told = call(*arguments)
    assert told.exit_code == 3
    assert told.stderr.startswith("Traceback")
    assert told.stderr.splitlines()[-1].startswith("starskip: cannot read the configuration")
    monkeypatch.setenv("STARSKIP_TRACEBACKS", "0")
    assert "Traceback" not in call(*arguments).stderr
    assert "Traceback" in call("--tracebacks", *arguments).stderr
