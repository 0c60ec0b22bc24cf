"""A broker log as brokers write it that leave texts out: with sqlRedaction, or with a greatest length."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from starskip.sql.normalize_sql import normalize_sql

_PAIRS = Path(__file__).parents[1] / "data" / "sql" / "redacted.json"
_RECORD = re.compile(r"^\d{4}/\d\d/\d\d ", re.MULTILINE)


@cache
def redacted_texts() -> Mapping[str, str]:
    """Return what Calcite makes of the queries of a skeleton; the sample has no other."""
    return {normalize_sql(sql).skeleton: text for sql, text in json.loads(_PAIRS.read_text())}


def redacted_log(log: Path, *, mode: str = "literal_values") -> str:
    """Return the text of ``log`` with its queries redacted, each record on one line."""
    return "".join(_redacted(record, mode) for record in _records(gzip.decompress(log.read_bytes()).decode()))


def cut_log(log: Path, length: int) -> str:
    """Return the text of ``log`` as a broker writes it that logs ``length`` characters of a query."""
    records = [record.partition(",query=") for record in _records(gzip.decompress(log.read_bytes()).decode())]
    return "".join(f"{head}{field}{query.rstrip(chr(10))[:length]}\n" for head, field, query in records)


def _records(text: str) -> Iterator[str]:
    starts = [match.start() for match in _RECORD.finditer(text)]
    yield from (text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True))


def _redacted(record: str, mode: str) -> str:
    head, field, query = record.partition(",query=")
    if not field:
        return record
    text = "REDACTED" if mode == "full" else redacted_texts()[normalize_sql(query.rstrip("\n")).skeleton]
    return f"{head}{field}{text}\n"
