"""Zip the packages for the executors of a cluster, which do not share the driver's disk."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from starskip.extensions import DISTRIBUTION, GROUPS, own_extensions


@contextmanager
def package_zip() -> Iterator[Path]:
    """Yield a zip that holds the package ``starskip`` and those beside it; it is deleted afterwards.

    A zip, since PySpark's executors do not import from wheels. Its entry points are those of the installed
    distribution, by which the packages beside ``starskip`` are found there, too.
    """
    with TemporaryDirectory(prefix="starskip-") as folder:
        path = Path(folder) / "starskip.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
            for name in ("starskip", *_beside()):
                package = Path(str(files(name)))
                for source in sorted(package.rglob("*")):
                    if source.is_file() and "__pycache__" not in source.parts:
                        archive.write(source, source.relative_to(package.parent))
            for name, text in _metadata():
                archive.writestr(f"{DISTRIBUTION}.dist-info/{name}", text)
        yield path


def _beside() -> list[str]:
    found = {each.module.partition(".")[0] for group in GROUPS for each in own_extensions(group).values()}
    return sorted(name for name in found if find_spec(name) is not None)


def _metadata() -> Iterator[tuple[str, str]]:
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:  # the package is on Python's path and was never installed
        return
    yield "METADATA", f"Metadata-Version: 2.1\nName: {DISTRIBUTION}\nVersion: {installed.version}\n"
    yield "entry_points.txt", installed.read_text("entry_points.txt") or ""
