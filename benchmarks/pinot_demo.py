"""Show the whole loop on a real Pinot 0.11.0 with the sample's ``lineitem``, before and after on one page.

Starts Pinot (fetched with Maven, once), loads the table, asks a day's queries, pulls the table, runs the
night over the broker's own log, approves the advice, applies it with its proof, and asks the queries again.

    python benchmarks/pinot_demo.py
    python benchmarks/pinot_demo.py --queries 200 --page pinot-demo.html
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pinot.benchmark_run import benchmark_folder, told
from pinot.running_pinot import CACHE, PinotFailed, RunningPinot, pinot_jars
from pinot_headline import SAMPLE, load_sample, of_table, records_of
from starskip.reports.export_reports import export_reports
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.local_storage import LocalStorage

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
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="write the report of the night after (HTML)"
    )
    parser.add_argument("--pinot-dir", default=CACHE, help="where Pinot's jars are kept")
    arguments = parser.parse_args()
    with benchmark_folder() as scratch:
        jars = pinot_jars(arguments.pinot_dir)
        told("starting Pinot")
        with RunningPinot(jars, scratch / "pinot", "1g") as pinot:
            page = _loop(pinot, scratch, arguments.queries, arguments.page)
            told("stopping Pinot")
    print(page)


def _loop(pinot: RunningPinot, folder: Path, count: int, report: Path | None) -> str:
    load_sample(pinot, TABLE)
    day = of_table(records_of(SAMPLE / "logs" / f"broker-{DAY}.log.gz"), TABLE)
    queries = day.column("query_text").to_pylist()[:count]
    told(f"asking {len(queries)} queries, once to warm up")
    for sql in queries:
        pinot.cluster.broker.ask(sql)
    (folder / "logs").mkdir()
    log = folder / "logs" / "broker.log"
    start = len(pinot.query_log)
    before = _asked(pinot, queries)
    log.write_bytes(pinot.query_log[start:])
    where = ("--controller", pinot.controller_url, "--broker", pinot.broker_url)
    told("starskip pinot pull, and starskip stage all: the night")
    night = _night(folder, where)
    told("starskip decide --approve")
    _starskip("decide", TABLE, "--approve", "--config", night)
    told("starskip pinot apply --yes")
    applied = _starskip("pinot", "apply", *where, "--table", TABLE, "--config", night, "--yes")
    told("asking the same queries")
    start = len(pinot.query_log)
    page = _page(len(queries), before, _asked(pinot, queries), applied)
    if report:
        told("the night after, and its report")
        log.write_bytes(pinot.query_log[start:])
        _night(folder, where)
        exported = export_reports(
            ArtefactStore(LocalStorage(folder / "artefacts")), _today(), folder / "reports"
        )
        report.write_bytes(exported[TABLE]["report.html"].read_bytes())
    return page


def _today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _night(folder: Path, where: Sequence[str]) -> str:
    """Pull the table, run a night over it, and return the path of the night's configuration."""
    shutil.rmtree(folder / "pulled", ignore_errors=True)
    _starskip("pinot", "pull", *where, "-o", str(folder / "pulled"))
    document = {
        "store": {"artefacts": str(folder / "artefacts")},
        "sources": {
            "log_paths": [str(folder / "logs")],
            "segments_root": str(folder / "pulled" / "segments"),
            "table_configs": [str(folder / "pulled" / "configs" / f"{TABLE}.json")],
        },
        "settings": {"advice": {"min_gain_ratio": 0.05}},
    }
    night = str(folder / "night.yaml")
    Path(night).write_text(yaml.safe_dump(document))
    _starskip("stage", "all", "--config", night, "--run-date", _today())
    return night


def _asked(pinot: RunningPinot, queries: Sequence[str]) -> Asked:
    answers = [pinot.cluster.broker.ask(sql) for sql in queries]
    return Asked(
        sum(each.entries_in_filter for each in answers),
        sum(each.entries_post_filter for each in answers),
        sum(each.time_ms for each in answers),
    )


def _starskip(*arguments: str) -> Any:
    ran = subprocess.run([STARSKIP, *arguments, "--format", "json"], capture_output=True, text=True)
    if ran.returncode:
        raise PinotFailed(f"starskip {' '.join(arguments[:2])}: {ran.stderr[-1000:]}")
    return json.loads(ran.stdout)


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


if __name__ == "__main__":
    main()
