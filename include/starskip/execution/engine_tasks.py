"""Tasks on an engine: a function of one item at a time, whose small results come back in the items' order."""

from __future__ import annotations

import hmac
import pickle
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import pyarrow as pa

from starskip.errors import StorageError
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_aside
from starskip.storage.staged_write import StagedWrite

Item = TypeVar("Item")
Result = TypeVar("Result")

_KEY_BYTES = _SEAL_BYTES = 32
_RESULTS = pa.schema([("first", pa.int64()), ("position", pa.int64()), ("result", pa.binary())])


@dataclass(frozen=True, slots=True)
class EngineTasks:
    """Runs tasks where ``engine`` runs its maps: on executors, or in this process.

    ``aside``: the folder through which results come that may be large.
    """

    engine: Engine
    aside: StagedWrite | None = None

    def run_tasks(
        self, label: str, items: Sequence[Item], function: Callable[[Item], Result]
    ) -> list[Result]:
        """Return the result of ``function`` for each item; ``label`` names the work in errors.

        ``function`` may run in another process and more than once; its output must not depend on that. Raises
        the errors of ``function``, as far as ``understood_failure`` keeps them when an executor raised them.
        """

        def each(items: Iterable[Item]) -> Iterator[Result]:
            return map(function, items)

        return self.run_parts(label, items, each)

    def run_parts(
        self, label: str, items: Sequence[Item], function: Callable[[Iterable[Item]], Iterable[Result]]
    ) -> list[Result]:
        """Return the results of ``function`` for parts of the items, as the engine cuts them, in their order.

        A part has no more results than items. Otherwise as ``run_tasks``.
        """
        key = secrets.token_bytes(_KEY_BYTES)

        def results(numbered: Iterable[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
            numbered = iter(numbered)
            begin = next(numbered, None)
            if begin is None:
                return
            of_part = (item for _, item in chain([begin], numbered))
            for position, result in enumerate(function(of_part)):
                pickled = pickle.dumps(result)
                row = {"first": begin[0], "position": position, "result": _seal(key, pickled) + pickled}
                yield pa.RecordBatch.from_pylist([row], schema=_RESULTS)

        if not items:
            return []
        rows = self.engine.rows_of_items(list(enumerate(items)), results, _RESULTS)
        order = [("first", "ascending"), ("position", "ascending")]
        if self.aside is None:
            gathered = rows.gather(label, len(items))
        else:
            gathered = gather_aside(rows, _RESULTS, self.aside, label)
        return [_unsealed(key, value) for value in gathered.sort_by(order)["result"].to_pylist()]


def _seal(key: bytes, pickled: bytes) -> bytes:
    return hmac.digest(key, pickled, "sha256")


def _unsealed(key: bytes, sealed: bytes) -> Any:
    """Return what a task has pickled a moment ago; a file of the store may hold what somebody else wrote."""
    seal, pickled = sealed[:_SEAL_BYTES], sealed[_SEAL_BYTES:]
    if not hmac.compare_digest(seal, _seal(key, pickled)):
        raise StorageError("a task's result is not what the task wrote", location="results")
    return pickle.loads(pickled)  # noqa: S301 - the seal is that of our own task
