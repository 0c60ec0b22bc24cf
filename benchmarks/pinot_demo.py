"""Show the whole loop on a real Pinot 0.11.0 with the sample's ``lineitem``, before and after on one page.

Starts Pinot (fetched with Maven, once), loads the table, asks a day's queries, pulls the table, runs the
night over the broker's own log, approves the advice, applies it with its proof, and asks the queries again.

    python benchmarks/pinot_demo.py
    python benchmarks/pinot_demo.py --queries 200 --page pinot-demo.md
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pinot.running_pinot import PinotFailed, RunningPinot, pinot_jars
from pinot_headline import CACHE, SAMPLE, SEGMENTS, of_table, records_of
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts

TABLE, DAY = "lineitem", "2026-11-18"
STARSKIP = str(Path(sys.executable).with_name("starskip"))


@dataclass(frozen=True, slots=True)
class Asked:
    """Sums over the day's queries."""

    in_filter: int
    post_filter: int
    time_ms: int


def main() -> None:
    """Start, load, ask, advise, apply, ask again, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=400, help="of the day, the first ones")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, too")
    parser.add_argument("--pinot-dir", default=CACHE, help="where Pinot's jars are kept")
    arguments = parser.parse_args()
    # A terminated demonstration ends as by an exception, so that Pinot is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        jars = pinot_jars(Path(arguments.pinot_dir).expanduser().resolve())
        with tempfile.TemporaryDirectory() as scratch:
            _told("starting Pinot")
            with RunningPinot(jars, Path(scratch) / "pinot", "1g") as pinot:
                page = _loop(pinot, Path(scratch), arguments.queries)
                _told("stopping Pinot")
        print(page)
        if arguments.page:
            arguments.page.write_text(page)
    except (PinotFailed, OSError) as error:
        sys.exit(str(error))


def _loop(pinot: RunningPinot, folder: Path, count: int) -> str:
    _load(pinot)
    day = of_table(records_of(SAMPLE / "logs" / f"broker-{DAY}.log.gz"), TABLE)
    queries = day.column("query_text").to_pylist()[:count]
    _told(f"asking {len(queries)} queries, once to warm up")
    for sql in queries:
        pinot.cluster.broker.ask(sql)
    start = len(pinot.query_log)
    before = _asked(pinot, queries)
    (folder / "logs").mkdir()
    (folder / "logs" / "broker.log").write_bytes(pinot.query_log[start:])
    where = ("--controller", pinot.controller_url, "--broker", pinot.broker_url)
    _told("starskip pinot pull")
    _starskip("pinot", "pull", *where, "-o", str(folder / "pulled"))
    night = _night(folder)
    _told("starskip stage all: the night")
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    _starskip("stage", "all", "--config", night, "--run-date", today)
    _told("starskip decide --approve")
    _starskip("decide", TABLE, "--approve", "--config", night)
    _told("starskip pinot apply --yes")
    applied = _starskip("pinot", "apply", *where, "--table", TABLE, "--config", night, "--yes")
    _told("asking the same queries")
    return _page(len(queries), before, _asked(pinot, queries), applied)


def _load(pinot: RunningPinot) -> None:
    files = list_segments(SEGMENTS, [TABLE])
    _told(f"loading {TABLE}: {len(files)} segments")
    config = SAMPLE / "config"
    schema = json.loads((config / f"{TABLE}_schema.json").read_text())
    pinot.create_table(schema, json.loads((config / f"{TABLE}_table.json").read_text()))
    for file in files:
        pinot.upload_segment(TABLE, Path(file.path))
    pinot.wait_for_rows(TABLE, sum(read_segment_facts(file).rows for file in files))


def _night(folder: Path) -> str:
    """Write the night's configuration, and return its path."""
    document = {
        "store": {"artefacts": str(folder / "artefacts")},
        "sources": {
            "log_paths": [str(folder / "logs")],
            "segments_root": str(folder / "pulled" / "segments"),
            "table_configs": [str(folder / "pulled" / "configs" / f"{TABLE}.json")],
        },
        "settings": {"advice": {"min_gain_ratio": 0.05}},
    }
    (folder / "night.yaml").write_text(yaml.safe_dump(document))
    return str(folder / "night.yaml")


def _asked(pinot: RunningPinot, queries: Sequence[str]) -> Asked:
    answers = [pinot.cluster.broker.ask(sql) for sql in queries]
    return Asked(
        sum(each.entries_in_filter for each in answers),
        sum(each.entries_post_filter for each in answers),
        sum(each.time_ms for each in answers),
    )


def _starskip(*arguments: str) -> Any:
    told = subprocess.run([STARSKIP, *arguments, "--format", "json"], capture_output=True, text=True)
    if told.returncode:
        raise PinotFailed(f"starskip {' '.join(arguments[:2])}: {told.stderr[-1000:]}")
    return json.loads(told.stdout)


def _page(queries: int, before: Asked, after: Asked, applied: Any) -> str:
    lines = [
        f"# {TABLE}: {applied['state']}",
        "",
        f"| {queries} queries of a day | before | after | saved |",
        "|---|---|---|---|",
    ]
    for name, of in (
        ("entries in filter", "in_filter"),
        ("entries post filter", "post_filter"),
        ("ms of the broker", "time_ms"),
    ):
        one, other = getattr(before, of), getattr(after, of)
        lines.append(f"| {name} | {one:,} | {other:,} | {1 - other / max(one, 1):.1%} |")
    lines += ["", "| index | predicted | measured | verdict |", "|---|---|---|---|"]
    for each in applied["verdicts"]:
        predicted, measured = (_share(each[f"{of}_saving_ratio"]) for of in ("predicted", "measured"))
        lines.append(f"| {each['index']} | {predicted} | {measured} | {each['verdict']} |")
    return "\n".join(lines) + "\n"


def _share(ratio: float | None) -> str:
    return "not known" if ratio is None else f"{ratio:.1%}"


def _told(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
