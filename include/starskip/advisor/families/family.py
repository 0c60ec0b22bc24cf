"""A family of indexes: one value with all that choice, table config and report need of it.

A family helps in one of two ways, or in both. An *access path* answers predicates of its column without a
scan; the cost model simulates every filter with it and without it. An *answer* serves or prunes whole
queries, as a star-tree does. Both end in votes, and one choice is made among the votes of all families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.advisor.families.answer import AnswerFinder, AnswerOffer, AnswersChosen
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.measured import MeasuredAdvice
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine
from starskip.pinot.column_indexes.access_path import AccessPath, Obstacle, StoredColumns, StoredSizes
from starskip.pinot.column_key import ConfigKey
from starskip.settings import SettingsGroup
from starskip.settings.advice_groups import ALL

__all__ = ["AccessPath", "Family", "Obstacle", "StoredColumns", "StoredSizes"]
"""Names that a module of a family imports from here, some of them defined below."""


def listed(names: str) -> tuple[str, ...]:
    """Return the names of families in a list with commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))


def is_listed(family: str, names: str) -> bool:
    """Return whether a list with commas names a family, or all."""
    return not {family, ALL}.isdisjoint(listed(names))


@dataclass(frozen=True, slots=True)
class Family:
    """A family of indexes.

    ``name``: as settings, artefacts and ``--index`` write it. ``singular`` and ``plural``: as sentences name
    it, "an inverted index" and "inverted indexes". ``config``: how a table config holds it, None if it does
    not. ``document``: the family's own key for its chosen columns in the JSON of ``starskip tune``, beside
    the list of all indexes. ``settings``: the dataclass of its own settings. ``proof`` answers queries of a
    night with the built indexes and without them, and publishes the verdicts; its counts begin with a word of
    the family's own, since the counts of all families stand side by side. ``gates`` returns by stage the
    expectations of the family's part in the published artefacts. ``section`` returns its section of the
    report; the chosen indexes of a family without a section stand in the tables of all families. ``measured``
    returns how its indexes of files are measured for the one choice, and how the advice on them is published.
    ``properties`` returns the properties that the table's part of ``recommendations`` keeps of its answers,
    beside those of every family. Each of these functions imports its modules when it is called: many look at
    families without it.
    """

    name: str
    singular: str
    plural: str
    path: AccessPath | None = None
    answer: AnswerFinder | None = None
    config: ConfigKey | None = None
    document: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    settings: type[SettingsGroup] | None = None
    proof: Callable[[Engine, Night], StageResult] | None = None
    gates: Callable[[], Mapping[str, Gate]] | None = None
    section: Callable[[], FamilySection] | None = None
    measured: Callable[[], MeasuredAdvice] | None = None
    properties: Callable[[AnswersChosen, AnswerOffer | None], Mapping[str, Any]] | None = None
