"""``starskip pinot apply`` and ``revert``: put advice into a live table, and take it back."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from starskip.cli.advice_place import advice_place, config_and_store, person
from starskip.cli.format_option import echo_result, format_option
from starskip.cli.path_options import log_option
from starskip.cli.setting_option import setting_option
from starskip.cli.several_values import SeveralValues
from starskip.cli.to_stderr import note
from starskip.errors import printable
from starskip.extras import needing_extra

if TYPE_CHECKING:
    from starskip.advisor.deployment.application import Outcome
    from starskip.advisor.deployment.asked_application import Prepared

CONTROLLER = click.option(
    "--controller",
    default="",
    metavar="URL",
    help="The controller, such as http://pinot:9000. [default: STARSKIP_PINOT_CONTROLLER]",
)
BROKER = click.option(
    "--broker",
    default="",
    metavar="URL",
    help="A broker, such as http://pinot:8099; without it the controller hands queries to one.",
)
_TABLE = click.option("--table", required=True, metavar="T", help="The table, or T_OFFLINE or T_REALTIME.")


@click.command(name="apply", cls=SeveralValues, several=("--log",))
@CONTROLLER
@BROKER
@_TABLE
@click.option(
    "--recommendation",
    default="",
    metavar="FILE|NIGHT",
    help="JSON of starskip tune, a table config as it should be, or a night such as 2026-11-18 or newest. "
    "[default: what the ledger holds as approved]",
)
@config_and_store
@log_option(" Their queries are replayed; left out: the workload of the night.")
@click.option("--dry-run", is_flag=True, help="Only show plan and forecast, as without --yes.")
@click.option("--yes", is_flag=True, help="Apply it.")
@setting_option("--canary", "deployment.canary_segments", metavar="N")
@setting_option("--max-minutes", "deployment.max_minutes", metavar="N")
@setting_option("--max-bytes", "deployment.max_bytes", metavar="SIZE")
@setting_option("--max-regression", "deployment.max_regression_ratio", metavar="RATIO")
@setting_option("--no-progress-minutes", "deployment.no_progress_minutes", metavar="N")
@setting_option("--queries-per-second", "deployment.queries_per_second", metavar="N")
@setting_option("--instances", "deployment.replayed_instances", metavar="N")
@click.option("--realtime", is_flag=True, help="Allow a REALTIME table: a reload commits consuming segments.")
@format_option()
def apply(
    controller: str,
    broker: str,
    table: str,
    recommendation: str,
    config: str,
    store: str,
    logs: Sequence[str],
    dry_run: bool,
    yes: bool,
    realtime: bool,
    output: str,
    **settings_given: Any,
) -> None:
    """Put advice into a live table: canary, proof by replay, and the old config back where it fails.

    Without --yes only the plan is shown, as a diff, with its forecast. Only the keys of the advice change, on
    top of the config that the table has now. The queries of the log are replayed before and after; a wrong
    answer, or a shape that scans or takes more, takes all of it back. A run that was killed is gone on with,
    or taken back, by the next one with --yes.

    \b
    Examples:
      starskip pinot apply --controller http://pinot:9000 --table events --recommendation tune.json
      starskip pinot apply --controller http://pinot:9000 --broker http://pinot:8099 --table events \\
          --recommendation tune.json --log broker.log --yes
      starskip pinot apply --controller http://pinot:9000 --table events --config night.yaml --yes
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    with needing_extra("pinot"):
        from starskip.advisor.deployment.asked_application import (
            Asked,
            apply_prepared,
            go_on,
            prepare,
            unfinished,
        )
        from starskip.pinot.cluster.open_cluster import open_cluster
        from starskip.pinot.cluster.pinot_address import pinot_address

    place = advice_place(config, store, settings_given)
    with open_cluster(pinot_address(controller, broker, os.environ)) as cluster:
        asked = Asked(
            cluster,
            place.store,
            table,
            place.settings.deployment,
            person(),
            lambda words: note(f"{datetime.now():%H:%M:%S} {printable(words, 400)}"),
            realtime,
            lambda advice: place.shapes(advice, logs),
        )
        is_real = yes and not dry_run
        if not is_real and (left := unfinished(asked)) is not None:
            note(f"an application of {left.started_at} is not over ({left.state.value}): --yes ends it")
        outcome = go_on(asked) if is_real else None
        prepared = None
        if outcome is None:
            prepared = prepare(asked, lambda now: place.advice(recommendation, table, now))
            outcome = apply_prepared(asked, prepared) if is_real else prepared.outcome
    echo_result(output, outcome.to_json(), lambda: _text(outcome, prepared, is_real=is_real))


@click.command(name="revert")
@CONTROLLER
@BROKER
@_TABLE
@config_and_store
@format_option()
def revert(controller: str, broker: str, table: str, config: str, store: str, output: str) -> None:
    """Take the newest application of a table back: its keys of the config as before, and a reload.

    What others have changed besides stays as it is. Without --controller the one of the application is used.

    \b
    Examples:
      starskip pinot revert --table events --config night.yaml
      starskip pinot revert --controller http://pinot:9000 --table events_OFFLINE
    """  # noqa: D301 - click reads the character \b as "keep these lines"
    with needing_extra("pinot"):
        from starskip.advisor.deployment.asked_application import Asked, applied_at
        from starskip.advisor.deployment.asked_application import revert as take_back
        from starskip.pinot.cluster.open_cluster import open_cluster
        from starskip.pinot.cluster.pinot_address import pinot_address

    place = advice_place(config, store, {})
    url = controller or os.environ.get("STARSKIP_PINOT_CONTROLLER") or applied_at(place.store, table)
    with open_cluster(pinot_address(url, broker, os.environ)) as cluster:
        outcome = take_back(
            Asked(
                cluster,
                place.store,
                table,
                place.settings.deployment,
                person(),
                lambda words: note(f"{datetime.now():%H:%M:%S} {printable(words, 400)}"),
            )
        )
    echo_result(output, outcome.to_json(), lambda: _text(outcome, None, is_real=True))


def _text(outcome: Outcome, prepared: Prepared | None, *, is_real: bool) -> str:
    lines: list[str] = []
    if prepared is not None:
        plan = prepared.plan
        lines += [printable(f"left out: {each}") for each in plan.notes]
        lines += [plan.diff, f"forecast: {prepared.forecast.words}"] if plan.diff else ["nothing changes"]
    lines += [printable(f"{each['index']}: {each['verdict']}: {each['detail']}") for each in outcome.verdicts]
    lines.append(f"{printable(outcome.table, 100)}: {outcome.state}")
    if outcome.reason:
        lines[-1] += f": {printable(outcome.reason)}"
    if not is_real and prepared is not None and prepared.plan.diff:
        lines.append("nothing was changed: --yes applies it")
    return "\n".join(lines)
