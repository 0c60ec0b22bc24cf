"""One run of a benchmark that starts a Pinot: its folder, how it ends, and what it says on the way."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pinot.pinot_process import PinotFailed


@contextmanager
def benchmark_folder() -> Iterator[Path]:
    """Give a folder that goes at the end; what fails within is told in one line."""
    # A terminated benchmark ends as by an exception, so that Pinot is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory() as scratch:
            yield Path(scratch)
    except (PinotFailed, OSError, ValueError) as error:
        sys.exit(str(error))


def told(text: str) -> None:
    """Say what is done now."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)
