"""Time and bytes of data and metadata for four queries: figure 8 of "Extensible Data Skipping"."""

from __future__ import annotations

import duckdb
from skipping.measured_query import measured, median_of, use
from skipping.paper_tables import PaperTables

RETRIEVED = (
    "count(*), max(ts), max(account_name), max(http_request), max(user_agent), max(region), max(status), "
    "max(response_bytes), max(duration_ms)"
)
"""Eight columns besides the one that is searched."""
_QUERIES = 4


def print_figure_8(tables: PaperTables, runs: int) -> list[str]:
    """Ask for four databases, from one in many files to one in a single file; return wrong answers."""
    found = _databases(tables)
    indexes = {
        "no skipping": None,
        "ValueList": ["valuelist:db_name"],
        "BloomFilter": ["bloom:db_name:0.01"],
        "Hybrid": [tables.hybrid("db_name")],
    }
    print(
        f"\nFigure 8: Breakdown of time spent on data and metadata processing for {_QUERIES} queries on "
        "cloud database logs\nand corresponding bytes scanned"
    )
    print(
        f"{'':<3} {'needed':>6}  {'index':<12} {'files':>6} {'metadata s':>11} {'data s':>7} {'all s':>7} "
        f"{'metadata MB':>12} {'data MB':>8} {'times faster':>13} {'fewer bytes':>12}"
    )
    problems = []
    for number, (database, files) in enumerate(found, 1):
        sql = f"SELECT {RETRIEVED} FROM logs WHERE db_name = '{database}'"
        plain = None
        for title, index in indexes.items():
            use(tables.spark, None if index is None else tables.built("logs", index).root)
            measured(tables.spark, sql)
            run = median_of([measured(tables.spark, sql) for _ in range(runs)])
            plain = plain or run
            if run.answer != plain.answer or run.files < files:
                problems.append(f"figure 8, {database} by {title}: {run.answer}, not {plain.answer}")
            print(
                f"{f'Q{number}':<3} {files:>6,}  {title:<12} {run.files:>6,} {run.metadata_s:>11.3f} "
                f"{run.seconds - run.metadata_s:>7.2f} {run.seconds:>7.2f} {run.metadata_bytes / 1e6:>12.2f} "
                f"{run.data_bytes / 1e6:>8.1f} {plain.seconds / run.seconds:>12.1f}x "
                f"{plain.all_bytes / run.all_bytes:>11.1f}x"
            )
    use(tables.spark, None)
    return problems


def _databases(tables: PaperTables) -> list[tuple[str, int]]:
    """Return databases and how many files each is in: from the one in most to one in a single file."""
    with duckdb.connect() as engine:
        every = engine.execute(
            "SELECT db_name, count(DISTINCT filename) AS files FROM "
            f"read_parquet('{tables.folders['logs']}/*.parquet', filename = true) "
            "GROUP BY db_name ORDER BY files DESC, db_name"
        ).fetchall()
    wanted = [every[0][1] // 4**step for step in range(_QUERIES - 1)]
    chosen = [min(every, key=lambda row, aim=aim: (abs(row[1] - aim), row[0])) for aim in (*wanted, 1)]
    return [(str(name), int(files)) for name, files in chosen]
