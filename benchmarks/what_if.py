"""Time of an answer on the page "What if", for tables of as many query shapes as vote.

Writes a log of ``--shapes`` distinct shapes for two tables (many_shapes.py), runs the stages until
select_indexes in this process, and then answers in a fresh process each: the advised set, a set of other
indexes, and the best set of another K. Prints milliseconds from the request to the page, by the clock and of
the processor, the part of them that goes into reading the votes, and the size of what a night keeps for it.

    python benchmarks/what_if.py [--shapes 4000] [--keep DIR]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from datetime import UTC, date, datetime
from pathlib import Path

from starskip.advisor.families.family_settings import family_defaults
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.advisor.selection.stored_question import ARTEFACT, stored_question
from starskip.execution.local_engine import LocalEngine
from starskip.night.stage_functions import stage_function
from starskip.reports.page_links import PageLinks
from starskip.reports.render_what_if import AskedSet, WhatIf, render_what_if, what_if_answer
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

SAMPLE = Path(__file__).parent.parent / "include" / "sample"
TABLES = ("lineitem", "airlineStats")


def night_of(root: Path) -> Night:
    """Return the night whose store lies below ``root``."""
    return Night(
        date(2026, 11, 18),
        ArtefactStore(storage_for(str(root / "artefacts"))),
        family_defaults(),
        datetime(2026, 11, 19, tzinfo=UTC),
        "bench",
        log_paths=[str(root / "logs")],
        segments_root=str(SAMPLE / "segments"),
    )


def answer(night: Night, table: str) -> dict[str, tuple[float, float]]:
    """Return milliseconds by the clock and of the processor of answers as pages, the first one cold."""
    times: dict[str, tuple[float, float]] = {}

    def timed(name: str, question: AskedSet) -> WhatIf:
        start, busy = time.perf_counter(), time.process_time()
        found = what_if_answer(night, table, question)
        render_what_if(PageLinks("/x"), table, night.run_date, found, may_decide=True)
        times[name] = (1e3 * (time.perf_counter() - start), 1e3 * (time.process_time() - busy))
        return found

    timed("advised set", AskedSet())
    timed("K 20", AskedSet("choose", (), "20", ""))
    found = timed("K 3", AskedSet("choose", (), "3", ""))
    others = [each.key for each in found.sets.members.values()][2:10]
    timed("other 8 indexes", AskedSet("set", tuple(others)))
    start, busy = time.perf_counter(), time.process_time()
    stored_question(night, table)
    read = time.perf_counter() - start, time.process_time() - busy
    times["of it: reading the votes"] = (1e3 * read[0], 1e3 * read[1])
    return times


def main() -> None:
    """Make the night, and time the answers."""
    parser = argparse.ArgumentParser(description="Time of what-if pages")
    parser.add_argument("--shapes", type=int, default=4_000, help="distinct shapes of both tables")
    parser.add_argument("--keep", default="", help="folder to keep, or to take from an earlier run")
    parser.add_argument("--answer", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        print(json.dumps(answer(night_of(Path(arguments.keep)), arguments.answer)))
        return
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(arguments.keep or scratch)
        if not (root / "artefacts").exists():
            from tuner import write_shapes

            (root / "logs").mkdir(parents=True, exist_ok=True)
            write_shapes(root / "logs" / "many.log", arguments.shapes, 1)
            for stage in STAGE_NAMES[: STAGE_NAMES.index("select_indexes") + 1]:
                start = time.perf_counter()
                stage_function(stage)(LocalEngine(), night_of(root))
                print(f"{stage}: {time.perf_counter() - start:.1f} s", flush=True)
        night = night_of(root)
        snapshot = night.store.snapshot(ARTEFACT, night.date_text)
        assert snapshot is not None
        for table in TABLES:
            window = stored_question(night, table).tonight.window
            kept = sum(file.size_bytes for file in snapshot.parts()[table].files) / 1e3
            print(f"{table}: {len(window.shapes):,} shapes, {len(window.lists):,} votes, {kept:,.0f} kB kept")
            command = [sys.executable, __file__, "--keep", str(root), "--answer", table]
            told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
            for name, (took_ms, busy_ms) in json.loads(told).items():
                print(f"  {name}: {took_ms:,.0f} ms, {busy_ms:,.0f} ms of the processor")


if __name__ == "__main__":
    main()
