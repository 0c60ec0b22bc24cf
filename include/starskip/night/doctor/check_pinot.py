"""Check a live Pinot: the controller answers, its version is the advice's, and rights suffice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from starskip.advisor.run.night import Night
from starskip.errors import AccessRefused, some_of
from starskip.extras import needing_extra
from starskip.night.doctor.finding import OK, WARNING, counted
from starskip.pinot.target_version import release_number

CONTROLLER = "STARSKIP_PINOT_CONTROLLER"
_TIMEOUT_SECONDS = 10.0


def check_pinot(night: Night, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Say what the controller answers; nothing if none is configured. Nothing is changed."""
    if not environment.get(CONTROLLER):
        return
    with needing_extra("pinot"):
        from starskip.pinot.cluster.open_cluster import open_cluster  # noqa: PLC0415
        from starskip.pinot.cluster.pinot_address import pinot_address  # noqa: PLC0415

    address = replace(pinot_address("", "", environment), timeout_seconds=_TIMEOUT_SECONDS)
    with open_cluster(address) as cluster:
        controller = cluster.controller
        found, target = controller.version(), night.settings.scoring.pinot_version
        yield OK, f"the controller answers, of Pinot {found or 'of no known version'}"
        if found and release_number(found) != release_number(target):
            yield WARNING, f"the advice is for Pinot {target}: set scoring.pinot_version to {found}"
        tables = controller.tables()
        yield OK, f"it has {counted(len(tables), 'table')}: {some_of(tables) or 'none'}"
        if missing := [table for table in night.tables or () if table not in tables]:
            yield WARNING, f"it has no table {some_of(missing)}, of the configuration"
        for table in tables[:1]:
            configs = controller.table_configs(table)
            for kind, config in configs.items():
                controller.segments(f"{table}_{kind}")
                try:
                    controller.validate_table_config(config)
                except AccessRefused as error:
                    words = f"it refuses what applying advice needs, {error.right}; reading is allowed"
                    yield (
                        WARNING,
                        f"{words}: give STARSKIP_PINOT_TOKEN, or _USER and _PASSWORD, of such a role",
                    )
                    return
        if tables:
            yield OK, f"configs and segments of {tables[0]} can be read, and a config be checked"
