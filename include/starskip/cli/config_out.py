"""The table config that ``starskip tune --config-out`` writes: as it was, with the advice in it."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starskip.errors import ConfigError
from starskip.indexes.index import Structure
from starskip.pinot.proposed_config import IndexChanges, with_index_changes
from starskip.pinot.table_config import TableConfig, given_config
from starskip.selection.advise_table import TableAdvice


@dataclass(frozen=True, slots=True)
class ConfigOut:
    """The config file to read, the one to write, and the kind of index whose key alone changes, or "all".

    Raises ConfigError where nothing can be written at ``target``, before any work is done for it.
    """

    source: str
    target: str
    index_kind: str

    def __post_init__(self) -> None:
        folder = Path(self.target).absolute().parent
        if Path(self.target).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise ConfigError(
                f"--config-out {self.target}: is no file that can be written; name a file in a folder that "
                "is there",
                setting="--config-out",
            )

    def write(self, advice: Sequence[TableAdvice]) -> Iterator[str]:
        """Write the config with the advice for its table, whole or not at all; yield what to warn of."""
        by_table = {each.table: each for each in advice}
        unadvised: set[str] = set()

        def changed(config: TableConfig) -> dict[str, object]:
            found = by_table.get(config.table)
            if found is None:
                unadvised.add(config.table)
            return with_index_changes(config, self._changes(found) if found else IndexChanges())

        document = given_config(self.source, changed)
        self._replace(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        for table in sorted(unadvised):
            yield f"{self.target}: no advice for table {table}, its config is written as it was"

    def _changes(self, advice: TableAdvice) -> IndexChanges:
        """Return the changes of the kind that was asked for; the sort order is advice of ``sorted`` alone."""
        chosen = [item.structure for item in advice.recommendation.chosen]
        drops = [drop.structure for drop in advice.drops]

        def columns(items: Iterable[Structure], kind: str) -> list[str]:
            is_asked = self.index_kind in (kind, "all")
            return [item.column for item in items if is_asked and item.kind == kind]

        order = columns(chosen, "sorted") if self.index_kind == "sorted" else []
        return IndexChanges(
            add_inverted=columns(chosen, "inverted"),
            drop_inverted=columns(drops, "inverted"),
            add_range=columns(chosen, "range"),
            drop_range=columns(drops, "range"),
            sorted_column=order[0] if order else None,
        )

    def _replace(self, text: str) -> None:
        target = Path(self.target).absolute()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as opened:
                opened.write(text)
            # A config may hold passwords: whoever cannot read the old one cannot read the new one.
            shutil.copymode(self.source, name)
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
