"""All shapes of broker log lines. A new one is a module beside this file and a line here.

No two exact shapes fit the same record, so the order of this tuple matters in nothing but speed.
"""

from __future__ import annotations

from starskip.pinot.logs.line_formats import (
    commit_2016_12,
    commit_2018_08,
    commit_2018_09,
    commit_2018_10,
    commit_2026_05,
    later_release,
    multi_stage,
    release_0_1,
    release_0_2,
    release_0_4,
    release_0_5,
    release_0_6,
    release_0_8_pql,
    release_0_8_sql,
    release_0_10,
    release_0_11,
    release_1_4,
    release_1_5,
    without_counters,
)

FORMATS = (
    release_0_11.FORMAT,
    release_1_5.FORMAT,
    release_1_4.FORMAT,
    commit_2026_05.FORMAT,
    release_0_10.FORMAT,
    release_0_8_sql.FORMAT,
    release_0_8_pql.FORMAT,
    release_0_6.FORMAT,
    release_0_5.FORMAT,
    release_0_4.FORMAT,
    release_0_2.FORMAT,
    release_0_1.FORMAT,
    commit_2018_10.FORMAT,
    commit_2018_09.FORMAT,
    commit_2018_08.FORMAT,
    commit_2016_12.FORMAT,
    *without_counters.FORMATS,
    multi_stage.FORMAT,
)
"""The exact shapes."""

LATER_RELEASE = later_release.FORMAT
"""Tried when no exact shape fits."""
