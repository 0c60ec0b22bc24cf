"""One night: its date, its tables, and the places of its sources and artefacts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any

from starskip.lake.lake_table import LakeTable
from starskip.pinot.table_config import TableConfig, TableConfigs, readable_table_configs
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import DataFile, Manifest, Part
from starskip.storage.manifest_log import Seen

LEFT_OUT_CONFIGS = "left_out_configs"
"""Property of a table's facts: the table configs that could not be read, of whichever table."""
CONFIGS = "table configs"
"""Key of ``Night.seen`` for what the files of table configs hold."""
NO_TABLE = "-"
"""Name of the part that is of no table; no table of Pinot can be called so."""
ADVICE_NIGHTS = 8
"""Nights in which the newest advice is looked for, if the window of votes is shorter: a week."""


@dataclass(frozen=True, slots=True)
class Night:
    """Arguments of all stages of a run.

    ``tables``: the tables to work on; None means all tables that are found. ``is_of_some``: this run was
    asked for some tables alone, of all that are found or that the configuration names. ``log_paths`` may hold
    ``{run_date}``, and so may ``event_log_paths``, of Spark's event logs. ``started_at`` and ``run_id`` go
    into the manifests. ``lake_tables``: the tables whose rows lie in the lake, too or alone; chosen indexes
    can be built there. ``segments_root``: empty if all tables lie in the lake alone. ``skipping_root``: the
    place of their skipping metadata, None for beside their files. ``skipping_modules``: Python modules of
    users' index types and functions; ``family_modules``: modules of users' index families;
    ``left_out_families``: the families whose code failed. ``changed``: the settings that this run has
    otherwise than the configuration, in words. ``seen``: where given, the configs are read once, into it.
    """

    run_date: date
    store: ArtefactStore
    settings: Settings
    started_at: datetime
    run_id: str
    tables: frozenset[str] | None = None
    log_paths: Sequence[str] = ()
    segments_root: str = ""
    table_config_paths: Sequence[str] = ()
    lake_tables: Mapping[str, LakeTable] = field(default_factory=dict)
    event_log_paths: Sequence[str] = ()
    skipping_root: str | None = None
    skipping_modules: Sequence[str] = ()
    family_modules: Sequence[str] = ()
    left_out_families: frozenset[str] = frozenset()
    changed: Mapping[str, str] = field(default_factory=dict)
    is_of_some: bool = False
    seen: Seen[TableConfigs] | None = field(default=None, compare=False, repr=False)

    def read_once(self) -> Night:
        """Return the night for a process of one stage or gate: it looks once for each artefact and config."""
        return replace(self, store=self.store.read_once(), seen=Seen() if self.seen is None else self.seen)

    def without_families(self, names: Iterable[str]) -> Night:
        """Return the night without the families of these names."""
        return replace(self, left_out_families=self.left_out_families.union(names))

    @property
    def date_text(self) -> str:
        """The night's date as artefacts name it, 2026-11-18."""
        return self.run_date.isoformat()

    @property
    def is_experiment(self) -> bool:
        """True if the run only tries its settings: what it publishes lies beside the night's advice."""
        return self.store.experiment is not None

    def publish(self, artefact: str, parts: Mapping[str, Part]) -> Manifest:
        """Publish the parts of this night's tables; a night of all tables replaces the whole night."""
        return self.store.publish(
            artefact,
            self.date_text,
            parts,
            replace="all" if self.tables is None else "tables",
            created_at=self.started_at,
            created_by=self.run_id,
        )

    def publish_note(
        self, artefact: str, run_date: str, properties: Mapping[str, Any], files: tuple[DataFile, ...] = ()
    ) -> None:
        """Publish an artefact that is of no table, of this night or of the store, in place of what it was."""
        self.store.publish(
            artefact,
            run_date,
            {NO_TABLE: Part(files, properties)},
            replace="all",
            created_at=self.started_at,
            created_by=self.run_id,
        )

    def wants(self, table: str) -> bool:
        """Return whether the night works on ``table``."""
        return self.tables is None or table in self.tables

    def table_configs(self) -> dict[str, tuple[TableConfig, ...]]:
        """Return the current configs of the tables that have a sound one.

        Raises ConfigError for one that cannot be read now, and that the first stage of the night has read.
        """
        configs, problems = self.read_configs()
        facts = self.store.snapshot("table_facts", self.date_text) if problems else None
        told = [part.properties.get(LEFT_OUT_CONFIGS, ()) for part in facts.parts().values()] if facts else []
        for path, problem in problems.items() if told else ():
            if not any(path in left_out for left_out in told):
                raise problem
        return configs

    def read_configs(self) -> TableConfigs:
        """Return the sound table configs by table, and by path the errors of the others."""
        seen: Seen[TableConfigs] = Seen() if self.seen is None else self.seen
        if CONFIGS not in seen:
            seen[CONFIGS] = readable_table_configs(self.table_config_paths)
        return seen[CONFIGS]


@dataclass(frozen=True, slots=True)
class StageResult:
    """Result of a stage, for its log: counts by name, and warnings that a person should read."""

    counts: Mapping[str, int]
    warnings: Sequence[str] = field(default_factory=tuple)
