"""Read the advice on a table: of a night, of the JSON of ``starskip tune``, or of a whole table config."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from starskip.advisor.families.families import known_families, named
from starskip.advisor.families.family import Family
from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedChange, AdvisedIndex
from starskip.advisor.run.artefact_rows import published_rows
from starskip.advisor.run.night import Night
from starskip.advisor.run.table_by_table import FAILED
from starskip.advisor.selection.combined_saving import OF_COLUMNS
from starskip.errors import MissingSource, SourceError, printable
from starskip.pinot.config_change import config_digest
from starskip.pinot.hybrid_tables import TABLE_TYPES, without_type
from starskip.pinot.table_config import TableConfig, read_table_configs, table_config
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files.open_file import read_small_file

_VARIANT_DIGITS = 6


def change_of_night(night: Night, table: str) -> AdvisedChange:
    """Return the published advice on ``table``; raises MissingSource if the night has none.

    A table of which a night knows one half alone is known to it by the name without a type.
    """
    rows, properties = published_rows(night, "recommendations", table)
    plain, table_type = without_type(table)
    if not properties and table_type:
        return change_of_night(night, plain)
    if not properties:
        raise MissingSource(
            f"table {printable(table, 100)} has no recommendation of {night.date_text}", source=table
        )
    chosen = sorted((row for row in rows if row["verdict"] == "chosen"), key=lambda row: row["rank"])
    indexes = [
        *(_of_column(row, row["progressive_saving_ratio"]) for row in chosen),
        *(_of_answer(each) for each in properties.get("answers", ())),
        *(_of_column(row, None, is_drop=True) for row in rows if row["verdict"] == "drop"),
    ]
    latency, told = properties.get("latency") or {}, properties.get("time")
    time = None
    if told and latency.get("trusted"):
        time = TimeSaving(told["ms_per_query"], told["saving_ms"], *told["interval_ms"])
    return _change(table, night.date_text, indexes, properties.get("combined") or {}, time)


def newest_advice(store: ArtefactStore, table: str, after: str = "") -> str:
    """Return the newest night later than ``after`` with advice on ``table``, empty if there is none.

    A night of other tables alone has none, nor has a night that failed on this table.
    """
    names = [table, without_type(table)[0]]
    for each in store.newer_nights("recommendations", than=after):
        snapshot = store.snapshot("recommendations", each)
        parts = snapshot.parts(names).values() if snapshot else ()
        if any(not part.properties.get(FAILED) for part in parts):
            return each
    return ""


def change_of_file(path: str, table: str, config: Mapping[str, Any]) -> AdvisedChange:
    """Return the advice in a file: JSON of ``starskip tune``, or a table config as it should be.

    ``config``: the config that the table has now. Of a file with a table config every index that the table
    lacks is added, and every index on a column that the file lacks is dropped. Raises SourceError for a file
    that is neither, or that is of other tables.
    """
    document = _document(path)
    if isinstance(document.get("tables"), dict):
        table = table if table in document["tables"] else without_type(table)[0]
        told = document["tables"].get(table)
        if not isinstance(told, dict) or not isinstance(told.get("indexes"), list):
            raise SourceError(f"{path}: has no advice on table {printable(table, 100)}", source=path)
        try:
            return _of_tune(path, table, told)
        except (KeyError, TypeError, AttributeError) as error:
            raise SourceError(
                f"{path}: the advice on table {printable(table, 100)} is damaged ({error})", source=path
            ) from error
    wanted = _wanted_config(path, table, config)
    now = table_config(dict(config))
    indexes = [
        index
        for family in known_families()
        if family.config is not None and not (family.path is not None and family.path.reorders)
        for index in _differing(family, now, wanted)
    ]
    return AdvisedChange(table, path, told_apart(indexes))


def _document(path: str) -> dict[str, Any]:
    try:
        document = json.loads(read_small_file(path))
    except OSError as error:
        raise MissingSource(f"{path}: cannot be read ({error.strerror})", source=path) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: is no JSON ({error})", source=path) from error
    if not isinstance(document, dict):
        raise SourceError(f"{path}: is no recommendation and no table config", source=path)
    if "change" in document and isinstance(document["change"], dict):
        raise SourceError(
            f"{path}: is a report, whose configs have their secrets hidden: give its night, the JSON of "
            "starskip tune, or the config that starskip tune --config-out wrote",
            source=path,
        )
    return document


def _wanted_config(path: str, table: str, config: Mapping[str, Any]) -> TableConfig:
    name, table_type = without_type(table)
    table_type = table_type or str(config.get("tableType") or TABLE_TYPES[0]).upper()
    for configs in read_table_configs([path]).values():
        for each in configs:
            if without_type(each.table)[0] == name and each.table_type in (None, table_type):
                return each
    raise SourceError(f"{path}: has no {table_type} config of table {printable(name, 100)}", source=path)


def _differing(family: Family, now: TableConfig, wanted: TableConfig) -> Iterator[AdvisedIndex]:
    key = family.config
    assert key is not None
    held, asked = list(key.in_force(now)), list(key.in_force(wanted))
    for item in asked:
        if item not in held:
            yield AdvisedIndex(family.name, _columns(item), dict(key.fragment(item)))
    for item in held:
        if item not in asked and isinstance(item, str):
            yield AdvisedIndex(family.name, (item,), dict(key.fragment(item)), is_drop=True)


def _columns(item: Any) -> tuple[str, ...]:
    """Return the columns of an index as its key holds it: a column, or an object with an order of them."""
    if isinstance(item, str):
        return (item,)
    lists = [each for each in item.values() if isinstance(each, list)] if isinstance(item, Mapping) else []
    return tuple(map(str, lists[0])) if lists else ()


def _of_tune(path: str, table: str, told: Mapping[str, Any]) -> AdvisedChange:
    indexes = [
        AdvisedIndex(
            each["family"],
            tuple(each["columns"]),
            each["config"] or {},
            each.get("saving_ratio"),
            each.get("saving_ms"),
            each.get("size_bytes"),
            alone_ratio=each.get("individual_saving_ratio"),
        )
        for each in told["indexes"]
    ]
    for drop in told.get("drops", ()):
        (column,) = drop["columns"]
        indexes.append(_of_column({"kind": drop["kind"], "column": column}, None, is_drop=True))
    latency, interval_ms = told.get("latency") or {}, told.get("predicted_interval_ms")
    time = None
    if interval_ms and latency.get("trusted"):
        time = TimeSaving(latency["ms_per_query"], told["predicted_saving_ms"], *interval_ms)
    return _change(table, path, indexes, told.get("combined") or {}, time)


def _change(
    table: str,
    source: str,
    indexes: Sequence[AdvisedIndex],
    combined: Mapping[str, Any],
    time: TimeSaving | None,
) -> AdvisedChange:
    """Return the advice; without ``time``, no index has a time that anybody should rely on.

    ``indexes`` on columns have their shares of the entries in filters, which become shares of all entries.
    """
    part, of_filters = (combined.get("parts") or {}).get(OF_COLUMNS), sum(map(_of_filters, indexes))
    if part is not None and of_filters > 0:
        indexes = [
            replace(each, saving_ratio=share * part / of_filters) if (share := _of_filters(each)) else each
            for each in indexes
        ]
    interval = combined.get("interval")
    low, high = interval or (combined.get("low"), combined.get("high"))
    saving = combined.get("saving_ratio")
    known = None if low is None or high is None else (float(low), float(high))
    if time is None:
        indexes = [replace(each, saving_ms=None) for each in indexes]
    return AdvisedChange(table, source, told_apart(indexes), saving, known, time)


def _of_filters(index: AdvisedIndex) -> float:
    """Return the share of the entries in filters that an index on columns saves; 0 for another one."""
    family = named(index.family)
    return index.saving_ratio or 0.0 if family and family.path and not index.is_drop else 0.0


def told_apart(indexes: Sequence[AdvisedIndex]) -> tuple[AdvisedIndex, ...]:
    """Return the indexes, those of one family and the same columns with a word of their config."""
    names = [each.name for each in indexes]
    return tuple(
        replace(each, variant=config_digest(each.config)[:_VARIANT_DIGITS])
        if names.count(each.name) > 1
        else each
        for each in indexes
    )


def _of_column(row: Mapping[str, Any], saving: float | None, *, is_drop: bool = False) -> AdvisedIndex:
    family = named(row["kind"])
    key = family.config if family else None
    config = dict(key.fragment(row["column"])) if key else {}
    return AdvisedIndex(
        row["kind"],
        (row["column"],),
        config,
        saving,
        row.get("saving_ms"),
        row.get("size_bytes"),
        is_drop=is_drop,
        alone_ratio=row.get("individual_saving_ratio"),
    )


def _of_answer(answer: Mapping[str, Any]) -> AdvisedIndex:
    return AdvisedIndex(
        answer["family"],
        tuple(answer["columns"]),
        answer.get("config") or {},
        answer.get("saving_ratio"),
        answer.get("saving_ms"),
        answer.get("size_bytes"),
        tuple(answer.get("shapes", ())),
        alone_ratio=answer.get("individual_saving_ratio"),
    )
