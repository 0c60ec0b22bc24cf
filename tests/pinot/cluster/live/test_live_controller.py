"""The client asks a real Pinot 0.11: what it reads, changes, has reloaded, and what it may not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_pinot import ADMIN, READER
from nginx_in_front import PASSWORD, USER, nginx_in_front
from pinot.running_pinot import RunningPinot, User
from starskip.errors import AccessRefused, MissingSource, SourceError, SourceOutage
from starskip.pinot.cluster.controller import Controller
from starskip.pinot.cluster.open_cluster import PinotCluster, open_cluster
from starskip.pinot.cluster.pinot_address import PinotAddress, pinot_address

pytestmark = pytest.mark.slow


@pytest.fixture
def controller(pinot: RunningPinot) -> Controller:
    return pinot.cluster.controller


@pytest.fixture
def as_reader(pinot: RunningPinot) -> Iterator[PinotCluster]:
    with open_cluster(address(pinot, READER)) as found:
        yield found


def address(pinot: RunningPinot, user: User, broker: str | None = None) -> PinotAddress:
    url = pinot.broker_url if broker is None else broker
    return PinotAddress(pinot.controller_url, url, user.header, user.header)


def test_what_it_tells(controller: Controller) -> None:
    assert controller.version().startswith("0.11")
    assert controller.tables() == ("airlineStats", "empty", "lineitem", "types")
    assert controller.table_configs("lineitem").keys() == {"OFFLINE"}
    assert controller.schema("lineitem")["schemaName"] == "lineitem"
    assert controller.segments("lineitem_OFFLINE") == tuple(f"lineitem_{n}" for n in range(4))
    assert controller.segments("empty_OFFLINE") == ()
    of_segment = controller.segment_metadata("lineitem_OFFLINE", "lineitem_0")
    assert {each["columnName"] for each in of_segment["columns"]} >= {"l_orderkey", "l_comment"}
    assert of_segment["indexes"]["l_orderkey"]["dictionary"] == "YES"
    segments = controller.sizes("lineitem")["offlineSegments"]["segments"]
    assert segments.keys() == set(controller.segments("lineitem_OFFLINE"))
    assert controller.needs_reload("lineitem_OFFLINE") is None, "0.11 has no such question"


@pytest.mark.parametrize(
    "ask",
    [
        lambda c: c.table_configs("nope"),
        lambda c: c.schema("nope"),
        lambda c: c.segments("lineitem_REALTIME"),
        lambda c: c.segment_metadata("lineitem_OFFLINE", "nope"),
        lambda c: c.reload_status("nope"),
        lambda c: c.reload("lineitem_OFFLINE", "nope"),
    ],
)
def test_what_is_not_there_is_missing(controller: Controller, ask: object) -> None:
    with pytest.raises(MissingSource):
        ask(controller)  # type: ignore[operator]


def test_a_config_is_written_and_its_segments_reloaded(controller: Controller) -> None:
    base = controller.table_configs("airlineStats")["OFFLINE"]
    version = controller.config_version("airlineStats_OFFLINE")
    assert version is not None
    changed = {**base, "tableIndexConfig": {**base["tableIndexConfig"], "invertedIndexColumns": ["Carrier"]}}
    assert controller.validate_table_config(changed) == {}
    assert controller.put_table_config("airlineStats_OFFLINE", {**changed, "odd": 1}) == {"/odd": 1}
    assert controller.config_version("airlineStats_OFFLINE") == version + 1
    written = controller.table_configs("airlineStats")["OFFLINE"]
    assert written["tableIndexConfig"]["invertedIndexColumns"] == ["Carrier"]
    segment = controller.segments("airlineStats_OFFLINE")[0]
    for one in (segment, ""):
        (job,) = controller.reload("airlineStats_OFFLINE", one)
        until = time.monotonic() + 120
        while (status := controller.reload_status(job)).succeeded < status.total:
            assert time.monotonic() < until, status
            time.sleep(0.2)
        assert (status.failed, status.silent_servers, status.state) == (None, 0, "")
    indexes = controller.segment_metadata("airlineStats_OFFLINE", segment)["indexes"]
    assert indexes["Carrier"]["inverted-index"] == "YES"
    controller.put_table_config("airlineStats_OFFLINE", base)
    assert controller.table_configs("airlineStats")["OFFLINE"] == base


def test_a_wrong_config_and_a_reload_of_one_server_are_refused(controller: Controller) -> None:
    base = controller.table_configs("airlineStats")["OFFLINE"]
    wrong = {**base, "tableIndexConfig": {**base["tableIndexConfig"], "invertedIndexColumns": ["nope"]}}
    for call in (controller.validate_table_config, lambda c: controller.put_table_config("airlineStats", c)):
        with pytest.raises(SourceError, match=r"answers 400: .*nope"):
            call(wrong)
    with pytest.raises(SourceError, match=r"reload the segments of one server: 1\.3 can"):
        controller.reload("airlineStats_OFFLINE", server="Server_127.0.0.1_1")
    assert controller.table_configs("airlineStats")["OFFLINE"] == base


@pytest.mark.parametrize("through_controller", [False, True])
def test_a_query_and_what_it_cost(pinot: RunningPinot, through_controller: bool) -> None:
    with open_cluster(address(pinot, ADMIN, "" if through_controller else None)) as cluster:
        sql = "SELECT COUNT(*) FROM lineitem WHERE l_quantity < 2"
        answer = cluster.broker.ask(sql, {"useStarTree": False})
        assert answer.flaw == ""
        assert answer.rows[0][0] == answer.documents_scanned > 0
        assert (answer.columns, answer.types) == (["count(*)"], ["LONG"])
        assert answer.entries_in_filter == answer.total_documents > 100_000
        assert (answer.segments_queried, answer.servers_queried, answer.servers_responded) == (4, 1, 1)
        assert cluster.broker.ask("SELECT nope FROM lineitem").flaw
        with pytest.raises((MissingSource, SourceError)):
            cluster.broker.whole("SELECT COUNT(*) FROM nope")


def test_wrong_and_missing_credentials_are_refused(pinot: RunningPinot) -> None:
    for header, words in (("", "it wants credentials"), (User("x", "y").header, "the credentials are wrong")):
        with open_cluster(PinotAddress(pinot.controller_url, pinot.broker_url, header, header)) as cluster:
            with pytest.raises(AccessRefused, match=words):
                cluster.controller.tables()
            with pytest.raises(AccessRefused, match=words):
                cluster.broker.ask("SELECT COUNT(*) FROM lineitem")


def test_a_reader_of_one_table_reads_that_table_alone(as_reader: PinotCluster) -> None:
    assert as_reader.controller.table_configs("lineitem")
    assert as_reader.broker.whole("SELECT COUNT(*) FROM lineitem").rows
    for refused in (
        lambda: as_reader.controller.table_configs("airlineStats"),
        lambda: as_reader.controller.reload("lineitem_OFFLINE"),
        lambda: as_reader.broker.ask("SELECT COUNT(*) FROM airlineStats"),
    ):
        with pytest.raises(AccessRefused):
            refused()


def test_tls_by_an_authority_of_ones_own(pinot: RunningPinot, tmp_path: Path) -> None:
    place = pinot.controller_url.removeprefix("http://")
    with nginx_in_front(place, tmp_path / "nginx") as front:
        given = {"STARSKIP_PINOT_USER": USER, "STARSKIP_PINOT_PASSWORD": PASSWORD}
        url = f"https://{front.address}"
        with (
            open_cluster(pinot_address(url, "", given)) as cluster,
            pytest.raises(SourceError, match="STARSKIP_PINOT_CA_FILE") as error,
        ):
            cluster.controller.version()
        assert not isinstance(error.value, SourceOutage)
        trusted = {"STARSKIP_PINOT_CA_FILE": str(front.ca_file)}
        # nginx keeps the credentials to itself, and Pinot wants some.
        with (
            open_cluster(pinot_address(url, "", {**given, **trusted})) as cluster,
            pytest.raises(AccessRefused, match="answers 403"),
        ):
            cluster.controller.tables()
        with (
            open_cluster(pinot_address(url, "", trusted)) as cluster,
            pytest.raises(AccessRefused, match="answers 401"),
        ):
            cluster.controller.tables()
