"""The rules of table configs that advice must not break, by release.

Read in the source of the release tags 0.11.0 to 1.5.1 (TableConfigUtils; from 1.4 on the ``validate`` of each
index type), and held against a real 0.11.0 by benchmarks/pinot_config_rules.py. Some configs pass the
validation, and then no segment can be built, or the index stays idle: rules for them are not ``validated``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.pinot.config_column_rules import COLUMN_RULES
from starskip.pinot.config_columns import ConfigColumns, Release, SchemaColumn
from starskip.pinot.config_rule import ConfigFault, ConfigRule
from starskip.pinot.config_tree_rules import TREE_RULES

CONFIG_RULES: tuple[ConfigRule, ...] = (*COLUMN_RULES, *TREE_RULES)
"""Rules of columns and star-trees. A code has two entries where its rule changes with the release."""


def config_faults(
    document: Mapping[str, Any], columns: Mapping[str, SchemaColumn], release: Release
) -> tuple[ConfigFault, ...]:
    """Return the rules of ``release`` that a table config breaks; ``columns``: of its schema."""
    config = ConfigColumns(document, columns, release)
    return tuple(
        ConfigFault(rule.code, subject, rule.words.format(subject), rule.is_validated(release))
        for rule in CONFIG_RULES
        if rule.holds(release)
        for subject in sorted(set(rule.breaks(config)))
    )
