"""Settings of skipping indexes: bytes that their metadata may take, and files that are read to choose."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.settings import SettingsGroup, setting

SKIPPING_NAME = "skipping"
"""Name of the family, and of the group of its settings."""


@dataclass(frozen=True, slots=True)
class SkippingSettings(SettingsGroup):
    """Settings of skipping indexes, beside the settings of all advice."""

    group = SKIPPING_NAME
    heading = "Which skipping indexes are advised"

    max_skipping_size_ratio: float = setting(
        0.05,
        "Share of a lake table's bytes that the metadata of all its skipping indexes may take.",
        title="Most that skipping indexes may take",
        unit="share",
        source="Extensible Data Skipping",
        at_least=0,
        at_most=1,
    )
    sampled_files: int = setting(
        256,
        "Files of a lake table whose rows are counted to judge its indexes; smaller tables use all files.",
        unit="files a table",
        at_least=1,
    )
