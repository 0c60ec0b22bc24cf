"""Zip the package for the executors of a cluster, which do not share the driver's disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import starskip


@contextmanager
def package_zip() -> Iterator[Path]:
    """Yield a zip that holds the package ``starskip``; it is deleted afterwards.

    A zip, since PySpark's executors do not import from wheels.
    """
    package = Path(str(files(starskip)))
    with TemporaryDirectory(prefix="starskip-") as folder:
        path = Path(folder) / "starskip.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for source in sorted(package.rglob("*")):
                if source.is_file() and "__pycache__" not in source.parts:
                    archive.write(source, source.relative_to(package.parent))
        yield path
