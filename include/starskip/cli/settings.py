"""``starskip settings``: every setting with its default, unit and bounds."""

from __future__ import annotations

import json

import click

from starskip.advisor.families.family_settings import family_defaults
from starskip.cli.table_names import table_names
from starskip.errors import ConfigError
from starskip.settings import Settings
from starskip.settings.setting_value import allowed_values, value_text
from starskip.settings.settings_page import settings_page


@click.command(name="settings")
@click.option(
    "--families", default="", metavar="MODULE,…", help="Python modules of index families of your own."
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="markdown is the page docs/settings.md.",
)
def settings(families: str, output: str) -> None:
    """Show the settings by group, with default, unit, effect and bounds.

    \b
    Examples:
      starskip settings
      starskip settings --families my_module --format json
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    try:
        known = family_defaults(table_names(families))
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    if output == "markdown":
        click.echo(settings_page(known), nl=False)
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
        unit = f" {each.facts.unit}" if each.facts.unit and value is not None else ""
        lines.append(f"{each.place} = {value_text(value) or '(empty)'}{unit}")
        lines.append(f"    {each.facts.help} Takes {allowed_values(each)}.")
    return lines
