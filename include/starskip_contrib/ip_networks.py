"""Index type ``ipnetworks:c[:gaps]`` and the function ``ip_in_network``: addresses within a network (CIDR).

The addresses of a file are kept as ranges between its widest gaps, as a GapList of their 16 bytes; an IPv4
address is mapped to IPv6. ``register_functions`` registers the function in a Spark session.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Network, IPv6Address, ip_address, ip_network
from typing import Any

import pyarrow as pa
from starskip.predicates.comparison import Comparison, ComparisonOperator
from starskip.skipping.collectors.ranges_collector import RangesCollector
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.own_types import Call, Clause, Column, Expression, FileCollector, Literal
from starskip.skipping.value_ranges import Condition, RangesClause

_MAPPED = bytes(10) + b"\xff\xff"


def ip_in_network(address: str | None, network: str | None) -> bool | None:
    """Return whether an address lies in a network such as ``10.0.0.0/8``; None for invalid arguments."""
    if address is None or network is None:
        return None
    packed, bounds = packed_address(address), network_bounds(network)
    return None if packed is None or bounds is None else bounds[0] <= packed <= bounds[1]


def register_functions(spark: Any) -> None:
    """Register ``ip_in_network`` in a Spark session."""
    spark.udf.register("ip_in_network", ip_in_network, "boolean")


def packed_address(text: str) -> bytes | None:
    """Return an address as 16 bytes, None for an invalid text."""
    try:
        found = ip_address(text.strip())
    except ValueError:
        return None
    return found.packed if isinstance(found, IPv6Address) else _MAPPED + found.packed


@lru_cache(maxsize=256)
def network_bounds(text: str) -> tuple[bytes, bytes] | None:
    """Return the first and the last address of a network, None for an invalid text."""
    try:
        found = ip_network(text.strip(), strict=False)
    except (AddressValueError, ValueError):
        return None
    before = _MAPPED if isinstance(found, IPv4Network) else b""
    return before + found.network_address.packed, before + found.broadcast_address.packed


class IpNetworks(GapList):
    """Metadata as in GapList, over addresses as binary values; an invalid address is in no network."""

    kind = "ipnetworks"
    families = frozenset({"string"})

    @property
    def module_of_functions(self) -> str:
        """See SkippingIndex.module_of_functions."""
        return __name__

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - texts are of one type
        """See SkippingIndex.collector."""
        return _AddressCollector(pa.binary())

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        """See SkippingIndex.row_values."""
        return {"values": columns[0]}

    def questions(self, columns: Sequence[str]) -> Sequence[str]:
        """See SkippingIndex.questions."""
        return [f"ip_in_network({columns[0]}, concat(?, '/{bits}'))" for bits in (8, 16, 24, 30)]

    def label(self, node: Expression) -> Clause | None:
        """Label ``ip_in_network(c, 'network')``."""
        match node:
            case Call(name="udf:ip_in_network", arguments=(Column() as column, Literal() as network)):
                text = network.python
                bounds = network_bounds(text) if isinstance(text, str) and self.is_of(column) else None
                if bounds is not None:
                    of = Column(column.path, "binary")
                    operators = (ComparisonOperator.AT_LEAST, ComparisonOperator.AT_MOST)
                    return RangesClause(
                        self.specification,
                        "ranges",
                        tuple(
                            Condition(
                                Comparison(of, operator, pa.array([bound], pa.binary())), "least", "greatest"
                            )
                            for operator, bound in zip(operators, bounds, strict=True)
                        ),
                    )
        return None


class _AddressCollector(RangesCollector):
    def add(self, rows: pa.RecordBatch) -> None:
        texts = rows.column("values").cast(pa.binary()).drop_null().unique().to_pylist()
        packed = [packed_address(each.decode(errors="replace")) for each in texts]
        super().add(pa.record_batch({"values": pa.array(packed, pa.binary())}))
