"""A family of indexes: one value with all that choice, table config and report need of it.

A family helps in one of two ways, or in both. An *access path* answers predicates of its column without a
scan; the cost model simulates every filter with it and without it. An *answer* serves or prunes whole
queries, as a star-tree does. Both end in votes, and one choice is made among the votes of all families.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from starskip.advisor.families.answer import Answer, AnswerOffer, AnswersChosen
from starskip.advisor.families.family_section import FamilySection
from starskip.advisor.families.measured import MeasuredAdvice
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night, StageResult
from starskip.execution.engine import Engine
from starskip.pinot.column_key import ConfigKey
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.target_version import TargetVersion
from starskip.settings import SettingsGroup
from starskip.sql.predicate import Leaf
from starskip.tables.row_window import ColumnWindow
from starskip.tables.table_overview import ColumnOverview

Flags = npt.NDArray[np.bool_]
Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why a column cannot have an index: a code and the sentence of the report."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """Facts of stored columns, one entry a segment and column.

    ``cardinality``: distinct values, of a raw column those that its type or bounds allow. ``entries``:
    values, as many as ``rows`` of a single-value column. ``magic_bytes``: what stands before each index.
    ``index_bytes``: sizes of the indexes that there are, by the name that segments have for an index.
    """

    cardinality: Amounts
    entries: Amounts
    rows: Amounts
    has_dictionary: Flags
    is_sorted: Flags
    is_single_value: Flags
    magic_bytes: Amounts
    index_bytes: Callable[[str], Amounts]


@dataclass(frozen=True, slots=True, eq=False)
class StoredSizes:
    """Bytes of a family's index for each entry of StoredColumns.

    ``applies``: a column that can have it. ``known_bytes``: of an index that is there. ``uniform_bytes``: of
    one to build, as if values were spread evenly; rows of some segments correct their sum.
    """

    applies: Flags
    known_bytes: Amounts
    uniform_bytes: Amounts


WindowBytes = Callable[[ColumnWindow, int, int, IndexFormat], float | None]
"""Takes a column's rows, how many they are, and the segment's; returns bytes, None if unknown."""


@dataclass(frozen=True, slots=True)
class AccessPath:
    """An index on one column that answers predicates of that column without a scan.

    ``serves``: whether it answers a predicate in a version of Pinot. ``obstacle``: why a column cannot have
    it, None if it can. ``reads_ratio``: entries a row that it reads itself while answering. ``reorders``: it
    is the order of the table's rows, of which there is one. ``yields_to``: families beside which it is not
    considered where they answer all that queries ask of the column. ``segment_index``: its name in the
    metadata of segments, empty if these do not show it. ``sizes`` and ``window_bytes``: its bytes, from
    metadata and from rows; without them its size is not known.
    """

    serves: Callable[[Leaf, TargetVersion], bool]
    obstacle: Callable[[ColumnOverview], Obstacle | None]
    reads_ratio: Callable[[TargetVersion], float] | None = None
    reorders: bool = False
    yields_to: tuple[str, ...] = ()
    segment_index: str = ""
    sizes: Callable[[StoredColumns, IndexFormat], StoredSizes] | None = None
    window_bytes: WindowBytes | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """A family of indexes.

    ``name``: as settings, artefacts and ``--index`` write it. ``singular`` and ``plural``: as sentences name
    it, "an inverted index" and "inverted indexes". ``config``: how a table config holds it, None where it
    does not. ``document``: what the JSON of ``starskip tune`` says of its chosen columns beside the list
    of all indexes. ``settings``: the dataclass of its own settings. ``proof`` answers queries of
    a night with what was built and without it, and publishes the verdicts; its counts begin with a word of
    the family's own, since all families' stand side by side. ``gates`` returns by stage what is expected of
    the family's part in what the stage publishes. ``section`` returns its section of the report; without one
    what is chosen of it stands in the tables of all families. ``measured`` returns how its indexes of files
    are measured for the one choice, and how the advice on them is published. ``properties`` returns what the
    table's part of ``recommendations`` keeps of its answers, beside what it keeps of all. What these
    need is imported when they are called: the DAG file, too, looks at families.
    """

    name: str
    singular: str
    plural: str
    path: AccessPath | None = None
    answer: Answer | None = None
    config: ConfigKey | None = None
    document: Callable[[Sequence[str]], Mapping[str, Any]] | None = None
    settings: type[SettingsGroup] | None = None
    proof: Callable[[Engine, Night], StageResult] | None = None
    gates: Callable[[], Mapping[str, Gate]] | None = None
    section: Callable[[], FamilySection] | None = None
    measured: Callable[[], MeasuredAdvice] | None = None
    properties: Callable[[AnswersChosen, AnswerOffer | None], Mapping[str, Any]] | None = None
