"""Open a live Pinot: its controller and a way to its brokers, on connections that are closed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starskip.pinot.cluster.broker import Broker
from starskip.pinot.cluster.controller import Controller
from starskip.pinot.cluster.pinot_address import PinotAddress
from starskip.pinot.cluster.pinot_session import component, open_client


@dataclass(frozen=True, slots=True)
class PinotCluster:
    """Both ends of a cluster."""

    controller: Controller
    broker: Broker


@contextmanager
def open_cluster(address: PinotAddress) -> Iterator[PinotCluster]:
    """Give the cluster at ``address``; nothing is asked yet."""
    with open_client(address) as client:
        controller = component(
            client, "controller", address.controller, address.authorization, address.database
        )
        if not address.broker:
            # The controller hands a query to a broker of its table, with the query's headers.
            yield PinotCluster(Controller(controller), Broker(controller, "/sql"))
            return
        broker = component(client, "broker", address.broker, address.broker_authorization, address.database)
        yield PinotCluster(Controller(controller), Broker(broker, "/query/sql"))
