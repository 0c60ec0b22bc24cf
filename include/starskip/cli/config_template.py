"""A configuration of the night to start from: every key, and every setting with its default.

A comment has a space behind its ``#``. A key that may be given has none, so that an editor uncomments it by
taking the ``#`` away; what belongs to such a key stands deeper.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap

from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.group import declared_settings
from starskip.settings.setting_value import allowed_values, value_text

_WIDTH = 110
_KEYS = """\
# The configuration of Starskip's nights. Paths are relative to this file; s3://bucket/folder is a URL. A line
# whose # has no space behind it is a key that may be given: take the # away.
store:
  # A folder or URL for Starskip alone, for all that its stages publish.
  artefacts: artefacts
  # Who may read artefacts in a folder: owner, group or all. They hold queries with their literals.
  #readable_by: owner
sources:
  # Query logs of the brokers: files, folders, patterns or URLs. {run_date} stands for the night, 2026-11-20.
  log_paths:
    - logs
  # One folder a table with its tarred segments; may be left out where all tables lie in the lake alone.
  segments_root: segments
  # Current table configs, as the controller returns them: they say which indexes are in force.
  #table_configs:
  #  - table_configs/orders.json
  # Tables whose rows lie in the lake, too or alone. Format: parquet, delta, iceberg, and what Spark reads.
  #lake_tables:
  #  orders:
  #    path: lake/orders
  #    format: parquet
  # Event logs of Spark: what its queries ask of the tables of the lake.
  #spark_event_logs:
  #  - spark_events
#skipping:
#  metadata_root: skipping_metadata
#  modules: []
# Settings of Spark for the jobs of the night, over those of the Airflow connection.
#spark:
#  conf:
#    spark.driver.memory: 4g
# The tables to work on; all that there are, if left out.
#tables:
#  - orders
# Python modules of index families of your own.
#families: []
settings:
"""


def config_template(settings: Settings) -> str:
    """Return the text of a configuration, with the settings of ``settings``."""
    lines: list[str] = []
    for group in settings.groups:
        lines += ["", f"  # {group.group}: {group.heading}."]
        for each in declared_settings(type(group)):
            lines += _setting_lines(each)
    return _KEYS + "\n".join(lines[1:]) + "\n"


def _setting_lines(declared: Declared) -> Iterator[str]:
    unit = f" Unit: {declared.facts.unit}." if declared.facts.unit else ""
    text = f"{declared.facts.help} Takes {allowed_values(declared)}.{unit}"
    yield from (f"  # {line}" for line in wrap(text, _WIDTH - len("  # ")))
    yield f"  #{declared.place}: {_yaml(declared)}"


def _yaml(declared: Declared) -> str:
    """Return the default as YAML; a text in quotes, since 1.10 would be a number."""
    default = declared.default
    return json.dumps(default) if isinstance(default, str) else value_text(default)
