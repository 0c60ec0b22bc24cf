"""Sets that ``starskip tune`` chooses for a log and segments, and what it predicts of any set."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from pinot.filters.replayed_day import Structures
from pinot.running_pinot import PinotFailed
from starskip.advisor.families.families import families_of
from starskip.advisor.families.index import Index
from starskip.advisor.selection.saving_interval import SavingInterval, saving_interval
from starskip.advisor.selection.tune_tables import TuneRequest, scored_tables
from starskip.advisor.selection.vote_list import vote_lists
from starskip.settings import Settings

PINOT = "0.11.0"


@dataclass(frozen=True, slots=True)
class TunedSet:
    """The advice for one table."""

    indexes: Structures
    predicted: SavingInterval


@dataclass(frozen=True, slots=True)
class TunedDay:
    """``log``: what the broker logged; ``kinds``: of indexes; ``more``: settings, each GROUP.NAME=VALUE."""

    log: Path
    segments: Path
    kinds: Sequence[str]
    more: Sequence[str] = ()

    def chosen(self, max_indexes: int) -> dict[str, TunedSet]:
        """Run the command, and return what it chooses by table."""
        is_single = len(self.kinds) == 1
        settings = [*self.more, *([] if is_single else [f"index_kinds={','.join(self.kinds)}"])]
        command = [
            *(str(Path(sys.executable).with_name("starskip")), "tune", "--log", str(self.log)),
            *("--segments", str(self.segments), "--index", self.kinds[0] if is_single else "all"),
            *("--max-indexes", str(max_indexes), "--min-gain", "0", "--pinot-version", PINOT),
            # What is measured is entries, not time.
            *("--unit", "entries"),
            *("--format", "json"),
            *(word for setting in settings for word in ("--set", setting)),
        ]
        told = subprocess.run(command, capture_output=True, text=True)
        if told.returncode:
            raise PinotFailed(f"starskip tune: {told.stderr[-1000:]}")
        return {table: _tuned(document) for table, document in json.loads(told.stdout)["tables"].items()}

    def predicted(self, table: str, sets: Iterable[Structures]) -> Mapping[Structures, SavingInterval]:
        """Return what the same votes predict for ``sets``, chosen or not."""
        settings = Settings().changed(
            {"advice.index_kinds": ",".join(self.kinds), "scoring.pinot_version": PINOT}
        )
        request = TuneRequest(
            [str(self.log)], str(self.segments), (table,), {}, families_of(settings), settings
        )
        scored = scored_tables(request, lambda _, items: items)
        lists = vote_lists(scored.votes.filter(pc.equal(scored.votes["table"], table)))
        shapes = scored.workload[table]
        entries = float(sum(shape.entries_scanned_in_filter for shape in shapes))
        squared = sum(shape.entries_scanned_in_filter_squared for shape in shapes)
        return {
            each: saving_interval(
                lists,
                each,
                entries=entries,
                entries_squared=squared,
                model_error_ratio=settings.advice.model_error_ratio,
            )
            for each in sets
        }


def _tuned(document: Mapping[str, Any]) -> TunedSet:
    indexes = frozenset(
        Index(kind, column)
        for kind in ("inverted", "range")
        for column in document.get(f"{kind}_index_columns", ())
    )
    low, high = document["predicted_interval"]
    return TunedSet(indexes, SavingInterval(document["predicted_saving_ratio"], low, high))
