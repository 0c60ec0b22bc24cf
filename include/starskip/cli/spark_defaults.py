"""Read our settings from Spark's own configuration file, for commands that need no Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_ROOT = re.compile(r"^\s*spark\.starskip\.metadata\.root(?:\s*[=:]\s*|\s+)(\S.*?)\s*$", re.MULTILINE)


def default_metadata_root(environment: Mapping[str, str]) -> str | None:
    """Return ``spark.starskip.metadata.root`` of ``spark-defaults.conf``, None if that does not say.

    It lies in ``SPARK_CONF_DIR``, else in ``conf`` of ``SPARK_HOME``, as Spark looks for it.
    """
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    if folder is None:
        return None
    try:
        text = (Path(folder) / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found: list[str] = _ROOT.findall(text)
    return found[-1] if found else None
