"""Tell Airflow of assets that other DAGs wait for: new advice on a table, and an index that was built.

An asset's name is its URI, so that ``Asset(uri)`` in a DAG file is all that a subscriber writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias

from starskip.advisor.run.stages import STAGES
from starskip.airflow.progress_line import show_progress
from starskip.errors import first_line

if TYPE_CHECKING:
    from starskip.advisor.run.night import Night

_BUILDS = "_builds"
"""The end of the names of artefacts whose rows are indexes; the family in an asset's URI stands before it."""
_CHANGED = ("built", "created", "refreshed")
_LONGEST_NAME = 450


def advice_alias(dag_id: str) -> AssetAlias:
    """Return the alias of all assets of a DAG: its tasks tell at run time which there are."""
    return AssetAlias(f"starskip://{dag_id}")


def tell_assets(context: Mapping[str, Any], night: Night, tables: Collection[str]) -> int:
    """Tell what of the night's advice on ``tables`` is new, and what was built; return how many assets.

    Nothing is told of an experiment, of a backfill, and of a night that is not the newest. The reports stand
    by then: what goes wrong here is a warning in the task's log.
    """
    run, night = context["dag_run"], night.read_once()
    try:
        if night.is_experiment or run.run_type == "backfill" or is_older(night):
            return 0
        alias = advice_alias(run.dag_id)
        events = [*_new_advice(night, tables), *_built(night, tables)]
        for path, extra in events:
            asset = Asset("/".join([alias.name, *map(_quoted, path)]))
            context["outlet_events"][alias].add(asset, extra={"run_date": night.date_text, **extra})
    except Exception as error:
        show_progress(f"warning: not all assets are told: {first_line(error)}")
        return 0
    return len(events)


def _quoted(word: str) -> str:
    """Return a part of an asset's URI, of which Airflow takes 1,500 characters; no escape is cut in two."""
    return re.sub("%[0-9A-F]?$", "", quote(word, safe=",:")[:_LONGEST_NAME])


def is_older(night: Night) -> bool:
    """Return whether a newer night has advice, as where a run of days ago is cleared."""
    from starskip.storage.retention import newest_night

    newer = night.store.newer_nights("recommendations", than=night.date_text)
    return any(newest_night([each], night.started_at) for each in newer)


def _new_advice(night: Night, tables: Collection[str]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    from starskip.advisor.families.families import load_families
    from starskip.night.new_advice import new_on_table

    load_families(night.family_modules)
    for table in sorted(tables):
        found = new_on_table(night, table)
        if found is None:
            continue
        whole = found.change
        low, high = whole.interval or (None, None)
        yield (
            (table, "advice"),
            {
                "saving_ratio": whole.saving_ratio,
                "low": low,
                "high": high,
                "chosen": sum(not each.is_drop for each in whole.indexes),
                "new": len(found.indexes),
                "new_saving_ratio": found.saving_ratio,
            },
        )


def _built(night: Night, tables: Collection[str]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    from starskip.advisor.run.gate_verdicts import read_verdicts

    gates = [stage.name for stage in STAGES if not stage.stops_report]
    failed = {each.table for each in read_verdicts(night, gates) if not each.passed}
    for artefact in (stage.artefact for stage in STAGES if stage.artefact.endswith(_BUILDS)):
        snapshot = night.store.snapshot(artefact, night.date_text)
        rows = snapshot.read_table(sorted(set(tables) - failed)).to_pylist() if snapshot else []
        for row in rows:
            if row["outcome"] in _CHANGED:
                extra = {"outcome": row["outcome"], "size_bytes": row["size_bytes"]}
                yield (row["table"], artefact.removesuffix(_BUILDS), _index_name(row)), extra


def _index_name(row: Mapping[str, Any]) -> str:
    """Return an index's specification, or a star-tree's dimensions."""
    return row.get("index") or ",".join(json.loads(row["config"])["dimensionsSplitOrder"])
