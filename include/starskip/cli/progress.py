"""A progress bar on stderr for long work, if somebody is watching."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")


def progress(label: str, items: Sequence[Item]) -> Iterable[Item]:
    """Yield the items behind a bar that disappears; no bar without a terminal, or for one item."""
    if not sys.stderr.isatty() or len(items) < 2:
        return items
    shown: Iterable[Item] = tqdm(items, desc=label, leave=False, file=sys.stderr)
    return shown
