"""Read one version of an artefact, isolated from later commits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from errno import ENOENT

import pyarrow as pa
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

    def dataset(self, tables: Collection[str] | None = None) -> pads.Dataset:
        """Return the rows of ``tables`` (by default all) in the artefact's schema, not read yet.

        Raises ``StorageError`` naming artefact and column for a file that lacks a column.
        """
        if self.schema is None:
            raise StorageError(
                f"{self.artefact}: holds plain files and no rows; read its files", location=self.artefact
            )
        files = [file for part in self.parts(tables).values() for file in part.files]
        checked = pads.ParquetFragmentScanOptions(page_checksum_verification=True)
        parquet = pads.ParquetFileFormat(default_fragment_scan_options=checked)
        filesystem = self.storage.arrow_filesystem()
        fragments = [parquet.make_fragment(file.name, filesystem) for file in files]
        for fragment, file in zip(fragments, files, strict=True):
            # Arrow would fill a missing column with nulls and say nothing. The footer that this
            # reads stays with the fragment and is not read a second time.
            columns = _physical_columns(fragment, file)
            require_columns(columns, self.schema, artefact=self.artefact, location=file.name)
        return pads.FileSystemDataset(fragments, self.schema, parquet, filesystem)

    def read_table(self, tables: Collection[str] | None = None, columns: list[str] | None = None) -> pa.Table:
        """Return the rows of ``tables`` (by default all) in memory; for bounded artefacts."""
        dataset = self.dataset(tables)
        names = dataset.schema.names if columns is None else columns
        schema = pa.schema([dataset.schema.field(name) for name in names])
        return pa.Table.from_batches(_batches(dataset, names), schema)

    def batches(
        self, tables: Collection[str] | None = None, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``tables`` (by default all), file by file.

        Raises ``DamagedFile`` naming the file that is damaged.
        """
        dataset = self.dataset(tables)
        yield from _batches(dataset, list(columns) if columns is not None else dataset.schema.names)

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


def _batches(dataset: pads.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
    for fragment in dataset.get_fragments():
        try:
            yield from fragment.to_batches(schema=dataset.schema, columns=columns)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(fragment.path, error) from error


def _physical_columns(fragment: pads.Fragment, file: DataFile) -> list[str]:
    name = file.name
    try:
        require_own(fragment.metadata, file)
        return list(fragment.physical_schema.names)
    except FileNotFoundError as error:
        raise _missing(name) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> StorageError:
    """Return that a file is damaged, or that this machine could not read it now, which a retry may mend."""
    words = printable(" ".join(str(error).split()), 200)
    # Arrow's own errors on damaged bytes have no number of the operating system.
    if isinstance(error, MemoryError) or getattr(error, "errno", None) not in (None, ENOENT):
        return StorageError(f"{name}: cannot be read ({words})", location=name)
    return DamagedFile(f"{name}: is damaged; run the step that wrote it again ({words})", location=name)


def _missing(name: str) -> DamagedFile:
    return DamagedFile(
        f"{name}: is named by the manifest but gone; run the step that wrote it again", location=name
    )


SnapshotSource = Callable[[str, str], Snapshot | None]
"""Gives the snapshot of an artefact and night."""
