"""Record batches that can be read more than once, in a temporary file once they are many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from tempfile import SpooledTemporaryFile, gettempdir

import pyarrow as pa

from starskip.storage.files.full_disk import disk_named

_MAX_HELD_BYTES = 64 << 20


class SpooledBatches:
    """Holds batches of one schema, compressed; beyond 64 MiB in a nameless file of the temporary folder."""

    def __init__(self, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> None:
        """Write all ``batches``."""
        self._file = SpooledTemporaryFile(max_size=_MAX_HELD_BYTES)  # noqa: SIM115 - closed by __exit__
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        try:
            with disk_named(gettempdir()):
                stream = pa.ipc.new_stream(self._file, schema, options=options)
            for batch in batches:
                with disk_named(gettempdir()):
                    stream.write_batch(batch)
            with disk_named(gettempdir()):
                stream.close()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> SpooledBatches:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        self._file.close()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches as they were written; one reader at a time."""
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as stream:
            yield from stream
