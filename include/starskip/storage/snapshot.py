"""Read one version of an artefact, isolated from later commits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from errno import ENOENT

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from starskip.errors import DamagedFile, StorageError, printable
from starskip.storage.checked_parquet import require_columns, require_own
from starskip.storage.manifest import DataFile, Manifest, Part
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The parts that ``manifest`` names; a newer manifest does not change them.

    They stay readable for the vacuum's grace period after a newer one was published.
    """

    storage: Storage
    artefact: str
    manifest: Manifest
    schema: pa.Schema | None

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the sorted names of the tables that have a part, be it empty."""
        return tuple(sorted(self.manifest.parts))

    def parts(self, tables: Collection[str] | None = None) -> Mapping[str, Part]:
        """Return the parts of ``tables``, by default of all; a table without a part is left out."""
        wanted = self.tables if tables is None else sorted(tables)
        return {table: self.manifest.parts[table] for table in wanted if table in self.manifest.parts}

    def by_file(self, tables: Collection[str] | None = None) -> tuple[Snapshot, ...]:
        """Return one snapshot for each file of ``tables`` (by default all), to be read apart."""
        return tuple(
            replace(self, manifest=replace(self.manifest, parts={table: Part((file,))}))
            for table, part in self.parts(tables).items()
            for file in part.files
        )

    def row_schema(self) -> pa.Schema:
        """Return the schema of the rows; StorageError for an artefact of plain files."""
        if self.schema is None:
            raise StorageError(
                f"{self.artefact}: holds plain files and no rows; read its files", location=self.artefact
            )
        return self.schema

    def read_table(self, tables: Collection[str] | None = None, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of ``tables`` (by default all) in memory; for bounded artefacts."""
        schema = self.row_schema()
        selected = schema if columns is None else pa.schema([schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(tables, columns), selected)

    def batches(
        self,
        tables: Collection[str] | None = None,
        columns: Sequence[str] | Mapping[str, pc.Expression] | None = None,
        rows_a_batch: int | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``tables`` (by default all), file by file, each opened once.

        ``columns`` may be computed ones, by their names. ``rows_a_batch``: the most rows of a batch, of which
        two are in memory at once; by default Arrow makes large batches and reads ahead.
        Raises ``DamagedFile`` naming the file that is damaged, and ``StorageError`` naming artefact and
        column for a file that lacks a column.
        """
        schema = self.row_schema()
        wanted = schema.names if columns is None else columns
        asked = dict(wanted) if isinstance(wanted, Mapping) else list(wanted)
        held = {} if rows_a_batch is None else {"batch_size": rows_a_batch, "batch_readahead": 1}
        checked = pads.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = pads.ParquetFileFormat(default_fragment_scan_options=checked)
        filesystem = self.storage.arrow_filesystem()
        for file in (file for part in self.parts(tables).values() for file in part.files):
            with _failures_named(file.name), filesystem.open_input_file(file.name) as opened:
                fragment = parquet.make_fragment(opened)
                require_own(fragment.metadata, file)
                # Arrow would fill a missing column with nulls and say nothing.
                names = list(fragment.physical_schema.names)
                require_columns(names, schema, artefact=self.artefact, location=file.name)
                yield from fragment.scanner(schema=schema, columns=asked, **held).to_batches()

    def read_file(self, file: DataFile) -> bytes:
        """Return the content of one of its plain files."""
        content = self.storage.read(file.name)
        if content is None:
            raise _missing(file.name)
        return content


def staged_rows(staged: StagedWrite, table: str, files: Iterable[DataFile]) -> Snapshot:
    """Return the rows of staged files, which no published manifest names yet."""
    manifest = Manifest(0, "", datetime.min.replace(tzinfo=UTC), "", {table: Part(tuple(files))})
    return Snapshot(staged.storage, staged.artefact, manifest, staged.schema)


@contextmanager
def _failures_named(name: str) -> Iterator[None]:
    """Raise that a file is gone or damaged, or was not read for now, which a retry may mend."""
    try:
        yield
    except FileNotFoundError as error:
        raise _missing(name) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        words = printable(" ".join(str(error).split()), 200)
        # Arrow's own errors on damaged bytes have no number of the operating system.
        if isinstance(error, MemoryError) or getattr(error, "errno", None) not in (None, ENOENT):
            raise StorageError(f"{name}: cannot be read ({words})", location=name) from error
        raise DamagedFile(
            f"{name}: is damaged; run the step that wrote it again ({words})", location=name
        ) from error


def _missing(name: str) -> DamagedFile:
    return DamagedFile(
        f"{name}: is named by the manifest but gone; run the step that wrote it again", location=name
    )
