"""Sum entries scanned by skeleton key in bounded memory, and find the busiest keys of each table.

Up to MAX_KEYS keys of a table are distinguished by all their bits. Beyond, they are distinguished by as many
leading bits as keep them within MAX_KEYS, and keys of one prefix are summed as one. The number of bits
depends on the set of keys only, so sums merge whatever their order: if a part needs fewer bits, so does the
whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.sql_text import sql_text
from starskip.sql.normalize_sql import COMMENT_OR_LITERAL, SLOT, has_prefix, normalize_sql

MAX_KEYS = 1 << 20
"""Keys of a table that are held: 16 MiB, some more while sums are taken."""

KEY_FIELD = pa.field("skeleton_key", pa.int64())
"""May stand behind the columns of QUERIES, where keys were taken before."""

KEYED_BY = ("table", "query_text", "line_format", "entries_scanned_in_filter", "weight")
"""The columns of QUERIES that sums by key are computed from."""

KEY_SUMS = pa.schema(
    [("table", pa.string()), ("bits", pa.int8()), ("key", pa.int64()), ("entries", pa.float64())]
)
_ROWS_A_BATCH = 65_536

Keys = npt.NDArray[np.int64]


KEY_BITS = 53
"""Few enough for a float to hold; a million keys include two equal ones once in ten thousand logs."""
_DROPPED = b'\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f (),;+-_"`' + SLOT.encode()
_ONLY_NORMALIZED = ('"', "`", SLOT, ";", "option")
"""Begin quoted names, which hold no literals, and query options."""


@dataclass(frozen=True, slots=True)
class BusyKeys:
    """The keys of a table whose queries scanned most; other queries of the table are not distinguished.

    ``prefixes``: sorted keys, of which ``bits`` leading bits count. ``keys``: the table's number of keys, or
    a lower bound if not ``is_counted``. ``left_out_entries``: no other key scanned more in filter.
    """

    bits: int
    prefixes: Keys
    keys: int
    left_out_entries: float
    is_counted: bool = True

    @property
    def is_exact(self) -> bool:
        """Return whether each prefix is one key."""
        return self.bits == KEY_BITS

    @property
    def is_whole(self) -> bool:
        """Return whether these are all keys of the table."""
        return self.is_exact and self.is_counted and len(self.prefixes) == self.keys

    @property
    def words(self) -> str:
        """Return the number of keys of the table in words."""
        return f"{self.keys:,}" if self.is_counted else f"more than {self.keys:,}"

    def refined(self, finer: BusyKeys) -> BusyKeys:
        """Return the busiest of these keys, ``finer``, in place of all of them."""
        left_out = max(self.left_out_entries, finer.left_out_entries)
        return replace(finer, keys=self.keys, left_out_entries=left_out, is_counted=False)

    def includes(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return for each key whether it is included."""
        prefixes = _prefixes(keys, self.bits)
        at = np.minimum(np.searchsorted(self.prefixes, prefixes), len(self.prefixes) - 1)
        found: npt.NDArray[np.bool_] = self.prefixes[at] == prefixes
        return found


@dataclass(slots=True)
class _Sums:
    """Entries by key prefix of one table; ``keys`` ascend, except keys that were added since ``settle``."""

    keys: list[Keys]
    entries: list[npt.NDArray[np.float64]]
    bits: int = KEY_BITS
    unsettled: int = 0

    def add(self, keys: Keys, entries: npt.NDArray[np.float64], bits: int, max_keys: int) -> None:
        self.keys.append(keys)
        self.entries.append(entries)
        self.bits = min(self.bits, bits)
        self.unsettled += len(keys)
        # Sorting at each addition would take quadratic time for many small additions.
        if self.unsettled > max(max_keys // 2, 1):
            self.settle(max_keys)

    def settle(self, max_keys: int) -> None:
        keys, entries = np.concatenate(self.keys), np.concatenate(self.entries)
        keys, entries = _summed(_prefixes(keys, self.bits), entries)
        if len(keys) > max_keys:
            self.bits = _bits_for(keys, max_keys)
            keys, entries = _summed(_prefixes(keys, self.bits), entries)
        self.keys, self.entries, self.unsettled = [keys], [entries], 0


def sum_keys(
    batches: Iterable[pa.RecordBatch],
    *,
    within: Mapping[str, BusyKeys] | None = None,
    max_keys: int = MAX_KEYS,
) -> Iterator[pa.RecordBatch]:
    """Sum the entries of query records (schema QUERIES) by table and key; KEY_SUMS rows at the end.

    ``within``: only queries of its keys in its tables are summed.
    """
    sums: dict[str, _Sums] = {}
    for batch in batches:
        keys = keys_of(batch)
        # Whole numbers add up to the same in any order, up to 2^53.
        estimated = pc.multiply(batch.column("entries_scanned_in_filter").cast(pa.float64()), batch["weight"])
        entries = np.rint(pc.fill_null(estimated, 0.0).to_numpy(zero_copy_only=False))
        for table, rows in _rows_by_table(batch):
            if within is not None:
                rows = rows[within[table].includes(keys[rows])] if table in within else rows[:0]
            if len(rows):
                _of(sums, table).add(keys[rows], entries[rows], KEY_BITS, max_keys)
    yield from _batches(sums, max_keys)


def busiest_keys(
    batches: Iterable[pa.RecordBatch], *, most: int, max_keys: int = MAX_KEYS
) -> Iterator[tuple[str, BusyKeys]]:
    """Yield the ``most`` busiest keys of each table of KEY_SUMS rows; of keys that tie, the smallest."""
    for table, sums in sorted(_merged(batches, max_keys).items()):
        sums.settle(max_keys)
        keys, entries = sums.keys[0], sums.entries[0]
        ranked = np.lexsort((keys, -entries))
        left_out = float(entries[ranked[most]]) if len(keys) > most else 0.0
        yield table, BusyKeys(sums.bits, np.sort(keys[ranked[:most]]), len(keys), left_out)


def keys_of(batch: pa.RecordBatch) -> Keys:
    """Return the skeleton key of each query record."""
    if KEY_FIELD.name in batch.schema.names:
        found: Keys = batch.column(KEY_FIELD.name).to_numpy()
        return found
    texts, forms = batch.column("query_text").to_pylist(), batch.column("line_format").to_pylist()
    keys = (skeleton_key(sql_text(text or "", form)) for text, form in zip(texts, forms, strict=True))
    return np.fromiter(keys, np.int64, batch.num_rows)


def with_keys(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return query records with their skeleton keys as last column."""
    return batch.append_column(KEY_FIELD, pa.array(keys_of(batch)))


def _of(sums: dict[str, _Sums], table: str) -> _Sums:
    return sums.setdefault(table, _Sums([], []))


def _merged(batches: Iterable[pa.RecordBatch], max_keys: int) -> dict[str, _Sums]:
    sums: dict[str, _Sums] = {}
    for batch in batches:
        keys, entries, bits = (batch.column(name).to_numpy() for name in ("key", "entries", "bits"))
        for table, rows in _rows_by_table(batch):
            _of(sums, table).add(keys[rows], entries[rows], int(bits[rows].min()), max_keys)
    return sums


def _rows_by_table(batch: pa.RecordBatch) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    tables = batch.column("table").dictionary_encode()
    codes = pc.fill_null(tables.indices, -1).to_numpy()
    for code, table in enumerate(tables.dictionary.to_pylist()):
        yield table, np.flatnonzero(codes == code)


def _batches(sums: dict[str, _Sums], max_keys: int) -> Iterator[pa.RecordBatch]:
    for table, of_table in sorted(sums.items()):
        of_table.settle(max_keys)
        rows = len(of_table.keys[0])
        columns = {
            "table": pa.repeat(table, rows),
            "bits": pa.repeat(pa.scalar(of_table.bits, pa.int8()), rows),
            "key": of_table.keys[0],
            "entries": of_table.entries[0],
        }
        yield from pa.table(columns, schema=KEY_SUMS).to_batches(max_chunksize=_ROWS_A_BATCH)


def _prefixes(keys: Keys, bits: int) -> Keys:
    return keys >> (KEY_BITS - bits) << (KEY_BITS - bits)


def _summed(keys: Keys, entries: npt.NDArray[np.float64]) -> tuple[Keys, npt.NDArray[np.float64]]:
    found, positions = np.unique(keys, return_inverse=True)
    sums = np.bincount(positions, weights=entries, minlength=len(found)).astype(np.float64)
    return found, sums


def _bits_for(keys: Keys, max_keys: int) -> int:
    """Return the most leading bits by which ascending ``keys`` are at most ``max_keys`` distinct prefixes."""
    # Two neighbours differ from their first differing bit on; frexp is exact for KEY_BITS bits.
    _, length = np.frexp((keys[1:] ^ keys[:-1]).astype(np.float64))
    differs_from = KEY_BITS - length + 1
    return int(np.partition(differs_from, max_keys - 1)[max_keys - 1]) - 1


def skeleton_key(sql: str) -> int:
    """Return the key of ``sql``, of KEY_BITS bits and the same in every process; never raises.

    Texts that differ in case, white space, brackets, commas, signs, underscores, quotes of names, comments,
    query options that decide nothing, literals or lengths of lists have one key; a few texts of different
    shapes share a key too, which does no harm: all texts of a key are kept, or none. Cheaper than normalizing
    the text, it selects the texts worth parsing where a log has more shapes than can be kept.
    """
    lower = sql.lower()
    if sql.isascii() and not any(map(lower.__contains__, _ONLY_NORMALIZED)) and not has_prefix(lower):
        bare = COMMENT_OR_LITERAL.sub("", lower)
    else:
        bare = normalize_sql(sql).skeleton
    text = bare.encode("utf-8", "surrogatepass").translate(None, _DROPPED).lower().replace(b"!=", b"<>")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> (64 - KEY_BITS)
