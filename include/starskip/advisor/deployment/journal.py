"""The journal of applications in the night's store: the newest one of each table, with its baseline.

Each record is one commit, written before the step that it names. A record is refused where another process
has written meanwhile: then that process has the table, and this one must do no more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from starskip.advisor.deployment.application import Application, this_process
from starskip.errors import StorageError, TableTaken, printable
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import DataFile, Part

ARTEFACT = "applications"
QUIET_SECONDS = 120
"""A process that wrote nothing for so long counts as gone; a living one writes every half a minute."""


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of the tables of one store; ``created_by`` goes into the manifests."""

    store: ArtefactStore
    created_by: str

    def newest(self, table: str) -> Application | None:
        """Return the newest application of a table, None if there was none."""
        part = self._part(table)
        return Application.from_json(part.properties["application"]) if part else None

    def all(self) -> list[Application]:
        """Return the newest application of each table."""
        snapshot = self.store.snapshot(ARTEFACT, CURRENT)
        parts = snapshot.parts() if snapshot else {}
        return [Application.from_json(part.properties["application"]) for part in parts.values()]

    def begin(self, application: Application, baseline: Any) -> Application:
        """Write a new application of its table with the ``baseline``, JSON of what was measured before.

        Raises TableTaken if another application of the table is not over.
        """
        staged = self.store.staged_write(ARTEFACT, CURRENT)
        content = json.dumps(baseline, separators=(",", ":")).encode()
        file = staged.write_file(application.table, "baseline.json", content)
        return self._commit(application, (file,), is_new=True)

    def write(self, application: Application) -> Application:
        """Write how far an application is; raises TableTaken if another process has written meanwhile."""
        part = self._part(application.table)
        return self._commit(application, part.files if part else ())

    def take_over(self, application: Application) -> Application:
        """Go on with an application of a process that is gone; raises TableTaken if it is not."""
        if not (application.is_of_this_process() or application.is_process_gone()):
            quiet = (datetime.now(UTC) - datetime.fromisoformat(application.beat_at)).total_seconds()
            if quiet < QUIET_SECONDS:
                raise TableTaken(
                    f"table {printable(application.table, 100)}: process {application.pid} on "
                    f"{printable(application.host, 100)} is applying advice to it: wait for its end",
                    table=application.table,
                )
        return self.write(application)

    def baseline(self, application: Application) -> Any:
        """Return what was measured before an application; raises StorageError if it is gone."""
        part = self._part(application.table)
        file = part.files[0] if part and part.files else None
        content = self.store.storage.read(file.name) if file else None
        if content is None:
            raise StorageError(
                f"table {printable(application.table, 100)}: what was measured before is gone from the store",
                location=application.table,
            )
        return json.loads(content)

    def _part(self, table: str) -> Part | None:
        snapshot = self.store.snapshot(ARTEFACT, CURRENT)
        return snapshot.parts([table]).get(table) if snapshot else None

    def _commit(
        self, application: Application, files: tuple[DataFile, ...], *, is_new: bool = False
    ) -> Application:
        now = datetime.now(UTC)
        written = replace(application, step=application.step + 1, beat_at=now.isoformat(), **this_process())

        def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
            held = parts.get(application.table)
            found = Application.from_json(held.properties["application"]) if held else None
            if is_new:
                is_mine = found is None or found.is_over
            else:
                is_mine = found is not None and (found.id, found.step) == (application.id, application.step)
            if not is_mine:
                raise TableTaken(
                    f"table {printable(application.table, 100)}: another process applies advice to it: this "
                    "one does no more",
                    table=application.table,
                )
            return {**parts, application.table: Part(files, {"application": written.to_json()})}

        self.store.chain(ARTEFACT, CURRENT).commit(
            change, commit_id=uuid4().hex, created_at=now, created_by=self.created_by
        )
        return written
