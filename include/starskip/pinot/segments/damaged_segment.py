"""The error of a damaged segment, with the reason code and the sentence that the report shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.errors import SourceError


class DamagedSegment(SourceError):
    """One segment file that is set aside; the others go on.

    ``source`` is the file's path, ``reason`` a short code ("truncated_gzip", "climbing_path", …),
    ``detail`` one sentence for people.
    """

    def __init__(self, source: str, reason: str, detail: str) -> None:
        """Keep the three parts; the message is file and detail."""
        super().__init__(f"segment {source}: {detail}", source=source)
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[DamagedSegment], tuple[str, str, str]]:
        """Rebuild from the three parts: it travels from executors to the driver."""
        return DamagedSegment, (self.source, self.reason, self.detail)


def damage_sentence(row: Mapping[str, Any]) -> str:
    """Return a row of DAMAGED_SEGMENTS as a sentence."""
    return f"damaged segment {row['source_file']}: {row['reason']}: {row['detail']}"
