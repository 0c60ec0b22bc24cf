"""TPC-H's tables as a benchmark's data, by the tpchgen-cli that the development requirements install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def generate_tpch(
    folder: Path, factor: float, tables: str, *, file_format: str = "parquet", parts: int | None = None
) -> None:
    """Write ``tables`` (separated by commas) below ``folder``, in the same rows whenever it is asked.

    A table is the file ``lineitem.parquet``; with ``parts`` a folder ``lineitem`` of as many files.
    """
    program = Path(sys.executable).with_name("tpchgen-cli")
    options = ["-s", f"{factor:g}", f"--tables={tables}", "--quiet", f"--output-dir={folder}"]
    if parts is not None:
        options.append(f"--parts={parts}")
    subprocess.run([program, file_format, *options], check=True)
