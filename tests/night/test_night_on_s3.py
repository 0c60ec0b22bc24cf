"""Whole nights whose logs, segments, configurations and artefacts all lie in an object store."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import obstore
import pytest
from click.testing import CliRunner
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.cli.main import main
from starskip.errors import SourceError, StarskipError
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.quality.check_stage import check_stage
from starskip.night.stage_here import stage_here
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "cluster"))

from counted_requests import counted_requests
from made_up_cluster import write_cluster
from made_up_tables import ClusterSize

pytestmark = pytest.mark.slow

CONFIG = """
store:
  artefacts: {place}/artefacts
sources:
  log_paths: ["{place}/logs"]
  segments_root: {place}/segments
  table_configs: ["{place}/configs/lineitem.json"]
settings:
  scoring: {{window_rows_per_table: 2048, max_simulations_per_table: 300, max_sampled_segments: 2}}
"""
TABLE_CONFIG = {
    "tableName": "lineitem_OFFLINE",
    "tableType": "OFFLINE",
    "tableIndexConfig": {"invertedIndexColumns": ["l_shipmode"]},
}


@pytest.fixture
def sources(small_store: Path, tmp_path: Path) -> Path:
    shutil.copytree(small_store, tmp_path / "sources")
    (tmp_path / "sources" / "configs").mkdir()
    (tmp_path / "sources" / "configs" / "lineitem.json").write_text(json.dumps(TABLE_CONFIG))
    return tmp_path / "sources"


def night_by_cli(config: Path | str) -> str:
    done = CliRunner().invoke(
        main, ["stage", "all", "--config", str(config), "--run-date", "2026-11-20"], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return done.output


def reports_of(place: str) -> dict[tuple[str, str], str]:
    """Return the files of the reports, without the place of their sources and the time of their writing."""
    snapshot = ArtefactStore(storage_for(f"{place}/artefacts")).snapshot("reports", "2026-11-20")
    assert snapshot is not None
    texts = {
        (table, file.name.rpartition("-")[2]): snapshot.read_file(file).decode()
        for table, part in snapshot.parts().items()
        for file in part.files
    }
    written_at = re.compile(re.escape(str(snapshot.manifest.created_at.date())) + r"[T ][0-9:.]+")
    return {name: written_at.sub("NOW", text.replace(place, "PLACE")) for name, text in texts.items()}


def test_the_night_on_the_bucket_is_the_local_night(s3: Any, sources: Path, tmp_path: Path) -> None:
    place = s3.upload(sources, s3.fresh_url())
    obstore.put(s3.store(), f"{place.removeprefix(s3.url())}/night.yaml", CONFIG.format(place=place).encode())
    (tmp_path / "night.yaml").write_text(CONFIG.format(place=sources))
    assert night_by_cli(f"{place}/night.yaml") == night_by_cli(tmp_path / "night.yaml")
    local, remote = reports_of(str(sources)), reports_of(place)
    assert {table for table, _ in local} == {"lineitem", "airlineStats"}
    assert remote == local
    everything = b"".join(
        bytes(obstore.get(s3.store(), meta["path"]).bytes())
        for page in s3.store().list(place.removeprefix(s3.url()))
        for meta in page
    )
    assert b"SECRET" not in everything
    assert b"writer-key" not in everything


@pytest.mark.quality
@pytest.mark.filterwarnings("default")
def test_the_store_is_not_listed_for_each_table(s3: Any, tmp_path: Path) -> None:
    listings: dict[int, dict[str, int]] = {}
    for tables in (2, 4):
        folder = tmp_path / f"{tables}"
        write_cluster(folder, ClusterSize(tables, 2 * tables, 100 * tables))
        place = s3.upload(folder, s3.fresh_url())
        lines = CONFIG.format(place=place).splitlines()
        (tmp_path / "night.yaml").write_text("\n".join(line for line in lines if "configs" not in line))
        arguments = NightArguments(date(2026, 11, 18), "test", datetime.now(UTC))
        night = night_from_config(tmp_path / "night.yaml", arguments, {})
        for stage in STAGE_NAMES[:5]:
            with counted_requests() as of_stage:
                stage_here(stage, night)
                check_stage(night, stage)
            listings.setdefault(tables, {})[stage] = of_stage["list"]
    # The ledger is current state: each table's task looks at what people have decided by then.
    assert listings[4].pop("select_indexes") - listings[2].pop("select_indexes") == 2
    assert listings[4] == listings[2]


def test_tune_reads_all_its_sources_from_a_bucket(s3: Any, sources: Path) -> None:
    place = s3.upload(sources, s3.fresh_url())

    def advice(root: str) -> Any:
        arguments = ["--log", f"{root}/logs", "--segments", f"{root}/segments", "--tables", "airlineStats"]
        arguments += ["--table-config", f"{root}/configs/lineitem.json", "--index", "inverted"]
        done = CliRunner().invoke(main, ["tune", *arguments, "--format", "json"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    assert advice(place) == advice(str(sources))


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("segments_root", "no table folders|does not exist"),
        ("log_paths", "no log file at s3://"),
    ],
)
def test_source_that_is_not_there(s3: Any, lab: Any, missing: str, message: str) -> None:
    nowhere: Any = f"{s3.fresh_url()}/nothing"
    night = lab.night(**{missing: [nowhere] if missing == "log_paths" else nowhere})
    with pytest.raises(SourceError, match=message):
        lab.run(night, STAGE_NAMES[:2])


def test_store_that_goes_away_ends_the_step_and_keeps_what_was(
    s3: Any, lab: Any, monkeypatch: pytest.MonkeyPatch, quick_retries: Callable[[], None]
) -> None:
    place = s3.upload(lab.root, s3.fresh_url())
    night = lab.night(
        store=ArtefactStore(storage_for(f"{place}/artefacts")), segments_root=f"{place}/segments"
    )
    lab.run(night, STAGE_NAMES[:1])
    before = lab.published("table_facts", night)
    quick_retries()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    with pytest.raises(StarskipError, match="does not answer"):
        lab.run(night, STAGE_NAMES[:1])
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    assert lab.published("table_facts", night) == before
