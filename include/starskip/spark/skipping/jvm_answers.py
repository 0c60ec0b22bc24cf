"""Long answers of the JVM, which come in pieces for the reason in Answers.java."""

from __future__ import annotations

import zlib
from base64 import b64decode
from typing import Any

_AT_ONCE = 8_000


def answered_bytes(answer: Any) -> bytes:
    """Return the bytes of an answer of ``Answers.bytes``."""
    if not isinstance(answer, str):
        size = answer.length()
        pieces = (answer.substring(at, min(at + _AT_ONCE, size)) for at in range(0, size, _AT_ONCE))
        answer = "".join(pieces)
    return b64decode(answer)


def unpacked_bytes(answer: Any) -> bytes:
    """Return the bytes of an answer of ``Answers.packed``."""
    return zlib.decompress(answered_bytes(answer))
