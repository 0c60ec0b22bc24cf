"""Details of DataFiles that are kept after they were fetched."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from starskip_opensearch import known_details
from starskip_opensearch.opensearch_storage import OpenSearchStorage

SCHEMA = base64.b64encode(pa.schema([("c", pa.int64())]).serialize().to_pybytes()).decode()


class Fetched:
    """A store during whose answers other threads fetch so much that all earlier entries are dropped."""

    place = "opensearch://h/p/t"

    def details(self, names: Sequence[str]) -> list[Mapping[str, Any]]:
        known_details._kept.clear()
        return [
            {"owner": name[:-5], "pieces": 1, "block": "", "schema": SCHEMA, "columns": {}, "fields": {}}
            for name in (each.rpartition("/")[2] for each in names)
        ]


def test_details_that_are_dropped_while_others_are_fetched_are_still_returned() -> None:
    storage = cast(OpenSearchStorage, Fetched())
    known_details.details_of(storage, ["g/a.rows"])
    found = known_details.details_of(storage, ["g/a.rows", "g/b.rows", "g/a.rows"])
    assert [each.owner for each in found] == ["a", "b", "a"]
