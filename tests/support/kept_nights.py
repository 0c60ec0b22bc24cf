"""Nights that are published and retired, and which of them a law expects to stay."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from starskip.storage.manifest import Part
from starskip.storage.retention import retire_nights

DAY_S = 86_400
GRACE = timedelta(days=1)
FIRST = date(2026, 11, 1)
NOVEMBER_S = int(datetime(2026, 11, 9, tzinfo=UTC).timestamp())
ARTEFACTS, TABLES = ("numbers", "reports"), ("a", "b", "c")

nights = st.integers(0, 7).map(lambda day: (FIRST + timedelta(days=day)).isoformat())
published = st.dictionaries(
    st.tuples(st.sampled_from(ARTEFACTS), nights), st.sets(st.sampled_from(TABLES), min_size=1), max_size=14
)


def publish(store: Any, artefact: str, night: str, tables: Any, content: bytes = b"x") -> None:
    aside = store.staged_write(artefact, night)
    parts = {table: Part((aside.write_file(table, "f", content),)) for table in sorted(tables)}
    created_at = datetime.fromtimestamp(store.storage.now_s, UTC)
    store.publish(artefact, night, parts, replace="tables", created_at=created_at, created_by="test")


def retire(store: Any, keep: int, **options: Any) -> Any:
    now = datetime.fromtimestamp(store.storage.now_s, UTC)
    options = {"days": {}, **options}
    return retire_nights(store, nights=keep, now=now, grace=GRACE, created_by="test", **options)


def found(store: Any) -> dict[tuple[str, str], set[str]]:
    """Read every file that readers see."""
    seen = {}
    for artefact in store.artefacts():
        for night in store.run_dates(artefact):
            snapshot = store.snapshot(artefact, night)
            for part in snapshot.parts().values():
                assert all(snapshot.read_file(file) == b"x" for file in part.files)
            if snapshot.tables:
                seen[artefact, night] = set(snapshot.tables)
    return seen


def expected(model: dict[tuple[str, str], set[str]], keep: int) -> dict[tuple[str, str], set[str]]:
    kept = {}
    for (artefact, night), tables in model.items():
        newer = [n for (a, n) in model if a == artefact and n > night]
        is_new = len(newer) < keep
        left = {t for t in tables if is_new or not any(t in model[artefact, n] for n in newer)}
        if left:
            kept[artefact, night] = left
    return kept
