"""Write and read the receipt of a job: how one stage of a night ended, as an object in the night's store.

The job writes it when it ends, well or not, under the token that its submitter gave it. Where a job runs and
who submitted it makes no difference: the submitter finds the outcome in the store.
"""

from __future__ import annotations

import json
import re
import resource
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from starskip.errors import BAD_INPUT, DamagedFile, StorageError

# A DAG file imports this module, by the operator that reads receipts: it does without PyArrow.
if TYPE_CHECKING:
    from starskip.advisor.run.night import Night, StageResult
    from starskip.storage.storage import Storage

# No artefact's name begins so: neither a listing of artefacts nor the retention of nights finds receipts.
RECEIPTS = "_job_receipts"

RECEIPT_OPTION = "--receipt="
"""Begins the argument by which a job learns the token of its receipt."""

_TOKEN = re.compile(r"[a-z0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class JobReceipt:
    """The end of a job; ``problem``: why it failed, in one line.

    ``tables``: those that it was asked for, none for all. ``engine``: ``spark`` or ``local``. The peaks of
    memory are those of the driver: of its Python, and of its Java if that was to be had.
    """

    stage: str
    run_id: str
    tables: tuple[str, ...]
    engine: str
    exit_code: int
    counts: Mapping[str, int]
    warnings: tuple[str, ...]
    problem: str
    started_at: datetime
    seconds: float
    peak_memory_bytes: int
    jvm_peak_memory_bytes: int | None = None

    @property
    def is_done(self) -> bool:
        """True if the stage has published what it makes."""
        return self.exit_code == 0

    @property
    def may_be_tried_again(self) -> bool:
        """False if another try would fail in the same way."""
        return self.exit_code != BAD_INPUT


@dataclass(frozen=True, slots=True)
class StartedJob:
    """A job of one stage that has begun."""

    stage: str
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _began: float = field(default_factory=time.monotonic)

    def ended(
        self,
        night: Night,
        engine: str,
        result: StageResult,
        *,
        exit_code: int = 0,
        problem: str = "",
        jvm_peak_memory_bytes: int | None = None,
    ) -> JobReceipt:
        """Return the receipt of the job, which ends now in this process."""
        return JobReceipt(
            stage=self.stage,
            run_id=night.run_id,
            tables=tuple(sorted(night.tables or ())),
            engine=engine,
            exit_code=exit_code,
            counts=result.counts,
            warnings=tuple(result.warnings),
            problem=problem,
            started_at=self.started_at,
            seconds=round(time.monotonic() - self._began, 3),
            peak_memory_bytes=peak_memory_bytes(),
            jvm_peak_memory_bytes=jvm_peak_memory_bytes,
        )


def new_token() -> str:
    """Return a token that no other try of any job has."""
    return uuid4().hex


def write_receipt(storage: Storage, run_date: str, token: str, receipt: JobReceipt) -> None:
    """Write the receipt of one try; the first one of a token stays."""
    written = {**asdict(receipt), "started_at": receipt.started_at.isoformat()}
    storage.put_if_absent(_name(run_date, token), json.dumps(written).encode())


def read_receipt(storage: Storage, run_date: str, token: str) -> JobReceipt | None:
    """Return the receipt of one try, None if there is none; ``DamagedFile`` for what is no receipt."""
    name = _name(run_date, token)
    content = storage.read(name)
    if content is None:
        return None
    try:
        return _receipt(json.loads(content))
    except (KeyError, TypeError, ValueError, AttributeError):
        place = f"{storage.place}/{name}"
        raise DamagedFile(f"{place} is no receipt of a job", location=place) from None


def peak_memory_bytes() -> int:
    """Return the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def peak_memory_of(process_id: int | None) -> int | None:
    """Return the most memory that another process of this machine has held, None if that is not known."""
    try:
        lines = Path(f"/proc/{process_id}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peaks[0]) * 1024 if peaks else None


def _name(run_date: str, token: str) -> str:
    if not _TOKEN.fullmatch(token):
        raise StorageError(f"{token!r} is no token of a receipt: small letters and digits", location=token)
    return f"{RECEIPTS}/{run_date}/{token}.json"


def _receipt(found: dict[str, Any]) -> JobReceipt:
    jvm = found["jvm_peak_memory_bytes"]
    return JobReceipt(
        stage=str(found["stage"]),
        run_id=str(found["run_id"]),
        tables=tuple(map(str, found["tables"])),
        engine=str(found["engine"]),
        exit_code=int(found["exit_code"]),
        counts={str(name): int(count) for name, count in found["counts"].items()},
        warnings=tuple(map(str, found["warnings"])),
        problem=str(found["problem"]),
        started_at=datetime.fromisoformat(found["started_at"]),
        seconds=float(found["seconds"]),
        peak_memory_bytes=int(found["peak_memory_bytes"]),
        jvm_peak_memory_bytes=None if jvm is None else int(jvm),
    )
