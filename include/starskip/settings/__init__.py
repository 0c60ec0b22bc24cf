"""Settings of a night and of ``tune``: declared once, read from files, environments, arguments and forms."""

from __future__ import annotations

from starskip.settings.declared import setting as setting
from starskip.settings.group import SettingsGroup as SettingsGroup
from starskip.settings.settings import Settings as Settings
