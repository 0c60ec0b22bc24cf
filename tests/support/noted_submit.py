"""A ``spark-submit`` that runs nothing: it notes what it is told, leaves a receipt and exits as it is to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starskip.night.job_receipt import RECEIPTS, JobReceipt

DONE = JobReceipt(
    stage="score_votes",
    run_id="manual",
    tables=(),
    engine="spark",
    exit_code=0,
    counts={"tables": 2, "rows": 1_234},
    warnings=("few queries",),
    problem="",
    started_at=datetime(2026, 11, 21, 2, tzinfo=UTC),
    seconds=1.5,
    peak_memory_bytes=100_000_000,
    jvm_peak_memory_bytes=200_000_000,
)

_PROGRAM = """#!/bin/sh
env > "{folder}/environment"
previous=
for word in "$@"; do
  echo "$word" >> "{folder}/words"
  case "$word" in --receipt=*) token="${{word#--receipt=}}";; esac
  if [ "$previous" = --properties-file ]; then
    cp "$word" "{folder}/properties"; stat -c %a "$word" > "{folder}/mode"
  fi
  previous="$word"
done
{says}
if [ -f "{folder}/receipt.json" ]; then
  mkdir -p "{store}" && cp "{folder}/receipt.json" "{store}/$token.json"
fi
exit {code}
"""


@dataclass(frozen=True, slots=True)
class Submitted:
    """Command line and environment of a submitted job, and its properties file if there was one."""

    words: list[str]
    environment: dict[str, str]
    properties: str | None
    mode: str | None

    @property
    def conf(self) -> dict[str, str]:
        """The settings of Spark on the command line."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return dict(value.partition("=")[::2] for option, value in pairs if option == "--conf")


def noted_submit(
    folder: Path, store: Path, receipt: JobReceipt | None = DONE, code: int = 0, says: str = ""
) -> Path:
    """Write the program as ``bin/spark3-submit`` in ``folder``; return its folder."""
    program = folder / "bin" / "spark3-submit"
    program.parent.mkdir(exist_ok=True)
    place = store / RECEIPTS / "2026-11-20"
    program.write_text(_PROGRAM.format(folder=folder, store=place, code=code, says=says))
    program.chmod(0o755)
    if receipt is not None:
        (folder / "receipt.json").write_text(receipt_text(receipt))
    return program.parent


def receipt_text(receipt: JobReceipt, **other: Any) -> str:
    """Return a receipt as it lies in a store, with fields replaced."""
    return json.dumps({**asdict(receipt), "started_at": receipt.started_at.isoformat(), **other})


def submitted(folder: Path) -> Submitted:
    """Return what the program was told."""
    texts = {}
    for name in ("words", "environment", "properties", "mode"):
        file = folder / name
        texts[name] = file.read_text() if file.exists() else None
    pairs = (line.partition("=")[::2] for line in (texts["environment"] or "").splitlines())
    return Submitted((texts["words"] or "").splitlines(), dict(pairs), texts["properties"], texts["mode"])
