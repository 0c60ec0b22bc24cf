"""Count rows that repeat the key of another row, in bounded memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.artefact_rows import stream_rows
from starskip.extras import needing_extra
from starskip.storage.snapshot import Snapshot

_KEYS_AT_ONCE = 8_000_000


def duplicate_rows(snapshot: Snapshot, table: str, key: Sequence[str]) -> int:
    """Return the number of rows of ``table`` whose ``key`` an earlier row has already.

    Keys are compared by 64-bit hashes, about eight million of them at a time: each pass over the rows takes
    the hashes with another remainder. Two keys of 10 million are taken for one with a probability of 3 in a
    million.
    """
    with needing_extra("airflow"):
        from pandas.util import hash_pandas_object

    part = snapshot.parts([table]).get(table)
    rows = sum(file.rows or 0 for file in part.files) if part else 0
    passes = max(1, -(-rows // _KEYS_AT_ONCE))
    # As text: pandas makes floats of whole numbers where a batch has nulls, and they hash otherwise.
    columns = {name: pc.field(name).cast(pa.string()) for name in key}
    duplicates = 0
    for remainder in range(passes):
        hashes = [np.empty(0, np.uint64)]
        for batch in stream_rows(snapshot, table, columns):
            of_batch = hash_pandas_object(batch.to_pandas(), index=False).to_numpy()
            hashes.append(of_batch[of_batch % np.uint64(passes) == remainder])
        found = np.concatenate(hashes)
        found.sort()
        duplicates += int(np.count_nonzero(found[1:] == found[:-1]))
    return duplicates
