"""The config and the segments of one live table, read anew each time: others change them, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from starskip.advisor.deployment.reloading import Reloaded, Waiting, reload_segments
from starskip.advisor.deployment.table_segments import Wanted
from starskip.errors import ForeignConfig, UnknownOutcome, printable
from starskip.pinot.cluster.controller import Controller
from starskip.pinot.config_change import KeyChange, has_changes, is_as_written, same_config, with_changes
from starskip.pinot.hybrid_tables import without_type

_CONSUMING = "CONSUMING"
_SHOWN = 200


class Written(Enum):
    """The outcome of a PUT, by what the controller has afterwards."""

    AS_PLANNED = "as planned"
    NOT_AT_ALL = "not at all"
    KEYS_DROPPED = "keys dropped"


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table with its type, by the cluster's controller."""

    controller: Controller
    table: str

    def config(self) -> dict[str, Any]:
        """Return the table's config as it is now."""
        name, table_type = without_type(self.table)
        found = self.controller.table_configs(name)
        if table_type not in found:
            raise ForeignConfig(
                f"table {printable(self.table, 100)}: its config is gone from Pinot", setting=self.table
            )
        return found[table_type]

    def write(
        self, base: Mapping[str, Any], changes: Sequence[KeyChange]
    ) -> tuple[Written, Mapping[str, Any]]:
        """Lay changes over the config, which must still be ``base``; return what came of it, read again.

        Pinot's API has no compare-and-set: the config is compared right before, and right after, and where
        the role may read it ZooKeeper's number of writes tells whether somebody wrote in between. Raises
        ForeignConfig for the config of somebody else, which is never overwritten.
        """
        if not same_config(self.config(), base):
            raise self.foreign("it is not what the plan was made for, and nothing was written")
        version = self.controller.config_version(self.table)
        target = with_changes(base, changes)
        is_known = True
        try:
            unknown = self.controller.put_table_config(self.table, target)
        except UnknownOutcome:
            unknown, is_known = {}, False
        held = self.config()
        if same_config(held, base) and not is_as_written(held, target, changes):
            return Written.NOT_AT_ALL, held
        writes = self._writes_since(version)
        if (writes is not None and writes > 1) or (writes == 0 and is_known):
            raise self.foreign("somebody wrote it at the same moment")
        if is_as_written(held, target, changes):
            return (Written.KEYS_DROPPED if unknown else Written.AS_PLANNED), held
        # Exactly one write, and it was ours: Pinot itself left something out.
        if writes == 1 or unknown:
            return Written.KEYS_DROPPED, held
        raise self.foreign("it is neither what it was nor what was written")

    def _writes_since(self, version: int | None) -> int | None:
        now = None if version is None else self.controller.config_version(self.table)
        return None if version is None or now is None else now - version

    def foreign(self, words: str) -> ForeignConfig:
        """Return the error about a config that somebody else has changed."""
        return ForeignConfig(
            f"table {printable(self.table, 100)}: its config was changed by someone else meanwhile: "
            f"{printable(words, _SHOWN)}",
            setting=self.table,
        )

    def has(self, changes: Sequence[KeyChange]) -> bool:
        """Return whether the config has the changes now."""
        return has_changes(self.config(), changes)

    def segments(self) -> list[str]:
        """Return the segments that are loaded, without consuming ones."""
        states = self.controller.segment_states(self.table)
        return sorted(name for name, by_server in states.items() if _CONSUMING not in by_server.values())

    def reload(self, segments: Sequence[str], wanted: Wanted, waiting: Waiting, *, is_all: bool) -> Reloaded:
        """Reload segments and wait until they are as wanted."""
        return reload_segments(self.controller, self.table, segments, wanted, waiting, is_all=is_all)
