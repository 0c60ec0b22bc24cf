"""How long work shows that it goes on: whoever calls gives a bar, or the items as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Progress = Callable[[str, Sequence[Any]], Iterable[Any]]
"""Takes what is done and the items, and yields them."""
