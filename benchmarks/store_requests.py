"""Print how many requests each stage and gate of a night sends to an object store, by the number of tables.

A made-up cluster of each size lies in a real S3 store, SeaweedFS on this machine, with the night's artefacts
beside it. Stages run in this process. A request takes 10 to 50 ms in a cloud, which no disk shows: what a
further table costs stands in the last line.

    make bench-requests ARGS="--tables 5,20"
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "cluster"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from counted_requests import counted_requests
from made_up_cluster import nights, write_cluster
from made_up_tables import ClusterSize
from s3_server import S3Server, running_s3_server
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.quality.check_stage import check_stage
from starskip.night.stage_here import stage_here

_CONFIG = """store:
  artefacts: {place}/artefacts
sources:
  log_paths: ["{place}/logs"]
  segments_root: {place}/segments
settings:
  scoring: {{window_rows_per_table: 512, max_simulations_per_table: 50}}
  advice: {{index_kinds: "inverted,range,sorted"}}
"""
_FORM = "{:34} {:>8} {:>8} {:>8} {:>8}"


def main() -> None:
    """Count the requests of one night over a cluster of each size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default="5,20", help="numbers of tables, smallest first")
    parser.add_argument("--segments", type=int, default=20, help="segments a table")
    given = parser.parse_args()
    sizes = [int(text) for text in given.tables.split(",")]
    totals = []
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "store").mkdir()
        with running_s3_server(Path(root) / "store") as s3:
            os.environ.update(s3.environment)
            for tables in sizes:
                size = ClusterSize(tables, given.segments * tables, 100 * tables)
                totals.append(_of_night(Path(root) / size.name, size, s3))
    if len(sizes) > 1:
        further = (totals[-1] - totals[0]) / (sizes[-1] - sizes[0])
        print(f"\na further table of {given.segments} segments: {further:.0f} requests a night")


def _of_night(folder: Path, size: ClusterSize, s3: S3Server) -> int:
    """Print the requests of each stage with its gate; return all."""
    write_cluster(folder, size)
    place = s3.upload(folder, s3.fresh_url())
    config = folder / "on_s3.yaml"
    config.write_text(_CONFIG.format(place=place), encoding="utf-8")
    print(f"\n{size.tables:,} tables, {size.segments:,} segments")
    print(_FORM.format("stage, then its gate", "reads", "listings", "writes", "others"))
    total: Counter[str] = Counter()
    for stage in STAGE_NAMES:
        night = night_from_config(
            config, NightArguments(nights()[0], "benchmark", datetime.now(UTC)), os.environ
        )
        with counted_requests() as of_stage:
            stage_here(stage, night)
        with counted_requests() as of_gate:
            check_stage(night, stage)
        for name, counts in ((stage, of_stage), (f"check_{stage}", of_gate)):
            _print(name, counts)
            total += counts
    _print("all", total)
    return total.total()


def _print(name: str, counts: Counter[str]) -> None:
    listings = counts["list"] + counts["list_with_delimiter"]
    others = counts.total() - counts["get"] - listings - counts["put"]
    print(_FORM.format(name, counts["get"], listings, counts["put"], others), flush=True)


if __name__ == "__main__":
    main()
