"""Progress of long work: the caller gives a bar, or returns the items as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Progress = Callable[[str, Sequence[Any]], Iterable[Any]]
"""Takes the label of the work and the items, and yields the items."""
