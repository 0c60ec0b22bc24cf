"""Change the table config by the advice on one family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.families.family import Family
from starskip.pinot.column_key import LaidOver
from starskip.pinot.proposed_config import KeyEdit


def family_edit(
    family: Family,
    added: Sequence[str],
    dropped: Sequence[str],
    configs: Sequence[Mapping[str, Any]] = (),
) -> KeyEdit:
    """Return the one edit of all advice on ``family``; without advice it changes nothing.

    ``added`` and ``dropped``: columns. ``configs``: the config fragments of the chosen answers of whole
    queries, which are laid over the config if the family has no key.
    """
    key, entries = family.config, [each for each in configs if each]
    if key is None:
        return KeyEdit(LaidOver(family.name), entries)
    of_columns = (added, dropped) if family.path is not None else ((), ())
    return KeyEdit(key, [*of_columns[0], *map(key.entry_of, entries)], of_columns[1])
