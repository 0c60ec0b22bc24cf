"""Print the time of each report page over a store of many tables and nights, and the bytes read and answered.

Each page is asked for in a process of its own that has read nothing of the store yet ("cold"), then again
("warm"). Airflow's part of a request, who may read what and which runs are active, is left out. The page
"What if" has a benchmark of its own, what_if.py, since its time is that of a table's query shapes. Beside the
overview stands the peer that it replaced: reading every table's report.json of one night.

    make bench-ui ARGS="--tables 200 --nights 60"
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "benchmarks" / "ui")]

from many_tables import LAST_NIGHT, write_store  # noqa: E402

DAG_ID = "index_advisor_nightly"
NIGHT = LAST_NIGHT.isoformat()
BEFORE = (LAST_NIGHT - timedelta(days=7)).isoformat()
PAGES = (
    ("overview", f"/dags/{DAG_ID}/"),
    ("overview, filtered", f"/dags/{DAG_ID}/?like=eu&state=open&kind=star_tree"),
    ("overview, page 2", f"/dags/{DAG_ID}/?page=2"),
    ("overview.csv", f"/dags/{DAG_ID}/overview.csv"),
    ("overview.json", f"/dags/{DAG_ID}/overview.json"),
    ("one night", f"/dags/{DAG_ID}/nights/{NIGHT}"),
    ("a table", f"/dags/{DAG_ID}/tables/{{table}}"),
    ("a table's history", f"/dags/{DAG_ID}/tables/{{table}}/history"),
    ("a table's report", f"/dags/{DAG_ID}/tables/{{table}}/{NIGHT}/evidence"),
    ("two nights compared", f"/dags/{DAG_ID}/tables/{{table}}/compare?first={BEFORE}&second={NIGHT}"),
    ("calendar", f"/dags/{DAG_ID}/calendar"),
    ("calendar, a month", f"/dags/{DAG_ID}/calendar?first={LAST_NIGHT.replace(day=1)}&last={NIGHT}"),
)
"""The pages: a name, and an address in which {table} is the first table of the store."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: seconds by the clock and of the processor, bytes read from files, bytes answered."""

    status: int
    seconds: float
    processor_seconds: float
    read_bytes: int
    answered_bytes: int


def page_client(folder: Path) -> Any:
    """Return a client of the pages over the store in ``folder``, for a reader who may read its DAG."""
    from airflow.api_fastapi.common.db.common import _get_session
    from airflow.api_fastapi.core_api.security import get_user
    from fastapi.testclient import TestClient
    from starskip.airflow.report_pages import calendar_pages, overview_pages
    from starskip.airflow.report_pages.nightly_dags import NightlyDag
    from starskip.airflow.report_pages.pages import pages_app
    from starskip.airflow.report_pages.permitted_dags import may_decide, permitted_dags

    app = pages_app()
    # There is no Airflow here whose parts could have stopped.
    for module in (overview_pages, calendar_pages):
        module.alarms = tuple
    calendar_pages.active_runs = lambda _dag, _session: {}
    calendar_pages.is_permitted = lambda *_: True
    dag = NightlyDag(DAG_ID, "night.yaml", str(folder))
    app.dependency_overrides |= {permitted_dags: lambda: [dag], may_decide: lambda: True}
    app.dependency_overrides |= {get_user: object, _get_session: object}
    return TestClient(app, raise_server_exceptions=False)


def asked_twice(client: Any, address: str) -> list[Asked]:
    """Return a cold request and a warm one of an address, made in a new process."""
    with get_context("fork").Pool(1, _CLIENTS.append, (client,)) as pool:
        return pool.apply(_ask_twice, (address,))


_CLIENTS: list[Any] = []
"""In a process that asks, its client, which cannot be sent there."""


def _ask_twice(address: str) -> list[Asked]:
    client, found = _CLIENTS[0], []
    for _ in range(2):
        before, started, busy = _read_bytes(), perf_counter(), process_time()
        answer = client.get(address)
        seconds, busy = perf_counter() - started, process_time() - busy
        read_bytes = _read_bytes() - before
        found.append(Asked(answer.status_code, seconds, busy, read_bytes, len(answer.content)))
    return found


def _read_bytes() -> int:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"])


def peer_seconds(folder: Path, tables: int) -> float:
    """Return the time of reading one night's report.json of every table, as lists once did."""
    from starskip.reports.evidence_json import evidence_from_json

    content = next((folder / "reports").rglob("*report.json")).read_bytes()
    started = perf_counter()
    for _ in range(tables):
        evidence_from_json(content, "report.json")
    return perf_counter() - started


def main() -> None:
    """Write the store, ask for each page and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--store", type=Path, help="keep the store in this folder, or use the one there")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ.setdefault("AIRFLOW_HOME", str(Path(scratch) / "airflow"))
        folder = asked.store or Path(scratch) / "store"
        if not (folder / "reports").exists():
            started = perf_counter()
            write_store(folder, asked.tables, asked.nights)
            seconds = perf_counter() - started
            print(f"store of {asked.tables:,} tables x {asked.nights:,} nights: written in {seconds:.1f} s")
        print_pages(folder)
        seconds = peer_seconds(folder, asked.tables)
        print(f"peer, report.json of {asked.tables:,} tables read for one night: {1e3 * seconds:,.0f} ms")


def print_pages(folder: Path) -> None:
    """Print a line for each page."""
    from starskip.storage.artefact_store import ArtefactStore
    from starskip.storage.storage_for import storage_for

    reports = ArtefactStore(storage_for(str(folder))).snapshot("reports", NIGHT)
    assert reports is not None
    client = page_client(folder)
    names = ("cold ms", "of CPU", "warm ms", "of CPU", "read kB", "warm kB")
    print(f"{'page':<22} {' '.join(f'{name:>8}' for name in names)} {'answered kB':>12}")
    for name, address in PAGES:
        cold, warm = asked_twice(client, address.format(table=reports.tables[0]))
        problem = "" if cold.status == 200 else f"  status {cold.status}"
        times = [1e3 * seconds for each in (cold, warm) for seconds in (each.seconds, each.processor_seconds)]
        read = [each.read_bytes / 1e3 for each in (cold, warm)]
        figures = " ".join(f"{figure:>8,.0f}" for figure in (*times, *read))
        print(f"{name:<22} {figures} {cold.answered_bytes / 1e3:>12,.0f}{problem}")


if __name__ == "__main__":
    main()
