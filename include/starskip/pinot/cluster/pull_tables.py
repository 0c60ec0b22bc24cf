"""Pull tables of a live Pinot into a folder that the night reads; one that fails leaves the others alone."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from starskip.errors import SourceError, SourceOutage, first_line, show_traceback
from starskip.execution.progress import Progress
from starskip.pinot.cluster.open_cluster import PinotCluster
from starskip.pinot.cluster.pull_table import CONFIGS, PullBounds, pull_table
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.segments.pulled_note import PulledNote

_LOCK = ".pull.lock"


@dataclass(frozen=True, slots=True)
class PulledTables:
    """By table a note on each type, or the error; ``gone``: those pulled before that Pinot has no more."""

    notes: Mapping[str, Sequence[PulledNote]]
    failures: Mapping[str, SourceError]
    gone: Sequence[str]

    @property
    def may_pass(self) -> bool:
        """Return whether all failures may be others the next time."""
        return all(isinstance(each, SourceOutage) for each in self.failures.values())


def pull_tables(
    cluster: PinotCluster, out: Path, tables: Sequence[str], bounds: PullBounds, progress: Progress
) -> PulledTables:
    """Pull ``tables``, all of the cluster if there are none, one after the other.

    Raises SourceError if the controller does not tell its tables, or ``out`` is no folder to write to.
    """
    known = cluster.controller.tables()
    notes: dict[str, Sequence[PulledNote]] = {}
    failures: dict[str, SourceError] = {}
    with _locked(out):
        for table in dict.fromkeys(without_type(each)[0] for each in tables) or known:
            try:
                notes[table] = pull_table(cluster, table, out, bounds, progress)
            except SourceError as error:
                failures[table] = error
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                show_traceback(error)
                words = f"Pinot answers something of it that is not understood ({first_line(error)})"
                failures[table] = SourceError(words, source=table)
        kept = sorted(each.stem for each in (out / CONFIGS).glob("*.json"))
    return PulledTables(notes, failures, [each for each in kept if each not in known])


@contextmanager
def _locked(out: Path) -> Iterator[None]:
    """Keep other pulls out of the folder, which is made."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with (out / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError:
        raise SourceOutage(f"{out}: another pull is writing to it", source=str(out)) from None
    except FileExistsError:
        raise SourceError(f"{out} is no folder", source=str(out)) from None
