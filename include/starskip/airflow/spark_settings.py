"""The Spark settings of a job, and the zipped packages for executors that do not share the driver's disk.

The night's configuration goes over the connection, which goes over Starskip's defaults.

Settings that may be secret never stand on a command line, which all on the machine can read and which Airflow
writes into its log: they go into a file that only its owner reads.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from starskip.errors import ConfigError, printable
from starskip.extensions import DISTRIBUTION, GROUPS, own_extensions

_SECRET = re.compile(
    r"secret|password|passwd|token|credential|access[._-]?key|account[._-]?key", re.IGNORECASE
)
"""Names that Spark redacts in its own pages (spark.redaction.regex), and names of stores' credentials."""
_LOGIN_IN_URL = re.compile(r"://[^/\s]*@")


def connection_settings(connection: str, extra: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings in the extra of an Airflow connection: its keys that begin with ``spark.``.

    Raises ConfigError, which quotes no value, for a value that is no text, number or boolean.
    """
    found = {}
    for name, value in extra.items():
        if name.startswith("spark."):
            if not isinstance(value, str | int | float):
                raise ConfigError(
                    f"the Airflow connection {connection}: {printable(name, 100)} takes a text or a number",
                    setting=name,
                )
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def may_be_secret(name: str, value: str) -> bool:
    """Return whether a setting is kept off the command line, because of its name or its value.

    The class that provides credentials is none.
    """
    if name.endswith(".provider"):
        return _LOGIN_IN_URL.search(value) is not None
    return any(_SECRET.search(text) for text in (name, value)) or _LOGIN_IN_URL.search(value) is not None


@contextmanager
def secret_file(secrets: Mapping[str, str], spark_submit: str) -> Iterator[str | None]:
    """Yield the path of a properties file with ``secrets``, deleted afterwards; None if there are none.

    It begins with spark-defaults.conf of ``spark_submit``, since Spark reads no second file.
    """
    if not secrets:
        yield None
        return
    with TemporaryDirectory(prefix="starskip-") as folder:
        path = Path(folder) / "spark.conf"
        path.touch(0o600)
        lines = [f"{_escaped(name)}={_escaped(value)}\n" for name, value in secrets.items()]
        path.write_text("\n".join([spark_defaults(spark_submit), "".join(lines)]), encoding="utf-8")
        yield str(path)


def spark_defaults(spark_submit: str) -> str:
    """Return the text of spark-defaults.conf where Spark looks for it; empty if there is none."""
    program = shutil.which(spark_submit)
    homes = [os.environ.get("SPARK_HOME"), str(Path(program).resolve().parents[1]) if program else None]
    folders = [os.environ.get("SPARK_CONF_DIR"), *(f"{home}/conf" for home in homes if home)]
    for folder in filter(None, folders):
        try:
            return (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8")
        except OSError:
            continue
    return ""


def _escaped(text: str) -> str:
    """Return ``text`` as java.util.Properties reads it back."""
    plain = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return re.sub(r"(^ |[=:#!])", r"\\\1", plain).encode("ascii", "backslashreplace").decode()


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
