"""Index types that collect something wrong, each of one kind, to see that the law of skipping notices.

They collect in Spark's workers, where a patched class would be the right one again: this module is to be
pickled by value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from starskip.skipping.collectors.ranges_collector import RangesCollector
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.index_types.elements import Elements, MapValue
from starskip.skipping.index_types.gap_list import GapList
from starskip.skipping.index_types.ngrams import Ngrams
from starskip.skipping.skipping_index import SkippingIndex
from starskip_contrib.formatted import Formatted
from starskip_contrib.geometry_box import GeometryBox
from starskip_contrib.ip_networks import IpNetworks, packed_address

_OTHER_KEYS = {"k": "z"}


class FirstRunLost(Ngrams):
    """Leaves out the run at the beginning of each text that has another one."""

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        (column,) = columns
        return {"texts": f"if(length({column}) > 3, substring({column}, 2), {column})"}


class LastElementLost(Elements):
    """Leaves out the last element of each array."""

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        (column,) = columns
        return super().row_values([f"slice({column}, 1, greatest(0, size({column}) - 1))"])


class ValuesOfAnotherKey(MapValue):
    """Takes the values of another key for those of its own."""

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        own = self.key
        self.key = _OTHER_KEYS.get(own, own)
        try:
            return super().row_values(columns)
        finally:
            self.key = own


class BoxesTooSmall(GeometryBox):
    """Has boxes of no width."""

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        found = dict(super().finish(collected))
        narrow = [
            each and [{**box, "x_greatest": box["x_least"]} for box in each]
            for each in found["boxes"].to_pylist()
        ]
        return {**found, "boxes": pa.array(narrow, found["boxes"].type)}


class AddressesNotMapped(IpNetworks):
    """Has addresses of IPv4 elsewhere among those of IPv6 than networks."""

    def collector(self, schema: pa.Schema) -> FileCollector:  # noqa: ARG002 - as its own
        return _NotMapped(pa.binary())


class _NotMapped(RangesCollector):
    def add(self, rows: pa.RecordBatch) -> None:
        found = [each and packed_address(each) for each in rows.column("values").to_pylist()]
        moved = [each and each.replace(b"\xff\xff", bytes(2), 1) for each in found]
        super().add(pa.record_batch({"values": pa.array(moved, pa.binary())}))


class GapsTooWide(GapList):
    """Ends each range of values where it begins."""

    def finish(self, collected: pa.Table) -> Mapping[str, pa.Array]:
        found = super().finish(collected)
        ranges = found["ranges"]
        least = pc.struct_field(ranges.values, "least")
        ended = pa.StructArray.from_arrays([least, least], ["least", "greatest"])
        lists = pa.ListArray.from_arrays(ranges.offsets, ended)
        return {**found, "ranges": pc.if_else(ranges.is_valid(), lists, pa.scalar(None, lists.type))}


class WrongFormats(Formatted):
    """Takes hosts in lower case, the domain between the first two signs, and another path of JSON."""

    def row_values(self, columns: Sequence[str]) -> Mapping[str, str]:
        wrong = {
            "url_host": "lower(try_parse_url({0}, 'HOST'))",
            "email_domain": "substring_index(substring_index({0}, '@', 2), '@', -1)",
            "json_path": "get_json_object({0}, '$.b')",
        }
        return {**super().row_values(columns), "values": wrong[self.arguments[0]].format(columns[0])}


FAULTS: tuple[type[SkippingIndex], ...] = (
    *(FirstRunLost, LastElementLost, ValuesOfAnotherKey, BoxesTooSmall, AddressesNotMapped, GapsTooWide),
    WrongFormats,
)
