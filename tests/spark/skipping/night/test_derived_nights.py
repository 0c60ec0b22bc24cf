"""Nights over columns of arrays, maps, texts with a form and shapes: what is asked gets its own index.

One night keeps metadata beside the table, and one in a real OpenSearch, end to end.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from running_opensearch import RunningOpenSearch
from settings_with import settings_with
from skipping_nights import SkippingNights, call, column, literal
from skipping_tables import aged
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.night.quality.check_stage import check_stage
from starskip.spark.skipping.refresh_relation import location_of
from starskip_contrib import geospatial_functions, ip_networks
from starskip_opensearch import opensearch_client
from starskip_opensearch.opensearch_storage import OpenSearchStorage

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]

FILES, ROWS = 12, 400
MODULES = [each.__name__ for each in (geospatial_functions, ip_networks)]
SETTINGS = settings_with(max_skipping_size_ratio=1.0, min_gain_ratio=0.01, verified_instances=1)


def asked(number: int) -> dict[str, dict[str, Any]]:
    """Predicates of one file's values, by the index that serves them."""

    def equal(of: dict[str, Any], value: Any, data_type: str = "string") -> dict[str, Any]:
        return call("EqualTo", of, literal(value, data_type))

    def text(value: str) -> dict[str, Any]:
        return literal(value, "string")

    def of(name: str) -> dict[str, Any]:
        return column(name, "string")

    shape = f"POLYGON (({number} 0, {number + 0.5} 0, {number + 0.5} 1, {number} 1, {number} 0))"
    url = call("Invoke", call("ParseUrlEvaluator"), of("url"), text("HOST"), text('"evaluate"'))
    domain = call("SubstringIndex", of("mail"), text("@"), literal(-1, "int"))
    props = column("props", "map<string,string>")
    return {
        "elements:tags": call("ArrayContains", column("tags", "array<string>"), text(f"t{number}")),
        "mapvalue:props:k:x": equal(call("GetMapValue", props, text("k:x")), f"v{number}"),
        "formatted:url:url_host": equal(url, f"h{number}.org"),
        "formatted:mail:email_domain": equal(domain, f"d{number}.com"),
        "formatted:doc:json_path:$.a.b": equal(call("GetJsonObject", of("doc"), text("$.a.b")), f"{number}"),
        "ipnetworks:ip": call("udf:ip_in_network", of("ip"), text(f"10.0.{number}.0/24")),
        "geometrybox:shape": call("udf:st_intersects", text(shape), of("shape")),
        "ngrams:body": call("Contains", of("body"), text(f"needle-{number:03}")),
    }


def _write(folder: Path) -> None:
    folder.mkdir(parents=True)
    for number in range(FILES):
        ids = range(ROWS)
        rows = {
            "tags": [[f"t{number}", "common"] for _ in ids],
            "props": pa.array([[("k:x", f"v{number}")] for _ in ids], pa.map_(pa.string(), pa.string())),
            "url": [f"http://h{number}.org/{at}" for at in ids],
            "mail": [f"{at}@d{number}.com" for at in ids],
            "doc": [f'{{"a": {{"b": {number}}}, "at": {at}}}' for at in ids],
            "ip": [f"10.0.{number}.{at % 250}" for at in ids],
            "shape": [f"POINT ({number + 0.1} {at / ROWS})" for at in ids],
            "body": [f"{at} is a needle-{number:03} in hay" for at in ids],
        }
        pq.write_table(pa.table(rows), folder / f"part-{number:03}.parquet")
    aged(folder)


def _root_beside(_: Callable[[], RunningOpenSearch]) -> str | None:
    return None


def _root_in_opensearch(server: Callable[[], RunningOpenSearch]) -> str | None:
    return server().url(f"n{uuid4().hex[:8]}")


@pytest.mark.parametrize("root_of", [_root_beside, pytest.param(_root_in_opensearch, marks=pytest.mark.slow)])
def test_a_night_proposes_builds_and_proves(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    root_of: Callable[[Callable[[], RunningOpenSearch]], str | None],
) -> None:
    monkeypatch.setattr(opensearch_client, "_SOON_S", 30.0)  # a busy machine takes longer than a plan waits
    for module in (geospatial_functions, ip_networks):
        module.register_functions(spark)
    nights = SkippingNights(tmp_path, spark, SETTINGS)
    _write(nights.lake)
    nights.log([each for number in range(FILES) for each in asked(number).values()])
    root = root_of(lambda: request.getfixturevalue("opensearch"))
    night = nights.night(skipping_modules=MODULES, skipping_root=root)
    for stage in STAGE_NAMES:
        nights.stage(stage, night)
        assert all(check.passed for check in check_stage(night, stage)), stage
    wanted = set(asked(0))
    assert set(nights.chosen(night)) == wanted
    assert set(nights.outcomes(night).values()) == {"created"}
    told = nights.report(night)["skipping"]
    assert {shape["verdict"] for shape in told["replayed"]} == {"equal"}
    assert told["queries"] == FILES * len(wanted)
    if root is not None:
        _lies_in(root, nights)
    # What a night did not name the module of is no candidate of the next one.
    nights.advise(nights.night(skipping_root=root))
    told = {row["index"]: row["reason"] for row in nights.rows("skipping_advice", night)}
    assert {index for index, reason in told.items() if reason == "cannot_be"} == {
        "ipnetworks:ip",
        "geometrybox:shape",
    }


def _lies_in(root: str, nights: SkippingNights) -> None:
    assert not (nights.lake / "_starskip").exists()
    storage = metadata_storage(location_of(nights.spark, str(nights.lake), root))
    assert isinstance(storage, OpenSearchStorage)
    assert any(each.name.endswith(".rows") for each in storage.objects_below(""))
