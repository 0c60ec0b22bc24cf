"""``starskip settings``: every setting with its default, unit and bounds, or a configuration to start from.

In the latter a comment has a space behind its ``#``. A key that may be given has none, so that an editor
uncomments it by taking the ``#`` away; what belongs to such a key stands deeper.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from textwrap import wrap

import click

from starskip.advisor.families.family_settings import family_defaults
from starskip.cli.format_option import format_option
from starskip.cli.table_names import table_names
from starskip.errors import ConfigError
from starskip.settings import Settings
from starskip.settings.declared import Declared
from starskip.settings.group import SettingsGroup, declared_settings
from starskip.settings.setting_value import allowed_values, shown_value, value_text

_HEAD = """# Settings

Each setting belongs to a group. A later place overrides an earlier one; settings that it does not give stay:

| place | form |
|---|---|
| the night's configuration | `settings: {advice: {max_indexes: 3}}` |
| environment | `STARSKIP_ADVICE__MAX_INDEXES=3` |
| `starskip stage` and `tune` | `--set advice.max_indexes=3` |
| [one run in Airflow](operate.md#experiments), settings marked ◦ | `{"advice.max_indexes": 3}` |

Sizes, shares and times are taken as people write them: `10MB` (10⁶ bytes), `1.5GiB` (2³⁰), `5%`, `24h`
([all forms](commands.md#what-holds-for-all)). A value that is not allowed is refused with one line; none is
corrected. This page is generated: `make settings-page`.
"""
_COLUMNS = "| setting | default | unit | what | allowed | source |\n|---|---|---|---|---|---|\n"


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


@click.command(name="settings")
@click.option(
    "--families", default="", metavar="MODULE,…", help="Python modules of index families of your own."
)
@format_option(
    "text",
    "json",
    "yaml",
    "markdown",
    note=" yaml is a configuration of the night to start from, markdown the page docs/settings.md.",
)
def settings(families: str, output: str) -> None:
    """Show the settings by group, with default, unit, effect and bounds.

    \b
    Examples:
      starskip settings
      starskip settings --families my_module --format json
      starskip settings --format yaml > night.yaml
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    try:
        known = family_defaults(table_names(families))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if output == "markdown":
        click.echo(settings_page(known), nl=False)
    elif output == "yaml":
        click.echo(config_template(known), nl=False)
    elif output == "json":
        click.echo(json.dumps({"settings": _documents(known)}))
    else:
        click.echo("\n".join(_lines(known)))


def _documents(known: Settings) -> list[dict[str, object]]:
    return [
        {
            "name": each.place,
            "default": each.default,
            "unit": each.facts.unit,
            "help": each.facts.help,
            "allowed": allowed_values(each),
            "source": each.facts.source,
            "in_form": bool(each.facts.title),
        }
        for each, _ in known.items()
    ]


def _lines(known: Settings) -> list[str]:
    lines = []
    for each, value in known.items():
        shown = shown_value(each, value)
        # Of ``0.5%`` and ``32 MiB`` the number already says it.
        is_told = value is None or (isinstance(value, int | float) and shown != value_text(value))
        unit = f" {each.facts.unit}" if each.facts.unit and not is_told else ""
        lines.append(f"{each.place} = {shown or '(empty)'}{unit}")
        lines.append(f"    {each.facts.help} Takes {allowed_values(each)}.")
    return lines


def settings_page(settings: Settings) -> str:
    """Return the page of the groups of ``settings``."""
    return "\n".join([_HEAD, *(_group_section(type(group)) for group in settings.groups)])


def _group_section(group: type[SettingsGroup]) -> str:
    return f"## {group.group}\n\n{group.heading}.\n\n{_COLUMNS}" + "".join(
        map(_setting_row, declared_settings(group))
    )


def _setting_row(declared: Declared) -> str:
    facts = declared.facts
    default = shown_value(declared, declared.default)
    cells = (
        f"`{declared.name}`" + (" ◦" if facts.title else ""),
        f"`{default}`" if default else "",
        facts.unit,
        facts.help,
        allowed_values(declared),
        facts.source,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


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
