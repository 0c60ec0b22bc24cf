"""Count the requests that this process sends to an object store, by their kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import obstore
from starskip.storage.files import object_reader

_KINDS = ("get", "head", "put", "list", "list_with_delimiter", "delete")
_MODULES = (obstore, object_reader)
"""The library, and the module that has imported functions of it by name."""


@contextmanager
def counted_requests() -> Iterator[Counter[str]]:
    """Count while the context lasts; a listing counts once, however many pages it has."""
    counts: Counter[str] = Counter()

    def counted(kind: str, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            counts[kind] += 1
            return function(*arguments, **options)

        return call

    with ExitStack() as patches:
        for kind in _KINDS:
            function = getattr(obstore, kind)
            for module in _MODULES:
                if getattr(module, kind, None) is function:
                    patches.enter_context(patch.object(module, kind, counted(kind, function)))
        yield counts
