"""Draw equal charts once a process for nights that are about something else: half of a report's time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import vl_convert

_DRAWN: dict[str, str] = {}
_MOST = 200


@contextmanager
def charts_drawn_once() -> Iterator[None]:
    """Keep the pictures of at most 200 charts by what was asked to be drawn."""
    draw = vl_convert.vegalite_to_svg

    def drawn(*arguments: Any, **options: Any) -> str:
        asked = repr((arguments, options))
        if asked not in _DRAWN:
            if len(_DRAWN) >= _MOST:
                _DRAWN.clear()
            _DRAWN[asked] = draw(*arguments, **options)
        return _DRAWN[asked]

    with patch.object(vl_convert, "vegalite_to_svg", drawn):
        yield
