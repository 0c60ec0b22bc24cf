"""Details of the DataFiles of a store in OpenSearch: they never change, and are fetched once."""

from __future__ import annotations

import base64
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from starskip.errors import DamagedFile

from starskip_opensearch.clause_query import Field
from starskip_opensearch.opensearch_storage import OpenSearchStorage
from starskip_opensearch.search_fields import HAS_VALUES

_MOST_KEPT = 50_000
_kept: OrderedDict[tuple[str, str], Details] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Details:
    """``columns``: the first piece of ``owner`` and the one after the last, by column name."""

    owner: str
    pieces: int
    block: str
    schema: pa.Schema
    columns: Mapping[str, tuple[int, int]]
    fields: Mapping[str, Field]


def details_of(storage: OpenSearchStorage, names: Sequence[str]) -> list[Details]:
    """Return the details of DataFiles; raise StorageError for a missing one."""
    place = storage.place
    with _lock:
        # They are taken out now: other threads may drop them during the request below.
        known = {name: _kept[place, name] for name in names if (place, name) in _kept}
    missing = [name for name in dict.fromkeys(names) if name not in known]
    read = {
        name: _details(name, found) for name, found in zip(missing, storage.details(missing), strict=True)
    }
    with _lock:
        _kept.update({(place, name): of for name, of in read.items()})
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    known |= read
    return [known[name] for name in names]


def _details(name: str, found: Mapping[str, Any] | None) -> Details:
    # An object of rows has its owner's name: an object in the place of another one names another owner.
    if found is None or not name.endswith(f"/{found['owner']}.rows"):
        raise DamagedFile(f"{name}: is gone or damaged; refresh the metadata in full", location=name)
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["schema"])))
    columns = {column: (start, end) for column, (start, end) in found["columns"].items()}
    fields = {
        column: Field(field, kind, _values(schema, column))
        for column, (field, kind) in found["fields"].items()
    }
    return Details(found["owner"], found["pieces"], found["block"], schema, columns, fields)


def _values(schema: pa.Schema, column: str) -> pa.DataType:
    if column == HAS_VALUES:
        return pa.int64()
    kind = schema.field(column).type
    return kind.value_type if pa.types.is_list(kind) else kind
