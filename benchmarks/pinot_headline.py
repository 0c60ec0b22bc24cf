"""Compare what the sample's advice says that it saves with what a real Apache Pinot 0.11.0 then scans.

Starts Pinot (fetched with Maven, once) with the sample's segments, and asks a day's queries of its log:
of the tables as they are, with the advised indexes on columns, and with the config that ``starskip tune
--output`` writes with the settings of include/config/night.yaml. What they scanned is read from the
broker's own log. Texts are shown whose entries in the log are not those of the replay: with LIMIT and without
ORDER BY they depend on the run.

    python benchmarks/pinot_headline.py
    python benchmarks/pinot_headline.py --day 2026-11-20 --tables lineitem --keep DIR
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml
from pinot.benchmark_run import benchmark_folder, told
from pinot.running_pinot import CACHE, PinotFailed, RunningPinot, pinot_jars
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts

INCLUDE = Path(__file__).parents[1] / "include"
SAMPLE = INCLUDE / "sample"
SEGMENTS = SAMPLE / "segments"
TABLES = ("lineitem", "airlineStats")
SPLIT_BYTES = 64 << 20
SHOWN = 5
Replayed = Mapping[str, tuple[int, int]]
"""By text the entries that its queries scanned in filters, and behind them."""


def main() -> None:
    """Advise, ask, build, ask again, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--day", default="2026-11-18", help="of the sample's log")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what each text's queries scanned")
    parser.add_argument("--pinot-dir", default=CACHE, help="where Pinot's jars are kept")
    arguments = parser.parse_args()
    tables = tuple(arguments.tables.split(","))
    with benchmark_folder() as folder:
        jars = pinot_jars(arguments.pinot_dir)
        log = SAMPLE / "logs" / f"broker-{arguments.day}.log.gz"
        advice, configs = advised(log, tables, folder)
        records = records_of(log)
        told("starting Pinot")
        with RunningPinot(jars, folder / "pinot", "2g") as pinot:
            for table in tables:
                found = _measured(pinot, table, configs[table], records, folder)
                _print(table, advice[table], found)
                if arguments.keep:
                    arguments.keep.mkdir(parents=True, exist_ok=True)
                    (arguments.keep / f"{table}.json").write_text(json.dumps(found, indent=1))


def advised(
    log: Path, tables: Sequence[str], folder: Path, unit: str = ""
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what ``starskip tune`` says of each table, and the table configs that it writes.

    ``unit``: of the choice, empty for the night's own.
    """
    settings = yaml.safe_load((INCLUDE / "config" / "night.yaml").read_text())["settings"]
    if unit:
        settings["advice"]["unit"] = unit
    given = [f"{group}.{name}={value}" for group, named in settings.items() for name, value in named.items()]
    written = [folder / f"{table}.json" for table in tables]
    command = [
        *(str(Path(sys.executable).with_name("starskip")), "tune", "--log", str(log)),
        *("--segments", str(SEGMENTS), "--tables", ",".join(tables), "--index", "all", "--format", "json"),
        *("--table-config", *(str(SAMPLE / "config" / f"{table}_table.json") for table in tables)),
        *("--output", *map(str, written), "--pinot-version", "0.11.0"),
        *(word for each in given for word in ("--set", each)),
    ]
    told("asking starskip tune")
    ran = subprocess.run(command, capture_output=True, text=True)
    if ran.returncode:
        raise PinotFailed(f"starskip tune: {ran.stderr[-1000:]}")
    configs = {table: json.loads(file.read_text()) for table, file in zip(tables, written, strict=True)}
    return json.loads(ran.stdout)["tables"], configs


def _measured(
    pinot: RunningPinot, table: str, proposed: dict[str, Any], records: pa.Table, folder: Path
) -> dict[str, Replayed]:
    """Return what the table's queries scanned by the log, and scan as it is, with indexes, and with all."""
    config = load_sample(pinot, table)
    left_out = ("starTreeIndexConfigs", "enableDynamicStarTreeCreation")
    of_columns = {name: v for name, v in proposed["tableIndexConfig"].items() if name not in left_out}
    found = {"log": _replayed(records, table)}
    steps = {"as it is": config, "indexes": {**proposed, "tableIndexConfig": of_columns}, "all": proposed}
    for name, built in steps.items():
        told(f"{table}: {name}")
        if built is not config:
            pinot.change_tables([built])
        start = len(pinot.query_log)
        for sql in of_table(records, table).column("query_text").to_pylist():
            try:
                pinot.ask(sql)
            except PinotFailed:
                continue  # what it scanned is logged all the same
        (folder / "replayed.log").write_bytes(pinot.query_log[start:])
        found[name] = _replayed(records_of(folder / "replayed.log"), table)
    return found


def load_sample(pinot: RunningPinot, table: str) -> dict[str, Any]:
    """Create a table of the sample, upload its segments, and return its config."""
    config: dict[str, Any] = json.loads((SAMPLE / "config" / f"{table}_table.json").read_text())
    pinot.create_table(json.loads((SAMPLE / "config" / f"{table}_schema.json").read_text()), config)
    files = list_segments(SEGMENTS, [table])
    told(f"loading {table}: {len(files)} segments")
    for file in files:
        pinot.upload_segment(table, Path(file.path))
    pinot.wait_for_rows(table, sum(read_segment_facts(file).rows for file in files))
    return config


def records_of(log: Path) -> pa.Table:
    """Return the records of a log."""
    splits = log_splits([str(log)], SPLIT_BYTES)
    return pa.Table.from_batches([batch for split in splits for batch in parse_split(split)])


def of_table(records: pa.Table, table: str) -> pa.Table:
    """Return the queries of one table."""
    return records.filter((pc.field("kind") == "query") & (pc.field("table") == table))


def _replayed(records: pa.Table, table: str) -> Replayed:
    sums: dict[str, tuple[int, int]] = {}
    for row in of_table(records, table).to_pylist():
        in_filter, post_filter = sums.get(row["query_text"], (0, 0))
        in_filter += row["entries_scanned_in_filter"]
        sums[row["query_text"]] = in_filter, post_filter + row["entries_scanned_post_filter"]
    return sums


def _print(table: str, advice: Mapping[str, Any], found: Mapping[str, Replayed]) -> None:
    logged, before, indexes, after = found.values()
    print(f"\n{table}: {advice['queries']} queries, {len(logged)} texts")
    print(f"{'':>10} {'in filter':>13} {'post filter':>13} {'all':>13}")
    sums = {
        name: [sum(each) for each in zip(*replayed.values(), strict=True)] for name, replayed in found.items()
    }
    for name, (in_filter, post_filter) in sums.items():
        print(f"{name:>10} {in_filter:13,} {post_filter:13,} {in_filter + post_filter:13,}")
    combined = advice["combined"]
    saved = 1 - sum(sums["all"]) / sum(sums["as it is"])
    _compare("all together", combined["saving_ratio"], combined["interval"], saved)
    saved = 1 - sums["indexes"][0] / sums["as it is"][0]
    interval = advice["predicted_interval"]
    _compare("indexes alone, in filter", advice["predicted_saving_ratio"], interval, saved)
    read = sum(after.get(text) != entries for text, entries in indexes.items())
    print(f"{read} texts scan otherwise once the star-trees are there")
    differing = sorted(text for text, entries in before.items() if logged[text] != entries)
    print(f"{len(differing)} texts scan otherwise in the replay than they did in the log")
    for text in differing[:SHOWN]:
        print(f"  {logged[text]} {before[text]} {' '.join(text.split())[:150]}")


def _compare(words: str, ratio: float, interval: Sequence[float], real: float) -> None:
    low, high = interval
    verdict = "inside" if low <= real <= high else "OUTSIDE"
    print(f"{words}: predicted {ratio:.1%} ({low:.1%} to {high:.1%}), measured {real:.1%}: {verdict}")


if __name__ == "__main__":
    main()
