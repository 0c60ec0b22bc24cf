"""A store in a bucket; put-if-absent is a conditional PUT (``If-None-Match: *`` on S3)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import uuid4

import obstore
import pyarrow as pa
import pyarrow.fs as pafs
from obstore.exceptions import AlreadyExistsError
from obstore.store import ObjectStore

from starskip.errors import SourceError, StorageError, StorageOutage
from starskip.storage.files.object_failure import STORE_ERRORS, FailureKind, ObjectFailure, object_failure
from starskip.storage.files.object_reader import ObjectReader, open_at_end
from starskip.storage.files.object_url import ObjectUrl
from starskip.storage.files.open_store import Environment, open_store, store_environment
from starskip.storage.storage import PutVerdict, StoredObject, name_components


class ObjectFilesystem(pafs.FileSystemHandler):  # type: ignore[misc]
    """Arrow's file system of one bucket; paths are keys below ``root``.

    Arrow's own S3 client would need its settings a second time and in another form.
    """

    def __init__(self, root: ObjectUrl) -> None:
        """Keep the root; nothing is asked of the store."""
        self.root = root

    def __eq__(self, other: object) -> bool:
        """Equal roots are the same file system."""
        return isinstance(other, ObjectFilesystem) and other.root == self.root

    def __hash__(self) -> int:
        """Hash by the root."""
        return hash(self.root)

    def get_type_name(self) -> str:
        """Name the kind for Arrow's messages."""
        return "starskip objects"

    def normalize_path(self, path: str) -> str:
        """Keys are as they should be."""
        return path

    def open_input_file(self, path: str) -> pa.PythonFile:
        """Open for reading at any position, the end at once, other ranges as Arrow asks for them."""
        return pa.PythonFile(open_at_end(self.root.below(path)), mode="r")

    def open_input_stream(self, path: str) -> pa.PythonFile:
        """Open for reading forwards."""
        return pa.PythonFile(ObjectReader(self.root.below(path)), mode="r")

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        """Return the sizes of objects, or that an object is missing."""
        return [self._info(path) for path in paths]

    def _info(self, path: str) -> pafs.FileInfo:
        try:
            size_bytes = ObjectReader(self.root.below(path), read_ahead=False).size_bytes
        except FileNotFoundError:
            return pafs.FileInfo(path, type=pafs.FileType.NotFound)
        return pafs.FileInfo(path, type=pafs.FileType.File, size=size_bytes)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(
            "Arrow only reads objects here; they are listed and written by ObjectStorage"
        )

    get_file_info_selector = _refuse
    create_dir = _refuse
    delete_dir = _refuse
    delete_dir_contents = _refuse
    delete_root_dir_contents = _refuse
    delete_file = _refuse
    move = _refuse
    copy_file = _refuse
    open_output_stream = _refuse
    open_append_stream = _refuse


_PROBE = "_conditional_put_probe"
_RACING_WRITERS = 4
_PAGE = 1_000
_proven: set[tuple[ObjectUrl, Environment]] = set()


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """Objects whose keys begin with the key of ``root``.

    The storage travels as a URL and opens anew where it arrives.

    Before its first write a process puts a probe object that is there already, or, in a new root, lets
    several threads put one at the same time. A store that ignores the condition, or that checks first and
    writes later, is refused by name. The probe stays and is not listed.
    """

    root: ObjectUrl

    def put_if_absent(self, name: str, content: bytes) -> PutVerdict:
        """See ``Storage``; one request, whose lost answer is an error here and settled by who commits."""
        key = self._url(name).key
        store = self._store()
        _require_conditional_put(self.root, store)
        return _put(store, self.root, key, content)

    def read(self, name: str) -> bytes | None:
        """See ``Storage``."""
        url = self._url(name)
        try:
            return bytes(obstore.get(self._store(), url.key).bytes())
        except STORE_ERRORS as error:
            failure = object_failure(error)
            if failure.kind is FailureKind.MISSING:
                return None
            raise _storage_error(url, failure) from None

    def delete(self, name: str) -> None:
        """See ``Storage``."""
        url = self._url(name)
        try:
            obstore.delete(self._store(), url.key)
        except STORE_ERRORS as error:
            failure = object_failure(error)
            if failure.kind is not FailureKind.MISSING:
                raise _storage_error(url, failure) from None

    def objects_below(self, folder: str) -> Iterator[StoredObject]:
        """See ``Storage``; a page at a time."""
        url = self._url(folder)
        above = len(self.root.key) + 1 if self.root.key else 0
        store = self._store()
        with _failures_named(url):
            for page in obstore.list(store, url.key or None, chunk_size=_PAGE):
                for meta in page:
                    name = meta["path"][above:]
                    if not name.startswith(_PROBE):
                        modified_ns = int(meta["last_modified"].timestamp() * 1e9)
                        yield StoredObject(name, meta["size"], modified_ns)

    def folders_in(self, folder: str) -> tuple[str, ...]:
        """See ``Storage``."""
        url = self._url(folder)
        store = self._store()
        with _failures_named(url):
            prefixes = obstore.list_with_delimiter(store, url.key or None)["common_prefixes"]
        return tuple(sorted({prefix.rpartition("/")[2] for prefix in prefixes}))

    @property
    def place(self) -> str:
        """See ``Storage``."""
        return str(self.root)

    def arrow_filesystem(self) -> pafs.FileSystem:
        """See ``Storage``."""
        return pafs.PyFileSystem(ObjectFilesystem(self.root))

    def _url(self, name: str) -> ObjectUrl:
        return self.root.below("/".join(name_components(name)))

    def _store(self) -> ObjectStore:
        try:
            return open_store(self.root.scheme, self.root.bucket)
        except SourceError as error:
            raise StorageError(str(error), location=str(self.root)) from None


def _require_conditional_put(root: ObjectUrl, store: ObjectStore) -> None:
    """Raise StorageError if the store lets two writers have one name; asked once a process."""
    asked = (root, store_environment())
    if asked in _proven:
        return
    probe, race = root.below(_PROBE).key, root.below(f"{_PROBE}-{uuid4().hex}").key

    def put(key: str) -> PutVerdict:
        return _put(store, root, key, uuid4().bytes)

    if put(probe) is PutVerdict.STORED:
        with ThreadPoolExecutor(_RACING_WRITERS) as writers:
            verdicts = list(writers.map(put, [race] * _RACING_WRITERS))
        verdicts.append(put(probe))
        is_refused = verdicts.count(PutVerdict.STORED) > 1 or verdicts[-1] is PutVerdict.STORED
        # A probe that stayed would make the next process content with the store.
        for done in (race, probe) if is_refused else (race,):
            with suppress(*STORE_ERRORS):
                obstore.delete(store, done)
        if is_refused:
            raise _unconditional(root)
    _proven.add(asked)


def _put(store: ObjectStore, root: ObjectUrl, key: str, content: bytes) -> PutVerdict:
    try:
        obstore.put(store, key, content, mode="create", use_multipart=False)
    except AlreadyExistsError:
        return PutVerdict.ALREADY_EXISTS
    except STORE_ERRORS as error:
        failure = object_failure(error)
        if failure.kind is FailureKind.UNSUPPORTED:
            raise _unconditional(root) from None
        raise _storage_error(root._replace(key=key), failure) from None
    return PutVerdict.STORED


def _unconditional(root: ObjectUrl) -> StorageError:
    return StorageError(
        f"{root}: this store does not keep to conditional puts (If-None-Match), without which artefacts "
        "cannot be published safely; keep the artefacts in another one",
        location=str(root),
    )


@contextmanager
def _failures_named(url: ObjectUrl) -> Iterator[None]:
    try:
        yield
    except STORE_ERRORS as error:
        raise _storage_error(url, object_failure(error)) from None


def _storage_error(url: ObjectUrl, failure: ObjectFailure) -> StorageError:
    kind = StorageOutage if failure.kind is FailureKind.OUTAGE else StorageError
    return kind(f"{url}: {failure.sentence}", location=str(url))
